import { connect, type Socket } from 'node:net'

/** A bare TCP connection, for what no HTTP client would send. */
export interface RawConnection {
  socket: Socket
  /** All that came so far. */
  received(): string
  /** Resolves with all that came, once the text fits. */
  waitFor(pattern: RegExp): Promise<string>
  /** Resolves with all that came, once the server has closed. */
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
  // A reset after the answer is one way to close; what came before it counts.
  socket.on('error', () => socket.destroy())
  return {
    socket,
    received: () => text,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!pattern.test(text)) return
          watchers.delete(look)
          resolve(text)
        }
        watchers.add(look)
        socket.once('close', () => reject(new Error(`closed after: ${text}`)))
        look()
      }),
    closed: new Promise((resolve) => socket.once('close', () => resolve(text))),
  }
}

/** A request's head, or a whole request without a body. */
export function requestHead(...all: string[]): string {
  return `${all.join('\r\n')}\r\n\r\n`
}

/** Sends the text on a connection of its own; resolves with the answer once the server closes. */
export function rawExchange(address: string, request: string): Promise<string> {
  const connection = rawConnection(address)
  connection.socket.write(request)
  return connection.closed
}

/** Status and problem of the one answer in the text. */
export function readProblem(text: string): { status: number; head: string; problem: Problem } {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), problem: JSON.parse(body) }
}

interface Problem {
  code: string
  status: number
  requestId: string
}
