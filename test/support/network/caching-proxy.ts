import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type HttpServer, startHttpServer } from './http-server.ts'

/** A shared cache as CDNs are: it knows nothing of `Prefer`, and no client makes it ask anew. */
export interface CachingProxy extends HttpServer {
  /** How often it asked the server behind it. */
  originRequests(): number
  /** How often it was asked. */
  requests(): number
  /** From now on it serves the copies that it has, however old. */
  freeze(): void
}

/** What the cache keeps of an answer. */
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
  let asked = 0
  let requests = 0
  let frozen = false
  const server = await startHttpServer(async (incoming, outgoing) => {
    requests += 1
    const path = incoming.url ?? '/'
    let copy = copies.get(path)
    if (copy === undefined || (!frozen && age(copy) >= copy.maxAge)) {
      asked += 1
      copy = await fetched(`${origin}${path}`).catch(() => undefined)
      if (copy !== undefined) copies.set(path, copy)
    }
    if (copy === undefined) outgoing.writeHead(504).end()
    else answer(copy, incoming, outgoing)
  })
  const freeze = () => {
    frozen = true
  }
  return { ...server, originRequests: () => asked, requests: () => requests, freeze }
}

function age({ stored }: Copy): number {
  return Math.floor((performance.now() - stored) / 1_000)
}

function answer(copy: Copy, { headers }: IncomingMessage, outgoing: ServerResponse): void {
  const { etag = '' } = copy.headers
  const known = headers['if-none-match']?.includes(etag) === true
  outgoing.writeHead(known ? 304 : 200, { ...copy.headers, age: String(age(copy)) })
  outgoing.end(known ? undefined : copy.body)
}

/** The answer to a request with none of the headers of the client. */
async function fetched(url: string): Promise<Copy> {
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
