import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/**
 * Sets the strictest content security policy, which suits data; pages relax it themselves. There is
 * no CORS header: the management API is closed to scripts of other origins.
 */
export async function addSecurityHeaders(app: FastifyInstance, publicUrl: string): Promise<void> {
  await app.register(helmet, {
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
