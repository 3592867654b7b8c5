import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { entityTag, includesEntityTag, parseEntityTags } from '@pubring/server/kernel/entity-tags'
import type { Clock } from '@pubring/server/runtime/clock'
import { FollowError } from './error.ts'
import { ageMsOf, type Followed, problemOf, shownOf } from './followed.ts'
import { jwksText } from './formats.ts'
import { metricsText } from './metrics.ts'
import type { PublishedKeys } from './published-keys.ts'

/** The followed projects, with what their requests need. */
interface Served {
  followed: readonly Followed[]
  clock: Clock
  onStale: 'keep' | 'empty'
}

const documentPath =
  /^\/v1\/projects\/([^/]+)\/\.well-known\/(jwks\.json|jwks-full\.json|openid-configuration)$/

/**
 * Serves the key sets at the paths of the server, for caches of at most a second, at the `url` that
 * is returned. Throws `FollowError` if it cannot listen.
 */
export async function listen(address: { host: string; port: number }, served: Served) {
  const server = http.createServer().listen(address)
  await once(server, 'listening').catch((error: Error) => {
    throw new FollowError('usage', `--listen cannot be used: ${error.message}.`)
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

interface Reply {
  status: number
  headers?: Record<string, string | number>
  text: string
}

function replyTo(
  { method = '', url: target = '/', headers }: IncomingMessage,
  { followed, clock, onStale }: Served,
  url: string,
): Reply {
  if (!['GET', 'HEAD'].includes(method)) {
    return { status: 405, headers: { allow: 'GET, HEAD' }, text: 'Use GET or HEAD.\n' }
  }
  const [path = ''] = target.split('?')
  if (path === '/health/live') return { status: 200, text: 'ok\n' }
  if (path === '/health/ready') {
    const problem = problemOf(followed)
    return { status: problem === undefined ? 200 : 503, text: `${problem ?? 'ok'}\n` }
  }
  if (path === '/metrics') return { status: 200, text: metricsText(followed, clock) }
  const [, name = '', document = ''] = documentPath.exec(path) ?? []
  const one = findProject(followed, decode(name))
  if (one === undefined) return { status: 404, text: 'This project is not followed.\n' }
  const keys = shownOf(one, onStale)
  if (keys === undefined) {
    return { status: 503, text: 'The key set has not been received yet.\n' }
  }
  const age = one.isLost ? Math.floor(ageMsOf(one, clock) / 1_000) : 0
  return documentReply(documentText(document, keys, url), age, headers)
}

function findProject(followed: readonly Followed[], nameOrId: string): Followed | undefined {
  const named = followed.find(({ project }) => project === nameOrId)
  return named ?? followed.find(({ keys }) => keys?.projectId === nameOrId)
}

function documentText(name: string, keys: PublishedKeys, url: string): string {
  if (name === 'jwks.json') return jwksText(keys.jwks)
  if (name === 'jwks-full.json') return jwksText(keys.fullJwks)
  const jwksUri = `${url}/v1/projects/${keys.projectId}/.well-known/jwks.json`
  return JSON.stringify({ ...keys.discovery, jwks_uri: jwksUri })
}

function documentReply(text: string, age: number, headers: IncomingMessage['headers']): Reply {
  const etag = entityTag(text)
  const known = parseEntityTags(headers['if-none-match'] ?? '')
  const isKnown = known !== undefined && includesEntityTag(known, etag, 'weak')
  return {
    status: isKnown ? 304 : 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'public, max-age=1',
      etag,
      ...(age > 0 ? { age } : {}),
    },
    text: isKnown ? '' : text,
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
