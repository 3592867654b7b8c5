import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { createDoorkeeper } from '../../async/doorkeeper.ts'
import type { Clock } from '../../runtime/clock.ts'
import { namedCookie } from '../access/authentication.ts'
import type { Credential } from '../access/grants.ts'
import { apiKeyDigest } from '../access/secrets.ts'
import { entityTag, includesEntityTag, parseEntityTags } from '../entity-tags.ts'
import { newId } from '../values/ids.ts'
import { type HeadsMatch, isValid, type Validity } from '../values/validity.ts'
import { createHttpDate } from './date.ts'

/**
 * Headers of a 304: those that RFC 9110 section 15.4.5 requires, the CORS headers, and those about
 * this request. Caches keep the other headers of their stored response.
 */
const headersOf304 =
  /^(age|cache-control|content-location|date|etag|vary|connection|x-request-id|preference-applied|pubring-revision|ratelimit.*|access-control-.*)$/

function isSentWith304(header: string): boolean {
  return headersOf304.test(header)
}

/** Whether the client already has the representation with this tag. */
function isNotModified({ headers }: Pick<IncomingMessage, 'headers'>, etag: string): boolean {
  const known = headers['if-none-match']
  if (known === etag) return true
  // A header that is too long is ignored: the request is then an ordinary GET.
  const tags = known === undefined ? undefined : parseEntityTags(known)
  return tags !== undefined && includesEntityTag(tags, etag, 'weak')
}

/**
 * Sets `Cache-Control` and `ETag`, offers responses to the response cache, and sends 304. Responses
 * to an API key are `private, no-cache` (RFC 9111): shared caches must not store them, and clients
 * revalidate them. The tag is the handler's own, or a digest of the bytes. Routes with a tag name
 * HEAD beside GET: Fastify's own HEAD reads the length of the payload, and a 304 has none.
 */
export function addCaching(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { access, etag } = request.routeOptions.config
    if (access !== undefined && !reply.hasHeader('cache-control')) {
      reply.header('cache-control', 'private, no-cache')
    }
    if (etag !== true || reply.statusCode !== 200) return done(null, payload)
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return done(null, payload)
    const own = reply.getHeader('etag')
    const tag = typeof own === 'string' ? own : entityTag(payload)
    reply.header('etag', tag)
    if (typeof payload === 'string') app.responseCache.store(request, reply, payload, tag)
    if (!isNotModified(request, tag)) return done(null, payload)
    turnInto304(reply)
    done(null, null)
  })
}

function turnInto304(reply: FastifyReply): void {
  reply.code(304)
  for (const name of Object.keys(reply.getHeaders())) {
    if (isSentWith304(name)) continue
    reply.removeHeader(name)
    // Also headers that were set on Node's response directly.
    reply.raw.removeHeader(name)
  }
}

/** Bound of the cached responses, in bytes. */
const maxCachedBytes = 16 * 1024 * 1024

/** A response is stored on its second request within about this many requests. */
const admissionWindow = 4_000

/** Approximate size of an entry's headers. */
const headerBytes = 3_000

/** Characters of a URL or an `Accept` header. */
const maxKeyLength = 400

/** Requests with one of these headers go to the routes. */
const uncachedHeaders = ['prefer', 'content-length', 'transfer-encoding']

/** Request headers on which a cached response may depend: those in the cache key, and no others. */
export const cacheKeyHeaders = ['accept', 'x-api-key', ...uncachedHeaders]

/** When a response may be reused (RFC 9111 section 4). */
export interface Reuse {
  validity: Validity
  /** Called for each request. Does not throw. */
  headsMatch: HeadsMatch
  /** Called for each request that is served from the cache. */
  onReuse?(request: IncomingMessage): void
  /** Milliseconds since a published document was last read from the store. */
  dataAgeMs?(): number | undefined
}

interface CachedResponse {
  route: string | undefined
  credential: Credential | undefined
  reuse: Reuse
  etag: string
  body: string
  /** `latin1` for ASCII: the bytes are the same, and Node writes them faster. */
  encoding: 'latin1' | 'utf8'
  /** Alternating names and values, without `X-Request-Id` and `Date`. */
  headers: string[]
  headersOf304: string[]
}

type Route = (request: IncomingMessage, response: ServerResponse) => void

export interface ResponseCache {
  /** Serves a valid cached response, or else calls `route`. */
  serve(request: IncomingMessage, response: ServerResponse, route: Route): void
  /** Stores a 200 if its handler allows reuse, even if it is then sent as a 304. */
  store(request: FastifyRequest, reply: FastifyReply, body: string, etag: string): void
}

/** Undefined if the request must go to the routes. */
function cacheKeyOf({ method, url = '', headers }: IncomingMessage): string | undefined {
  const { host, accept = '', 'x-api-key': secret = '' } = headers
  if (method !== 'GET' || host === undefined || typeof secret !== 'string') return undefined
  // The cookie identifies the caller, and is not in the key.
  if (namedCookie(secret) !== undefined) return undefined
  if (url.length > maxKeyLength || accept.length > maxKeyLength) return undefined
  for (const name of uncachedHeaders) if (headers[name] !== undefined) return undefined
  return `${secret === '' ? '' : apiKeyDigest(secret)} ${accept} ${url}`
}

