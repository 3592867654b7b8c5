import { connect } from 'node:net'

/** Below the usual length of the queue of connections that a server has not accepted yet, 511. */
export const clientsAtOnce = 200

export interface Client {
  /**
   * Sends a request once the last one is answered. Resolves with the response, or with undefined if
   * the connection ends without one.
   */
  get(path: string, headers?: string[]): Promise<Response | undefined>
  /** Holds a request, and repeats it after each answer. */
  holdAgain(path: string, etag: string): void
  disconnect(): void
}

export interface Response {
  etag: string
  time: number
}

let clients = 0

/** Uses loopback addresses in turn, because each may have only a share of the held requests. */
export function openClient(port: number): Client {
  const localAddress = `127.0.1.${clients++ % 200}`
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  let respond: (response: Response | undefined) => void = () => {}
  socket.on('error', () => socket.destroy())
  socket.on('close', () => respond(undefined))
  socket.on('data', (chunk) => {
    const [, etag = ''] = /^etag: (.*)\r$/im.exec(chunk.toString('latin1')) ?? []
    respond({ etag, time: performance.now() })
  })
  const send = (path: string, headers: string[]) =>
    socket.write([`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'))
  return {
    get(path, headers = []) {
      const { promise, resolve } = Promise.withResolvers<Response | undefined>()
      respond = resolve
      send(path, headers)
      return promise
    },
    holdAgain(path, etag) {
      respond = (response) => response && send(path, holding(response.etag))
      send(path, holding(etag))
    },
    disconnect: () => socket.destroy(),
  }
}

/** Headers of a request that waits for a change of the entity tag. */
export const holding = (etag: string) => [`If-None-Match: ${etag}`, 'Prefer: wait=60']
