import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../../core/access/grants.ts'
import type { LedgerEvent } from '../../../core/ledger/chain.ts'
import { readPermission, toEvent } from '../../../core/ledger/events.ts'
import { type FoundPage, type HistoryRequest, readHistory } from '../../../core/ledger/position.ts'
import type { LiveServices } from '../../../core/publishing/live.ts'
import { csvLine } from '../../../runtime/csv.ts'
import { principalOf } from '../../hooks/access.ts'
import { prefers } from '../../request/accept.ts'
import { historyChanged, refusedStream } from './faults.ts'

/** Events per read. */
const pageSize = 200

interface Format {
  /** Media type. */
  type: string
  extension: string
  head: string
  line(event: LedgerEvent): string
}

/** Columns of the CSV, with the cells of an event. */
const columns: readonly [heading: string, cell: (event: LedgerEvent) => string | undefined][] = [
  ['ledgerId', ({ ledgerId }) => ledgerId],
  ['revision', ({ revision }) => String(revision)],
  ['time', ({ time }) => time],
  ['type', ({ type }) => type],
  ['actor', ({ actor }) => actor.name],
  ['actorId', ({ actor }) => actor.apiKeyId ?? actor.user?.sessionId],
  ['actorIssuer', ({ actor }) => (actor.user ?? actor.workload)?.issuer],
  ['actorSubject', ({ actor }) => (actor.user ?? actor.workload)?.subject],
  ['subjectType', ({ subject }) => subject.type],
  ['subjectId', ({ subject }) => subject.id],
  ['label', ({ label }) => label],
  ['changes', ({ changes }) => changes && JSON.stringify(changes)],
  ['requestId', ({ requestId }) => requestId],
  ['hash', ({ hash }) => hash],
]

const formats: readonly Format[] = [
  {
    type: 'application/x-ndjson',
    extension: 'jsonl',
    head: '',
    line: (event) => `${JSON.stringify({ ledgerId: event.ledgerId, ...toEvent(event) })}\n`,
  },
  {
    type: 'text/csv',
    extension: 'csv',
    head: csvLine(columns.map(([heading]) => heading)),
    line: (event) => csvLine(columns.map(([, cell]) => cell(event) ?? '')),
  },
]

/** The export that the client prefers to a page; undefined if none. */
export function exportFormatOf(accept: string | undefined): Format | undefined {
  return formats.find(({ type }) => prefers(accept, type, 'application/json'))
}

/**
 * Sends all events that match, as JSON lines or CSV (RFC 4180), page by page as the client reads
 * them. The connection is closed before the end if a page cannot be read, if the caller loses access,
 * and at shutdown, so that an incomplete export is not taken for a whole one. Counts as an event stream.
 */
export async function sendExport(
  live: LiveServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { ledgerId, access, format, page }: ExportRequest,
): Promise<void> {
  const { store } = live.context
  const principal = principalOf(request)
  const release = live.events.reserve({ ledgerId, callerId: principal.callerId })
  if (typeof release === 'string') throw refusedStream(release)

  async function read(next: HistoryRequest): Promise<FoundPage> {
    const found = await readHistory(store, ledgerId, { ...next, limit: pageSize })
    if (found === 'history_changed') throw historyChanged()
    return found
  }
  async function* text(first: FoundPage): AsyncGenerator<string> {
    yield format.head
    for (let found = first; ; ) {
      yield found.events.map((event) => format.line(event)).join('')
      if (found.next === undefined) return
      const permission = await readPermission(live.context, principal, access, ledgerId)
      const mayContinue = permission !== 'refused' && !request.server.readiness.shuttingDown
      if (!mayContinue) throw new Error('the export was cut off')
      found = await read(found.next)
    }
  }
  const first = await read(page).catch((error: unknown) => {
    release()
    throw error
  })
  const body = Readable.from(text(first), { objectMode: false })
  body.once('close', release)
  reply
    .header('content-type', `${format.type}; charset=utf-8`)
    .header('content-disposition', `attachment; filename="events-${ledgerId}.${format.extension}"`)
    .header('cache-control', 'no-store')
    .header('vary', 'Accept')
    .send(body)
}

interface ExportRequest {
  ledgerId: string
  access: Access
  format: Format
  page: HistoryRequest
}
