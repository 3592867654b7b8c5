import type { FastifyInstance } from 'fastify'
import { entityTag, matchesTag } from '../core/preconditions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answer carries an `ETag`, and is 304 to whoever has it already. */
    etag?: true
  }
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
    const known = request.headers['if-none-match']
    if (known === undefined || !matchesTag(known, tag, 'weak')) return done(null, payload)
    reply.code(304).removeHeader('content-type').removeHeader('content-length')
    done(null, null)
  })
}
