import { once } from 'node:events'
import type { Server } from 'node:http'
import { Registry } from 'prom-client'
import { createServer } from '../node-http.ts'

/**
 * Serves only `/metrics`, on a separate port, so that access to metrics and to the API can be
 * granted independently. Rejects if it cannot listen.
 */
export async function serveMetrics(
  { host, port }: { host: string; port: number },
  metrics: () => Promise<string>,
): Promise<Server> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (path !== '/metrics' || !isRead) {
      response
        .writeHead(404, { 'content-type': 'text/plain' })
        .end('The metrics are at /metrics.\n')
      return
    }
    metrics().then(
      (text) => {
        response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text)
      },
      () => response.writeHead(500).end(),
    )
  })
  server.listen({ host, port })
  await once(server, 'listening')
  return server
}
