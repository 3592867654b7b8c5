import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { entityTag, includesEntityTag, parseEntityTags } from '../../entity-tags.ts'

/**
 * Headers of a 304: those that RFC 9110 section 15.4.5 requires, the CORS headers, and those about
 * this request. Caches keep the other headers of their stored response.
 */
const headersOf304 =
  /^(age|cache-control|content-location|etag|vary|connection|x-request-id|preference-applied|pubring-revision|ratelimit.*|access-control-.*)$/

export function isSentWith304(header: string): boolean {
  return headersOf304.test(header)
}

/** Whether the client already has the representation with this tag. */
export function isNotModified(
  { headers }: Pick<IncomingMessage, 'headers'>,
  etag: string,
): boolean {
  const known = headers['if-none-match']
  if (known === etag) return true
  // A header that is too long is ignored: the request is then an ordinary GET.
  const tags = known === undefined ? undefined : parseEntityTags(known)
  return tags !== undefined && includesEntityTag(tags, etag, 'weak')
}

/**
 * Sets `Cache-Control` and `ETag`, offers responses to the response cache, and sends 304. Responses
 * to an API key are `private, no-cache` (RFC 9111): shared caches must not store them, and clients
 * revalidate them. The tag is the handler's own, or a digest of the bytes.
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
