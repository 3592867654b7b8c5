import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { entityTag, includesEntityTag, parseEntityTags } from '../../core/entity-tags.ts'
import { jwksText } from './formats.ts'
import type { PublishedKeys } from './published-keys.ts'

/** What is served for a project at the moment. */
export interface ServedKeys {
  keys: PublishedKeys
  /** Seconds since the server confirmed it. */
  ageSeconds: number
}

interface ListenOptions {
  host: string
  port: number
  /** By the name or id in the path; undefined for a project that is not followed. */
  find(project: string): ServedKeys | 'not loaded' | undefined
  /** Why the keys should not be relied on; undefined while all is well. */
  unhealthy(): string | undefined
}

export interface Listener {
  /** `http://HOST:PORT` */
  url: string
  close(): Promise<void>
}

const documentPath =
  /^\/v1\/projects\/([^/]+)\/\.well-known\/(jwks\.json|jwks-full\.json|openid-configuration)$/

/** Serves the key sets at the paths of the server, for caches of at most a second. */
export async function listen(options: ListenOptions): Promise<Listener> {
  let url = ''
  const server = http.createServer((request, response) =>
    respond({ ...options, url }, request, response),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  const { address, family, port } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  url = `http://${host}:${port}`
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Reply {
  status: number
  headers?: Record<string, string | number>
  text: string
}

function respond(
  options: ListenOptions & { url: string },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { status, headers, text } = replyTo(options, request)
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(text)
}

function replyTo(
  { find, unhealthy, url }: ListenOptions & { url: string },
  { method = '', url: target = '/', headers }: IncomingMessage,
): Reply {
  if (!['GET', 'HEAD'].includes(method)) {
    return { status: 405, headers: { allow: 'GET, HEAD' }, text: 'Use GET or HEAD.\n' }
  }
  const [path = ''] = target.split('?')
  if (path === '/health/live') return { status: 200, text: 'ok\n' }
  if (path === '/health/ready') {
    const problem = unhealthy()
    return { status: problem === undefined ? 200 : 503, text: `${problem ?? 'ok'}\n` }
  }
  const [, project = '', name = ''] = documentPath.exec(path) ?? []
  const found = name === '' ? undefined : find(decode(project))
  if (found === undefined) return { status: 404, text: 'This project is not followed.\n' }
  if (found === 'not loaded') {
    return { status: 503, text: 'The key set has not been received yet.\n' }
  }
  return documentReply(documentText(name, found.keys, url), found.ageSeconds, headers)
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