/**
 * Stores responses in front of the routes, which cost several times as much as `node:http` alone.
 * It only repeats a route's response to an equal request, while that is valid. Long because serving
 * and storing share the entries.
 */
export function addResponseCache(app: FastifyInstance, clock: Clock): void {
  const httpDate = createHttpDate(clock)
  const doorkeeper = createDoorkeeper(admissionWindow)
  const entries = new LRUCache<string, CachedResponse>({
    maxSize: maxCachedBytes,
    // V8 stores text that is not Latin-1 in two bytes per character.
    sizeCalculation: ({ body, encoding }, key) =>
      headerBytes + key.length + body.length * (encoding === 'latin1' ? 1 : 2),
  })

  function find(key: string, { socket }: ServerResponse): CachedResponse | undefined {
    // No socket: responses to earlier requests of the connection are still pending.
    if (socket === null || app.endsConnections()) return undefined
    const entry = entries.get(key)
    const isPublic = entry?.credential === undefined
    return isPublic || !app.isOverloaded() ? entry : undefined
  }
  function respond(
    entry: CachedResponse,
    request: IncomingMessage,
    response: ServerResponse,
    arrival: number,
  ): void {
    const requestId = newId()
    const own = ['x-request-id', requestId, 'date', httpDate()]
    entry.reuse.onReuse?.(request)
    if (app.requestRecords.hasObservers()) {
      reportOnFinish(app, entry, { requestId, response, arrival })
    }
    if (isNotModified(request, entry.etag)) {
      response.writeHead(304, [...own, ...entry.headersOf304]).end()
    } else {
      response.writeHead(200, [...own, ...entry.headers]).end(entry.body, entry.encoding)
    }
  }

  app.decorateRequest('reuse', undefined)
  app.decorate('responseCache', {
    serve(request, response, route) {
      const key = cacheKeyOf(request)
      const entry = key === undefined ? undefined : find(key, response)
      if (key === undefined || entry === undefined) return route(request, response)
      const arrival = performance.now()
      const valid = isValid(entry.reuse.validity, clock, entry.reuse.headsMatch)
      if (valid === true) return respond(entry, request, response, arrival)
      if (valid === false) {
        entries.delete(key)
        return route(request, response)
      }
      app.connections.track(request, response)
      const callRoute = () => {
        app.requestRecords.markArrival(request, arrival)
        route(request, response)
      }
      valid.then((isStillValid) => {
        if (!isStillValid && entries.peek(key) === entry) entries.delete(key)
        // Check again: the server may have stopped listening while the heads were read.
        if (!isStillValid || find(key, response) !== entry) return callRoute()
        respond(entry, request, response, arrival)
      }, callRoute)
    },
    store(request, reply, body, etag) {
      const { reuse } = request
      if (reuse === undefined || !isReusable(reply)) return
      const key = cacheKeyOf(request.raw)
      if (key === undefined || !doorkeeper.seenRecently(key)) return
      entries.set(key, toEntry(request, reply, { reuse, body, etag }))
    },
  })
}

/** Whether equal requests may get the response: it depends on nothing outside the cache key. */
function isReusable(reply: FastifyReply): boolean {
  if (reply.hasHeader('ratelimit') || reply.hasHeader('connection')) return false
  const vary = [reply.getHeader('vary') ?? []].flat().join().toLowerCase()
  return vary.split(',').every((name) => ['', ...cacheKeyHeaders].includes(name.trim()))
}

function toEntry(
  request: FastifyRequest,
  reply: FastifyReply,
  { reuse, body, etag }: Pick<CachedResponse, 'reuse' | 'body' | 'etag'>,
): CachedResponse {
  const { 'x-request-id': _id, date: _date, ...all } = reply.getHeaders()
  const headers = Object.entries(all)
  const bytes = Buffer.byteLength(body)
  return {
    route: request.routeOptions.url,
    credential: request.principal?.credential,
    reuse,
    etag,
    body,
    encoding: bytes === body.length ? 'latin1' : 'utf8',
    headers: flatten([...headers, ['content-length', bytes]]),
    headersOf304: flatten(headers.filter(([name]) => isSentWith304(name))),
  }
}

function flatten(headers: [string, unknown][]): string[] {
  return headers.flatMap(([name, value]) => [value].flat().flatMap((one) => [name, String(one)]))
}

/** Reports a request that no route served, as `addRequestRecords` does for the others. */
function reportOnFinish(
  app: FastifyInstance,
  { route, credential, reuse }: CachedResponse,
  served: { requestId: string; response: ServerResponse; arrival: number },
): void {
  const { requestId, response, arrival } = served
  const dataAgeMs = reuse.dataAgeMs?.()
  const record = { requestId, method: 'GET', route, credential, dataAgeMs, wasHeld: false }
  response.once('finish', () => {
    const ms = performance.now() - arrival
    app.requestRecords.report({ ...record, status: response.statusCode, ms })
  })
}
