import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type HttpServer, startHttpServer } from './http-server.ts'

/** A shared cache like a CDN: ignores `Prefer`, and clients cannot force revalidation. */
export interface CachingProxy extends HttpServer {
  /** Number of requests that it sent to the origin. */
  originRequests(): number
  /** Number of requests that it received. */
  requests(): number
  /** Serves its stored copies from now on, however old they are. */
  freeze(): void
}

/** A stored response. */
interface Copy {
  headers: Record<string, string>
  body: string
  /** Milliseconds, monotonic. */
  stored: number
  maxAge: number
}

/** A cache in front of the server at `origin`, which obeys `max-age` (RFC 9111). */
export async function startCachingProxy(origin: string): Promise<CachingProxy> {
  const copies = new Map<string, Copy>()
  let originRequests = 0
  let requests = 0
  let frozen = false
  const server = await startHttpServer(async (incoming, outgoing) => {
    requests += 1
    const path = incoming.url ?? '/'
    let copy = copies.get(path)
    if (copy === undefined || (!frozen && age(copy) >= copy.maxAge)) {
      originRequests += 1
      copy = await fetchCopy(`${origin}${path}`).catch(() => undefined)
      if (copy !== undefined) copies.set(path, copy)
    }
    if (copy === undefined) outgoing.writeHead(504).end()
    else respond(copy, incoming, outgoing)
  })
  const freeze = () => {
    frozen = true
  }
  return { ...server, originRequests: () => originRequests, requests: () => requests, freeze }
}

function age({ stored }: Copy): number {
  return Math.floor((performance.now() - stored) / 1_000)
}

function respond(copy: Copy, { headers }: IncomingMessage, outgoing: ServerResponse): void {
  const { etag = '' } = copy.headers
  const isNotModified = headers['if-none-match']?.includes(etag) === true
  outgoing.writeHead(isNotModified ? 304 : 200, { ...copy.headers, age: String(age(copy)) })
  outgoing.end(isNotModified ? undefined : copy.body)
}

/** Requests the resource without the client's headers. */
async function fetchCopy(url: string): Promise<Copy> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, resolve).on('error', reject).end()
  })
  let body = ''
  for await (const chunk of response) body += chunk
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  const { etag = '', 'cache-control': policy = '', 'content-type': type = '' } = response.headers
  return {
    headers: { etag, 'cache-control': policy, 'content-type': type },
    body,
    stored: performance.now(),
    maxAge: Number(/max-age=(\d+)/.exec(policy)?.[1] ?? 0),
  }
}
