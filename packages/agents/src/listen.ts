import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentError } from './error.ts'

export interface Reply {
  status: number
  headers?: Record<string, string | number>
  text: string
}

/** An agent as its probes see it. */
export interface Served {
  /** Why it should not be relied on; undefined while all is well. */
  problem(): string | undefined
  /** In the text format of Prometheus. */
  metrics(): string
  /** Its own documents, at its `url`. */
  document?(path: string, headers: IncomingHttpHeaders, url: string): Reply
}

/**
 * Serves `/health/live`, `/health/ready`, `/metrics` and the documents of an agent at the `url` that is
 * returned. Throws `AgentError` if it cannot listen.
 */
export async function listen(address: { host: string; port: number }, served: Served) {
  const server = http.createServer().listen(address)
  await once(server, 'listening').catch((error: Error) => {
    throw new AgentError('usage', `--listen cannot be used: ${error.message}.`)
  })
  const { address: host, family, port } = server.address() as AddressInfo
  const url = `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
  server.on('request', (request, response) => {
    const { status, headers, text } = replyTo(request, served, url)
    response.writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      ...headers,
    })
    response.end(text)
  })
  return {
    url,
    close(): void {
      server.close()
      server.closeAllConnections()
    },
  }
}

function replyTo(
  { method = '', url: target = '/', headers }: IncomingMessage,
  served: Served,
  url: string,
): Reply {
  if (!['GET', 'HEAD'].includes(method)) {
    return { status: 405, headers: { allow: 'GET, HEAD' }, text: 'Use GET or HEAD.\n' }
  }
  const [path = ''] = target.split('?')
  if (path === '/health/live') return { status: 200, text: 'ok\n' }
  if (path === '/health/ready') {
    const problem = served.problem()
    return { status: problem === undefined ? 200 : 503, text: `${problem ?? 'ok'}\n` }
  }
  if (path === '/metrics') return { status: 200, text: served.metrics() }
  return served.document?.(path, headers, url) ?? { status: 404, text: 'There is nothing here.\n' }
}
