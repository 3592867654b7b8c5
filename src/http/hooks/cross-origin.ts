import type { FastifyReply } from 'fastify'
import type { App } from '../options.ts'

/** Seconds for which a browser may remember what the preflight said. */
const preflightMaxAge = 86_400

/**
 * What is public is so for browsers of every origin too (Fetch, CORS protocol), errors and 304
 * included. Never with credentials: nothing here looks at any.
 */
export function openToAllOrigins(_request: unknown, reply: FastifyReply, done: () => void): void {
  reply.header('access-control-allow-origin', '*')
  reply.header(
    'access-control-expose-headers',
    'ETag, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  )
  reply.header('cross-origin-resource-policy', 'cross-origin')
  done()
}

/** Answers the preflight, for which no browser sends anything that could identify its user. */
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
        .header('access-control-max-age', preflightMaxAge)
        .send(),
  })
}
