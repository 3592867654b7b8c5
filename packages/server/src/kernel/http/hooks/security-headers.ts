import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { App } from '../options.ts'

/** Adds the headers of every response. */
export function addCommonHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    // No response is what its type does not say: data is never run as a script or shown as a page.
    reply.header('x-content-type-options', 'nosniff')
    done()
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
