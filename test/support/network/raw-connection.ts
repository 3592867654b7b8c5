import { connect, type Socket } from 'node:net'

/** A TCP connection, for requests that no HTTP client would send. */
export interface RawConnection {
  socket: Socket
  /** The text received so far. */
  received(): string
  /** Resolves with the received text when it matches. */
  waitFor(pattern: RegExp): Promise<string>
  /** Resolves with the received text when the server has closed the connection. */
  closed: Promise<string>
}

export function rawConnection(address: string): RawConnection {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  let text = ''
  const watchers = new Set<() => void>()
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    for (const watcher of watchers) watcher()
  })
  // A server may close with a reset after its response.
  socket.on('error', () => socket.destroy())
  return {
    socket,
    received: () => text,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!pattern.test(text)) return
          watchers.delete(check)
          resolve(text)
        }
        watchers.add(check)
        socket.once('close', () => reject(new Error(`closed after: ${text}`)))
        check()
      }),
    closed: new Promise((resolve) => socket.once('close', () => resolve(text))),
  }
}

/** A request's head, or a whole request without a body. */
export function requestHead(...all: string[]): string {
  return `${all.join('\r\n')}\r\n\r\n`
}

/** Sends the text on a new connection; resolves with the response when the server closes it. */
export function rawExchange(address: string, request: string): Promise<string> {
  const connection = rawConnection(address)
  connection.socket.write(request)
  return connection.closed
}

/** Parses the one response in the text, whose body is a problem. */
export function readProblem(text: string): { status: number; head: string; problem: Problem } {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), problem: JSON.parse(body) }
}

interface Problem {
  code: string
  status: number
  requestId: string
}
