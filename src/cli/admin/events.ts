import { type Event, PubringError } from '../../../client/src/index.ts'
import { formatPosition, parsePosition, positionOf } from '../../core/ledger/position.ts'
import type { Session } from '../connection/session.ts'
import { parseWholeNumber, usageError } from '../terminal/failures.ts'
import { escapeControls } from '../terminal/output.ts'
import { type Column, formatTable, timeColumn } from '../terminal/table.ts'
import { colorsFor, type Terminal, tableWidth } from '../terminal/terminal.ts'

/** Flags of `events`. */
interface EventFlags {
  system?: true
  after?: string
  limit?: string
  follow?: true
}

/** Events per request. */
const pageSize = 200

/** The events to show; without a project, those of the system ledger. */
interface Range {
  scope: { project?: string }
  after: string
  limit: number
}

/** Shows the events of a ledger; with `--follow`, also new ones until interrupted. */
export async function showEvents(session: Session, flags: EventFlags): Promise<void> {
  const after = readPosition(flags.after)
  const limit = parseWholeNumber(flags.limit, '--limit') ?? Number.POSITIVE_INFINITY
  const scope = flags.system === true ? {} : { project: session.project }
  const range = { scope, after, limit }
  if (flags.follow === true) return follow(session, range)
  const events = await readEvents(session, range)
  session.print(events, () => formatTable(session.terminal, columns, events))
  if (events.length === 0) session.notify('No events match.')
}

async function readEvents({ client }: Session, { scope, after, limit }: Range): Promise<Event[]> {
  const events: Event[] = []
  let last = after
  while (events.length < limit) {
    const size = Math.min(pageSize, limit - events.length)
    const page = await client.events.list({ ...scope, after: last, limit: size })
    events.push(...page)
    last = page.map(positionOf).map(formatPosition).at(-1) ?? last
    if (page.length < size) break
  }
  return events
}

async function follow({ client, terminal }: Session, { scope, after, limit }: Range) {
  const signal = terminal.interruptSignal()
  let shown = 0
  try {
    for await (const event of client.events.follow({ ...scope, after, signal })) {
      terminal.stdout.write(
        terminal.json ? formatOne(event, terminal) : formatEvent(event, terminal),
      )
      shown += 1
      if (shown >= limit) return
    }
  } catch (error) {
    // Ctrl-C is the normal end.
    if (!(error instanceof PubringError && error.code === 'aborted')) throw error
  }
}

/** One of many documents: a line of JSON, or YAML behind its separator. */
function formatOne(event: Event, { stringify }: Terminal): string {
  return stringify === undefined ? `${JSON.stringify(event)}\n` : `---\n${stringify(event)}`
}

/** On a terminal, a line without column widths: those of later events are unknown. */
function formatEvent(event: Event, terminal: Terminal): string {
  if (tableWidth(terminal) === undefined) return formatTable(terminal, columns, [event])
  const { dim } = colorsFor(terminal)
  const { time, type, actor, subject } = event
  const rest = [type.padEnd(16), subject.id, actor.name, formatChanges(event)]
  return `${dim(time)}  ${escapeControls(rest.join('  '))}\n`
}

const columns: readonly Column<Event>[] = [
  { heading: 'REVISION', value: ({ revision }) => String(revision) },
  timeColumn('TIME', ({ time }) => time),
  { heading: 'TYPE', value: ({ type }) => type },
  { heading: 'BY', value: ({ actor }) => actor.name, cut: true },
  { heading: 'SUBJECT', value: ({ subject }) => subject.id, id: true },
  { heading: 'CHANGES', value: formatChanges, cut: true },
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
