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
const saidAgain =
  /^(cache-control|etag|vary|connection|x-request-id|preference-applied|ratelimit.*|access-control-.*|cross-origin-resource-policy)$/

export function isSaidAgain(header: string): boolean {
  return saidAgain.test(header)
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
    if (typeof payload === 'string') app.storedAnswers.keep(request, reply, payload, tag)
    const known = request.headers['if-none-match']
    if (known === undefined || !matchesTag(known, tag, 'weak')) return done(null, payload)
    becomeUnmodified(reply)
    done(null, null)
  })
}

function becomeUnmodified(reply: FastifyReply): void {
  reply.code(304)
  for (const name of Object.keys(reply.getHeaders())) {
    if (isSaidAgain(name)) continue
    reply.removeHeader(name)
    // Those that were set past Fastify.
    reply.raw.removeHeader(name)
  }
}
