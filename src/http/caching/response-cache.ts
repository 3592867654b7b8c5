import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { createDoorkeeper } from '../../async/doorkeeper.ts'
import { apiKeyDigest } from '../../core/api-keys/secrets.ts'
import { matchesTag } from '../../core/keys/preconditions.ts'
import { isSentWith304 } from './etags.ts'

declare module 'fastify' {
  interface FastifyInstance {
    responseCache: ResponseCache
  }
  interface FastifyRequest {
    /** Set by a handler whose answer may be given to others too. */
    reuse: Reuse | undefined
  }
}

/** Bound of what is stored, in octets; what falls out is worked out again when it is asked for. */
const maxCachedBytes = 16 * 1024 * 1024

/** Requests of which one is stored only when it comes again before so many others. */
const admissionWindow = 4_000

/** What the headers of an entry take, roughly. */
const headerBytes = 3_000

/** Characters of an address or an `Accept`; no verifier sends one that is longer. */
const maxLength = 400

/** On what an answer may be given again (RFC 9111 section 4 calls that reuse). */
export interface Reuse {
  /** Whether it would be the same now; asked for each request, after that has come. Throws nothing. */
  isCurrent(): boolean | Promise<boolean>
  /** Another request was answered with it. */
  used?(): void
  /** Milliseconds since the look at the store that it rests on, where it is a published one. */
  dataAgeMs?(): number
}

interface CachedResponse {
  route: string | undefined
  apiKeyId: string | undefined
  reuse: Reuse
  etag: string
  body: string
  /** Of text that is ASCII both are the same octets, and this one is written faster. */
  encoding: 'latin1' | 'utf8'
  /** Names and values in turn, for 200 and for 304, without the request's id. */
  headers: string[]
  headersOf304: string[]
}

type Route = (request: IncomingMessage, response: ServerResponse) => void

export interface ResponseCache {
  /** Answers a request as it was answered before where that still holds; else leaves it to `route`. */
  serve(request: IncomingMessage, response: ServerResponse, route: Route): void
  /** Stores what is sent now, where its handler allows it. `body` is what a 200 has. */
  store(request: FastifyRequest, reply: FastifyReply, body: string, etag: string): void
}

/** Of a request that may be answered so, these alone decide about its answer. */
function cacheKeyOf({ method, url = '', headers }: IncomingMessage): string | undefined {
  const { host, prefer, accept = '' } = headers
  if (method !== 'GET' || host === undefined || prefer !== undefined) return undefined
  if (url.length > maxLength || accept.length > maxLength) return undefined
  if (headers['content-length'] !== undefined) return undefined
  if (headers['transfer-encoding'] !== undefined) return undefined
  const secret = headers['x-api-key'] ?? ''
  if (typeof secret !== 'string') return undefined
  return `${secret === '' ? '' : apiKeyDigest(secret)} ${accept} ${url}`
}

/**
 * The answers that are asked for most, ready to be sent: in front of the routes, which cost several
 * times what node:http itself does. It decides nothing: what is sent is what a route has answered to
 * the same request, for as long as what that rests on is unchanged; all else goes to the routes.
 */
export function addResponseCache(app: FastifyInstance, newRequestId: () => string): void {
  const doorkeeper = createDoorkeeper(admissionWindow)
  const entries = new LRUCache<string, CachedResponse>({
    maxSize: maxCachedBytes,
    // V8 holds text that is not Latin-1 in two octets for each character.
    sizeCalculation: ({ body, encoding }, key) =>
      headerBytes + key.length + body.length * (encoding === 'latin1' ? 1 : 2),
  })

  function respond(
    answer: CachedResponse,
    request: IncomingMessage,
    response: ServerResponse,
    arrival: number,
  ): void {
    const requestId = newRequestId()
    answer.reuse.used?.()
    if (app.requestRecords.isObserved()) reportOnFinish(answer, requestId, response, arrival)
    const known = request.headers['if-none-match']
    if (known !== undefined && matchesTag(known, answer.etag, 'weak')) {
      response.writeHead(304, ['x-request-id', requestId, ...answer.headersOf304]).end()
    } else {
      response
        .writeHead(200, ['x-request-id', requestId, ...answer.headers])
        .end(answer.body, answer.encoding)
    }
  }
  function reportOnFinish(
    answer: CachedResponse,
    requestId: string,
    response: ServerResponse,
    arrival: number,
  ): void {
    const { route, apiKeyId, reuse } = answer
    const dataAgeMs = reuse.dataAgeMs?.()
    response.once('finish', () => {
      const ms = performance.now() - arrival
      const status = response.statusCode
      app.requestRecords.report({
        requestId,
        method: 'GET',
        route,
        status,
        ms,
        apiKeyId,
        dataAgeMs,
        wasHeld: false,
      })
    })
  }
  /** What is stored for the request, where it may be answered so at the moment. */
  function find(key: string, { socket }: ServerResponse): CachedResponse | undefined {
    // Answers of one connection go out in order: without the socket, others come first.
    if (socket === null || app.readiness.shuttingDown || app.isUnderPressure()) return undefined
    return entries.get(key)
  }

  app.decorateRequest('reuse', undefined)
  app.decorate('responseCache', {
    serve(request, response, route) {
      const key = cacheKeyOf(request)
      const answer = key === undefined ? undefined : find(key, response)
      if (key === undefined || answer === undefined) return route(request, response)
      const arrival = performance.now()
      const isCurrent = answer.reuse.isCurrent()
      if (isCurrent === true) return respond(answer, request, response, arrival)
      if (isCurrent === false) {
        entries.delete(key)
        return route(request, response)
      }
      app.requestRecords.markArrival(request, arrival)
      app.connections.track(request, response)
      const otherwise = () => route(request, response)
      isCurrent.then((found) => {
        if (!found && entries.peek(key) === answer) entries.delete(key)
        // Once more: after a look that took its time, the process may be shutting down.
        if (!found || find(key, response) !== answer) return otherwise()
        respond(answer, request, response, arrival)
      }, otherwise)
    },
    store(request, reply, body, etag) {
      const { reuse } = request
      // What is left of a budget, and the end of a connection, are for one request alone.
      if (reply.hasHeader('ratelimit') || reply.hasHeader('connection')) return
      const key = reuse === undefined ? undefined : cacheKeyOf(request.raw)
      if (reuse === undefined || key === undefined || !doorkeeper.seenRecently(key)) return
      const { 'x-request-id': _id, ...all } = reply.getHeaders()
      const headers = Object.entries(all)
      const octets = Buffer.byteLength(body)
      const unmodified = headers.filter(([name]) => isSentWith304(name))
      entries.set(key, {
        route: request.routeOptions.url,
        apiKeyId: request.principal?.apiKeyId,
        reuse,
        etag,
        body,
        encoding: octets === body.length ? 'latin1' : 'utf8',
        headers: flat([...headers, ['content-length', octets]]),
        headersOf304: flat(unmodified),
      })
    },
  })
}

function flat(headers: [string, unknown][]): string[] {
  return headers.flatMap(([name, value]) => [value].flat().flatMap((one) => [name, String(one)]))
}
