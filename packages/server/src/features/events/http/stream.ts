import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import type { Access } from '../../../kernel/access/grants.ts'
import { principalOf } from '../../../kernel/http/hooks/access.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import type { LedgerEvent } from '../../../kernel/ledger/chain.ts'
import { formatPosition, type LedgerPosition, positionOf } from '../../../kernel/ledger/position.ts'
import { eventFeedOf } from '../feed.ts'
import { readPermission, toEvent } from '../operations.ts'
import type { EventSink, EventStream } from '../stream.ts'
import { refusedStream } from './faults.ts'

/** Bytes buffered per reader, besides the page that is being sent. */
const bufferSize = 64 * 1024

/** How long a client should wait before it reconnects. */
const retryMs = 2_000

/**
 * Sends the ledger as server-sent events (HTML Living Standard, section 9.2): `id` is the position,
 * `event` the type, `data` the event. Throws `overloaded` if too many streams are open, and
 * `rate_limited` if the caller has its share of them.
 */
export function sendEvents(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  ledger: { ledgerId: string; after: LedgerPosition; access: Access },
): void {
  let stream: EventStream | undefined
  const body = new Readable({ highWaterMark: bufferSize, read: () => stream?.resume() })
  const principal = principalOf(request)
  const sink: EventSink = {
    send: (events) => body.push(events.map(frame).join('')),
    reset: () => body.push(resetFrame),
    heartbeat: () => body.push(':\n\n'),
    permission: () => readPermission(kernel, principal, ledger.access, ledger.ledgerId),
    end(how, error) {
      if (error !== undefined) request.log.error({ err: error }, 'an event stream failed')
      if (how === 'complete') body.push(null)
      else body.destroy()
    },
  }
  const endWait = request.server.connections.startWait(request.raw.socket, () => stream?.close())
  if (endWait === undefined) {
    const detail =
      'Another request on this connection is already waiting. Open one connection per event stream.'
    throw new PubringError('overloaded', detail, { retryAfter: 1 })
  }
  body.once('close', () => {
    endWait()
    stream?.close()
  })
  body.push(`retry: ${retryMs}\n\n`)
  const { ledgerId, after } = ledger
  const opened = eventFeedOf(kernel).open({ ledgerId, after, callerId: principal.callerId }, sink)
  if (typeof opened === 'string') {
    endWait()
    throw refusedStream(opened)
  }
  stream = opened
  reply
    .header('content-type', 'text/event-stream')
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .header('connection', 'close')
    .send(body)
}

/** The empty `id` makes a client that reconnects now start again too. */
const resetFrame = `id:\nevent: reset\ndata: ${JSON.stringify({ code: 'history_changed' })}\n\n`

function frame(event: LedgerEvent): string {
  const data = JSON.stringify(toEvent(event))
  return `id: ${formatPosition(positionOf(event))}\nevent: ${event.type}\ndata: ${data}\n\n`
}
