import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What is under way on the connections of clients. */
export interface Connections {
  /** Notes a request that Node has read the head of, until its answer is out. */
  track(request: IncomingMessage, response: ServerResponse): void
  /**
   * The answers that the client still gets, in order: those that are on their way, and those to
   * requests that have arrived whole.
   */
  pendingResponses(socket: Socket): ServerResponse[]
  /**
   * Lets a request wait for news, one of each connection: answers of one connection go out in order,
   * so no other one could be told its news in time. `leave` is called when the client goes, whether
   * or not the request's turn to be answered has come. Undefined where another one waits, and where
   * the client is gone already.
   */
  wait(socket: Socket, leave: () => void): Waiting | undefined
}

export interface Waiting {
  /** The wait is over. */
  end(): void
}

export function createConnections(): Connections {
  const answers = new WeakMap<Socket, Set<ServerResponse>>()
  const waiting = new WeakSet<Socket>()
  // One for all: nothing is made for each request.
  function forget(this: ServerResponse): void {
    answers.get(this.req.socket)?.delete(this)
  }
  return {
    track({ socket }, response) {
      const open = answers.get(socket)
      if (open?.has(response)) return
      if (open === undefined) answers.set(socket, new Set([response]))
      else open.add(response)
      response.once('close', forget)
    },
    pendingResponses(socket) {
      return [...(answers.get(socket) ?? [])].filter(
        ({ headersSent, writableFinished, req }) =>
          !writableFinished && (headersSent || req.complete),
      )
    },
    wait(socket, leave) {
      if (socket.destroyed || waiting.has(socket)) return undefined
      waiting.add(socket)
      socket.once('close', leave)
      return {
        end() {
          waiting.delete(socket)
          socket.off('close', leave)
        },
      }
    },
  }
}
