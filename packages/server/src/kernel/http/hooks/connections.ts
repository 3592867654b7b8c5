import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'

export type Connections = ReturnType<typeof createConnections>

/** Requests that were put off and are served at once; then other work gets its turn. */
const sliceSize = 200

/** Long because its functions share what is known of the connections. */
export function createConnections() {
  const tracked = new WeakMap<Socket, Set<ServerResponse>>()
  const waiting = new WeakSet<Socket>()
  const closeSignals = new WeakMap<Socket, AbortSignal>()
  const putOff: (() => void)[] = []
  let isAnswering = () => false
  async function servePutOff(): Promise<void> {
    while (isAnswering()) await setImmediate()
    for (const [index, serve] of putOff.splice(0).entries()) {
      serve()
      if (index % sliceSize === sliceSize - 1) await setImmediate()
    }
  }
  // One function for all responses, to save a closure for each.
  function untrack(this: ServerResponse): void {
    tracked.get(this.req.socket)?.delete(this)
  }
  /** Tracks a request from the arrival of its head until its response is sent. */
  function track({ socket }: IncomingMessage, response: ServerResponse): void {
    const responses = tracked.get(socket)
    if (responses?.has(response)) return
    if (responses === undefined) tracked.set(socket, new Set([response]))
    else responses.add(response)
    response.once('close', untrack)
  }
  return {
    track,
    /**
     * Serves a request now. One that may be held is put off while others that were held are answered:
     * most of their clients only wait again, and would delay the news for the rest.
     */
    serve(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
      if (request.headers.prefer === undefined || !isAnswering()) serve()
      else {
        track(request, response)
        if (putOff.push(serve) === 1) void servePutOff()
      }
    },
    /** Sets the function that tells whether held requests are being answered. */
    putOffWhile(isTrue: () => boolean): void {
      isAnswering = isTrue
    },
    /** Whether the client awaits a response and has accepted everything that was sent so far. */
    isAwaiting: (socket: Socket) =>
      socket.writableLength === 0 && (tracked.get(socket)?.size ?? 0) > 0,
    /**
     * The responses that the client will still receive, in order: those being sent, and those to
     * completely received requests.
     */
    pendingResponses(socket: Socket): ServerResponse[] {
      return [...(tracked.get(socket) ?? [])].filter(
        ({ headersSent, writableFinished, req }) =>
          !writableFinished && (headersSent || req.complete),
      )
    },
    /**
     * Lets a request wait for a change, one per connection: responses are sent in order, so a second
     * would be late. Returns a function that ends the wait, or undefined if another request waits or
     * the client has disconnected. Calls `onDisconnect` even while earlier responses are pending.
     */
    startWait(socket: Socket, onDisconnect: () => void): (() => void) | undefined {
      if (socket.destroyed || waiting.has(socket)) return undefined
      waiting.add(socket)
      socket.once('close', onDisconnect)
      return () => {
        waiting.delete(socket)
        socket.off('close', onDisconnect)
      }
    },
    /**
     * Aborted when the connection is closed. Fastify's `request.signal` misses that: it waits for the
     * request to close, which happens when its body has been read.
     */
    closeSignal(socket: Socket): AbortSignal {
      const known = closeSignals.get(socket)
      if (known !== undefined) return known
      const closing = new AbortController()
      if (socket.destroyed) closing.abort()
      else socket.once('close', () => closing.abort())
      closeSignals.set(socket, closing.signal)
      return closing.signal
    },
  }
}
