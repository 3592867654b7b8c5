import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { endLater } from '../ending.ts'

/** An HTTP server that stands in for Pubring or in front of it. */
export interface HttpServer {
  /** Without a final slash. */
  url: string
  /** Breaks all connections. */
  disconnect(): void
  close(): Promise<void>
}

export async function startHttpServer(
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<HttpServer> {
  const server = createServer(listener).listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  const name = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${name}:${address.port}`,
    disconnect: () => server.closeAllConnections(),
    close: endLater(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}
