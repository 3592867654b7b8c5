import type { FastifyReply } from 'fastify'
import type { App } from '../options.ts'

/** How long a browser may cache a preflight response. */
const preflightMaxAgeSeconds = 86_400

/**
 * Opens public resources to scripts of every origin (Fetch, CORS protocol), including errors and
 * 304, without credentials.
 */
export function openToAllOrigins(_request: unknown, reply: FastifyReply, done: () => void): void {
  reply.header('access-control-allow-origin', '*')
  reply.header(
    'access-control-expose-headers',
    'Age, ETag, Preference-Applied, Pubring-Revision, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  )
  done()
}

/** Serves the preflight request, which browsers send without credentials. */
export function preflightRoute(app: App, url: string): void {
  app.route({
    method: 'OPTIONS',
    url,
    schema: { hide: true },
    onRequest: openToAllOrigins,
    handler: async (_request, reply) =>
      reply
        .code(204)
        .header('allow', 'GET, HEAD, OPTIONS')
        .header('access-control-allow-methods', 'GET, HEAD')
        .header('access-control-allow-headers', '*')
        .header('access-control-max-age', preflightMaxAgeSeconds)
        .send(),
  })
}
