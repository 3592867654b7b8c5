import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../../kernel/access/grants.ts'
import { principalOf } from '../../../kernel/http/hooks/access.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import type { LedgerEvent } from '../../../kernel/ledger/chain.ts'
import {
  type FoundPage,
  type HistoryRequest,
  readHistory,
} from '../../../kernel/ledger/position.ts'
import { eventFeedOf } from '../feed.ts'
import { readPermission, toEvent } from '../operations.ts'
import { historyChanged, refusedStream } from './faults.ts'

/** Events per read. */
const pageSize = 200

export const jsonLines = 'application/x-ndjson'

const lineOf = (event: LedgerEvent): string =>
  `${JSON.stringify({ ledgerId: event.ledgerId, ...toEvent(event) })}\n`

/**
 * Sends all events that match, as JSON lines, page by page as the client reads
 * them. The connection is closed before the end if a page cannot be read, if the caller loses access,
 * and at shutdown, so that an incomplete export is not taken for a whole one. Counts as an event stream.
 */
export async function sendExport(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  { ledgerId, access, page }: ExportRequest,
): Promise<void> {
  const { store } = kernel
  const principal = principalOf(request)
  const release = eventFeedOf(kernel).reserve({ ledgerId, callerId: principal.callerId })
  if (typeof release === 'string') throw refusedStream(release)

  async function read(next: HistoryRequest): Promise<FoundPage> {
    const found = await readHistory(store.reader, ledgerId, { ...next, limit: pageSize })
    if (found === 'history_changed') throw historyChanged()
    return found
  }
  async function* text(first: FoundPage): AsyncGenerator<string> {
    for (let found = first; ; ) {
      yield found.events.map(lineOf).join('')
      if (found.next === undefined) return
      const permission = await readPermission(kernel, principal, access, ledgerId)
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
    .header('content-type', `${jsonLines}; charset=utf-8`)
    .header('content-disposition', `attachment; filename="events-${ledgerId}.jsonl"`)
    .header('cache-control', 'no-store')
    .header('vary', 'Accept')
    .send(body)
}

interface ExportRequest {
  ledgerId: string
  access: Access
  page: HistoryRequest
}
