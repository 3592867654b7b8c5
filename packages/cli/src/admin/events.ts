import type { Client, Event, EventQuery, HistoryEvent, HistoryQuery } from '@pubring/client'
import { parsePosition } from '@pubring/server/kernel/ledger/position'
import { present } from '@pubring/server/runtime/present'
import { hasCode, type Session } from '../connection/session.ts'
import { resolveKids } from '../keys/find.ts'
import { usageError } from '../terminal/failures.ts'
import { type Column, formatTable, timeColumn } from '../terminal/table.ts'
import {
  colorsFor,
  escapeControls,
  type Terminal,
  tableWidth,
  writeAll,
} from '../terminal/terminal.ts'
import { parseTimeOption } from '../terminal/times.ts'

/** Flags of `events`. */
interface EventFlags {
  system?: true
  all?: true
  after?: string
  limit?: string
  type?: string
  actor?: string
  person?: string
  requestId?: string
  subject?: string
  since?: string
  until?: string
  newestFirst?: true
  jsonl?: true
  follow?: true
}

/**
 * Shows the events of a ledger, or with `--all` of all ledgers; with `--follow`, also new ones until
 * interrupted.
 */
export async function showEvents(session: Session, flags: EventFlags): Promise<void> {
  const { client, terminal } = session
  const { newestFirst, jsonl } = flags
  const limit = parseLimit(flags.limit)
  if (flags.all === true) return showHistory(session, flags, limit)
  if (flags.person !== undefined || flags.requestId !== undefined) {
    throw usageError('--person and --request-id choose among the events of all ledgers: add --all.')
  }
  const scope = flags.system === true ? {} : { project: session.project }
  const range = { ...scope, after: readPosition(flags.after) }
  const subject = flags.subject && (await subjectOf(session, flags, flags.subject))
  const filters = filtersIn({ ...flags, ...(subject && { subject }) })
  if (flags.follow === true) {
    if (newestFirst || jsonl || Object.keys(filters).length > 0) {
      throw usageError('--follow shows all events: leave out filters, --newest-first and --jsonl.')
    }
    return follow(session, range, limit)
  }
  const query: EventQuery = { ...range, order: newestFirst === true ? 'desc' : 'asc', ...filters }
  if (jsonl === true) {
    for await (const event of client.events.all(query)) {
      await writeAll(terminal, `${JSON.stringify(event)}\n`)
    }
    return
  }
  const events: Event[] = []
  const size = Math.min(limit, pageSize)
  for await (const event of client.events.all({ ...query, limit: size })) {
    if (events.push(event) >= limit) break
  }
  session.print(events, () => formatTable(terminal, columns, events))
  if (events.length === 0) session.notify('No events match.')
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^[1-9]\d{0,14}$/.test(text)) throw usageError('--limit must be a whole number above 0.')
  return Number(text)
}

/** Shows the events of all ledgers, newest first. */
async function showHistory(
  { client, terminal, print, notify }: Session,
  flags: EventFlags,
  limit: number,
): Promise<void> {
  const { person, requestId } = flags
  const { actor: _, ...shared } = filtersIn(flags)
  const found = historyOf(client, { ...present({ person, requestId }), ...shared }, limit)
  if (flags.jsonl === true) {
    for await (const event of found) await writeAll(terminal, `${JSON.stringify(event)}\n`)
    return
  }
  const events = await Array.fromAsync(found)
  print(events, () => formatTable(terminal, [projectColumn, ...columns], events))
  if (events.length === 0) notify('No events match.')
}

async function* historyOf(client: Client, query: HistoryQuery, limit: number) {
  let left = limit
  let page: HistoryQuery | undefined = query
  while (page !== undefined) {
    const { items, next } = await client.events.history({
      ...page,
      limit: Math.min(left, pageSize),
    })
    yield* items
    left -= items.length
    page = next === undefined || left === 0 ? undefined : { ...query, after: next }
  }
}

/** The kid of the key that is meant, or else the text, as for other subjects and for deleted keys. */
async function subjectOf(session: Session, { system }: EventFlags, ref: string): Promise<string> {
  try {
    return system ? ref : ((await resolveKids(session, [ref]))[0] ?? ref)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'key_not_found' || code === 'project_not_found') return ref
    throw error
  }
}

function filtersIn({ type, actor, subject, since, until }: EventFlags) {
  const from = since === undefined ? since : parseTimeOption(since, '--since', -1)
  const to = until === undefined ? until : parseTimeOption(until, '--until', -1)
  return present({ type, actor, subject, from, to })
}

/** Events per request. */
const pageSize = 200

async function follow(
  { client, terminal }: Session,
  range: Pick<EventQuery, 'project' | 'after'>,
  limit: number,
) {
  const signal = terminal.interruptSignal()
  let shown = 0
  try {
    for await (const event of client.events.follow({ ...range, signal })) {
      terminal.stdout.write(
        terminal.json ? `${JSON.stringify(event)}\n` : formatEvent(event, terminal),
      )
      shown += 1
      if (shown >= limit) return
    }
  } catch (error) {
    // Ctrl-C is the normal end.
    if (!hasCode(error, 'aborted')) throw error
  }
}

/** A line for one event. On a terminal its columns have no width: later events are unknown. */
function formatEvent(event: Event, terminal: Terminal): string {
  if (tableWidth(terminal) === undefined) return formatTable(terminal, columns, [event])
  const { dim } = colorsFor(terminal)
  const { time, type, actor, subject } = event
  const rest = [type.padEnd(16), subject.id, actor.name, formatChanges(event)]
  return `${dim(time)}  ${escapeControls(rest.join('  '))}\n`
}

const projectColumn: Column<HistoryEvent> = {
  heading: 'PROJECT',
  value: ({ projectId = '' }) => projectId,
  id: true,
}

const columns: readonly Column<Event>[] = [
  { heading: 'REVISION', value: ({ revision }) => String(revision) },
  timeColumn('TIME', ({ time }) => time),
  { heading: 'TYPE', value: ({ type }) => type },
  { heading: 'BY', value: ({ actor }) => actor.name, cut: true },
  { heading: 'SUBJECT', value: ({ subject }) => subject.id, id: true },
  { heading: 'CHANGES', value: formatChanges, below: true },
]

function formatChanges({ changes = {} }: Event): string {
  const { state: _digest, ...shown } = changes
  return Object.entries(shown)
    .map(([name, { from, to }]) => {
      if (from === undefined) return `${name} ${to}`
      return to === undefined ? `${name} ${from} removed` : `${name} ${from} → ${to}`
    })
    .join(', ')
}

function readPosition(text = '0'): string {
  if (parsePosition(text) !== undefined) return text
  throw usageError(
    '--after must be a revision, or REVISION.HASH8 with the first 8 characters of its hash.',
  )
}
