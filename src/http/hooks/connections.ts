import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The requests in progress on the connections of clients. */
export interface Connections {
  /** Tracks a request from the arrival of its head until its response is sent. */
  track(request: IncomingMessage, response: ServerResponse): void
  /**
   * The responses that the client still gets, in order: those being sent, and those to requests
   * that have arrived whole.
   */
  pendingResponses(socket: Socket): ServerResponse[]
  /**
   * Lets one request of the connection wait for a change: a second one could not be sent its news
   * in time, because responses of a connection are sent in order. `onDisconnect` is called even
   * while earlier responses are pending. Undefined if another request waits, and if the client has
   * disconnected.
   */
  startWait(socket: Socket, onDisconnect: () => void): Wait | undefined
}

export interface Wait {
  end(): void
}

export function createConnections(): Connections {
  const tracked = new WeakMap<Socket, Set<ServerResponse>>()
  const waiting = new WeakSet<Socket>()
  // One function for all responses, to save a closure for each.
  function untrack(this: ServerResponse): void {
    tracked.get(this.req.socket)?.delete(this)
  }
  return {
    track({ socket }, response) {
      const responses = tracked.get(socket)
      if (responses?.has(response)) return
      if (responses === undefined) tracked.set(socket, new Set([response]))
      else responses.add(response)
      response.once('close', untrack)
    },
    pendingResponses(socket) {
      return [...(tracked.get(socket) ?? [])].filter(
        ({ headersSent, writableFinished, req }) =>
          !writableFinished && (headersSent || req.complete),
      )
    },
    startWait(socket, onDisconnect) {
      if (socket.destroyed || waiting.has(socket)) return undefined
      waiting.add(socket)
      socket.once('close', onDisconnect)
      return {
        end() {
          waiting.delete(socket)
          socket.off('close', onDisconnect)
        },
      }
    },
  }
}
