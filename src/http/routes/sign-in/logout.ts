import type { FastifyInstance } from 'fastify'
import type { SignIn } from '../../../core/sign-in/sign-in.ts'
import { PubringError } from '../../../errors.ts'
import { signInPath } from './sessions.ts'

/** Bytes of a form with a logout token. */
const maxFormBytes = 16_384

/**
 * The OpenID provider ends sessions here (OpenID Connect Back-Channel Logout 1.0 section 2.8). The token
 * authenticates it, and errors have the format that the provider expects.
 */
export function logoutRoute(app: FastifyInstance, signIn: SignIn | undefined): void {
  if (signIn === undefined) return
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      async (_request: unknown, body: string) => new URLSearchParams(body),
    )
    scope.route({
      method: 'POST',
      url: `${signInPath}/back-channel-logout`,
      schema: { hide: true },
      handler: async (request, reply) => {
        const form = request.body instanceof URLSearchParams ? request.body : undefined
        reply.header('cache-control', 'no-store')
        try {
          await signIn.logOut(form?.get('logout_token') ?? '', request.id)
          return reply.code(200).send()
        } catch (error) {
          if (!(error instanceof PubringError)) throw error
          request.problem = error
          request.log.warn({ err: error.cause, code: error.code }, error.message)
          const status = error.code === 'sign_in_failed' ? 400 : 503
          return reply.code(status).send({ error: 'invalid_request' })
        }
      },
    })
  })
}
