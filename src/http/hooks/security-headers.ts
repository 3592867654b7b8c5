import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/**
 * The strictest policy that a page can have, for answers that are data; pages say what more they
 * need. There is no CORS header: browsers of other origins have no business with the management API.
 */
export async function addSecurityHeaders(app: FastifyInstance, publicUrl: string): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    // RFC 6797 section 7.2: not to be sent over plain HTTP.
    strictTransportSecurity: publicUrl.startsWith('https:') && {
      maxAge: 31_536_000,
      includeSubDomains: false,
    },
    xFrameOptions: { action: 'deny' },
  })
}
