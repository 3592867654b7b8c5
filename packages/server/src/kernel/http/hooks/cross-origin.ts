import type { FastifyContextConfig, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { App } from '../options.ts'

/** How long a browser may cache a preflight response. */
const preflightMaxAgeSeconds = 86_400

/**
 * Opens public resources to scripts of every origin (Fetch, CORS protocol), including errors and
 * 304, without credentials.
 */
function openToAllOrigins(_request: unknown, reply: FastifyReply, done: () => void): void {
  reply.header('access-control-allow-origin', '*')
  reply.header(
    'access-control-expose-headers',
    'Age, ETag, Preference-Applied, Pubring-Revision, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  )
  done()
}

interface PublicRoute<Params> {
  url: string
  config: FastifyContextConfig
  schema: FastifySchema
  handler(request: FastifyRequest<{ Params: Params }>, reply: FastifyReply): Promise<FastifyReply>
}

/** Registers a public resource, and the preflight request that browsers send without credentials. */
export function publicRoute<Params>(app: App, { url, ...route }: PublicRoute<Params>): void {
  const { config } = route
  app.route<{ Params: Params }>({
    ...route,
    method: ['GET', 'HEAD'],
    url,
    onRequest: openToAllOrigins,
    config: {
      etag: true,
      ...config,
      headers: ['Cache-Control', 'Access-Control-Allow-Origin', ...(config.headers ?? [])],
    },
  })
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
