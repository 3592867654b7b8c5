import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type Connections = ReturnType<typeof createConnections>

export function createConnections() {
  const tracked = new WeakMap<Socket, Set<ServerResponse>>()
  const waiting = new WeakSet<Socket>()
  const closeSignals = new WeakMap<Socket, AbortSignal>()
  // One function for all responses, to save a closure for each.
  function untrack(this: ServerResponse): void {
    tracked.get(this.req.socket)?.delete(this)
  }
  return {
    /** Tracks a request from the arrival of its head until its response is sent. */
    track({ socket }: IncomingMessage, response: ServerResponse): void {
      const responses = tracked.get(socket)
      if (responses?.has(response)) return
      if (responses === undefined) tracked.set(socket, new Set([response]))
      else responses.add(response)
      response.once('close', untrack)
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
