import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { endLater } from '../ending.ts'

/** An HTTP server that stands in for Pubring or in front of it. */
export interface HttpServer {
  /** Without a final slash. */
  url: string
  close(): Promise<void>
}

export async function startHttpServer(
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<HttpServer> {
  const server = createServer(listener)
  const { port, close } = await serveLocally(server, host)
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${port}`, close }
}

/** Listens on a free port, until it is closed or the test or file ends. */
export async function serveLocally(server: Server | TlsServer, host = '127.0.0.1') {
  await once(server.listen(0, host), 'listening')
  const port: number = Object(server.address()).port
  const close = endLater(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { port, close }
}
