import helmet from '@fastify/helmet'
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
} from 'fastify'
import type { Clock } from '../../../runtime/clock.ts'
import { createHttpDate } from '../date.ts'
import type { App } from '../options.ts'

/** Adds the headers of every response. */
export function addCommonHeaders(app: FastifyInstance, clock: Clock): void {
  const httpDate = createHttpDate(clock)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    // No response is what its type does not say: data is never run as a script or shown as a page.
    reply.header('x-content-type-options', 'nosniff')
    done()
  })
  // A held request arrived long before, and caches count the age of its response from the Date.
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('date', httpDate())
    done(null, payload)
  })
}

/**
 * Headers that only matter to pages, for the routes of this scope. The content security policy is the
 * strictest; pages relax it themselves.
 */
export async function addPageHeaders(pages: App, publicUrl: string): Promise<void> {
  await pages.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    // RFC 6797 section 7.2: must not be sent over plain HTTP.
    strictTransportSecurity: publicUrl.startsWith('https:') && {
      maxAge: 31_536_000,
      includeSubDomains: false,
    },
    xFrameOptions: { action: 'deny' },
  })
}

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
    'Age, Content-Location, ETag, Preference-Applied, Pubring-Revision, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
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
