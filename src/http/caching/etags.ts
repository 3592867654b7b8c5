import type { FastifyInstance, FastifyReply } from 'fastify'
import { entityTag, matchesTag } from '../../core/keys/preconditions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answer carries an `ETag`, and is 304 to whoever has it already. */
    etag?: true
  }
}

/**
 * What a 304 says: how long and for whom its answer holds (RFC 9110 section 15.4.5), which origins may
 * have it, and what is about this request. The other headers are kept with the answer, wherever it is.
 */
const headersOf304 =
  /^(cache-control|etag|vary|connection|x-request-id|preference-applied|ratelimit.*|access-control-.*|cross-origin-resource-policy)$/

export function isSentWith304(header: string): boolean {
  return headersOf304.test(header)
}

/**
 * What an API key opens belongs to its holder, and is asked for anew each time: `private` and
 * `no-cache` (RFC 9111). The tag is that which the handler set, or a digest of the octets sent.
 */
export function addCaching(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { access, etag } = request.routeOptions.config
    if (access !== undefined && !reply.hasHeader('cache-control')) {
      reply.header('cache-control', 'private, no-cache')
    }
    if (etag !== true || reply.statusCode !== 200) return done(null, payload)
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return done(null, payload)
    const given = reply.getHeader('etag')
    const tag = typeof given === 'string' ? given : entityTag(payload)
    reply.header('etag', tag)
    if (typeof payload === 'string') app.responseCache.store(request, reply, payload, tag)
    const known = request.headers['if-none-match']
    if (known === undefined || !matchesTag(known, tag, 'weak')) return done(null, payload)
    turnInto304(reply)
    done(null, null)
  })
}

function turnInto304(reply: FastifyReply): void {
  reply.code(304)
  for (const name of Object.keys(reply.getHeaders())) {
    if (isSentWith304(name)) continue
    reply.removeHeader(name)
    // Those that were set past Fastify.
    reply.raw.removeHeader(name)
  }
}
