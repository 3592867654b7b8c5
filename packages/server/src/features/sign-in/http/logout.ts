import { errorTable, PubringError } from '../../../errors.ts'
import { Type } from '../../../kernel/contract.ts'
import type { App } from '../../../kernel/http/options.ts'
import type { SignIn } from '../sign-in.ts'
import { recordRefusal } from './browser.ts'
import { signInPath } from './sessions.ts'

/**
 * The OpenID provider ends sessions here (OpenID Connect Back-Channel Logout 1.0 section 2.8). The token
 * authenticates it, and errors have the format that the provider expects.
 */
export function logoutRoute(app: App, signIn: SignIn): void {
  const reason = 'Too many logout tokens from your address are not valid.'
  const spend = app.failureLimit({ name: 'logouts', reason })
  app.route({
    method: 'POST',
    url: `${signInPath}/back-channel-logout`,
    config: { form: true },
    schema: { hide: true, body: Type.Object({ logout_token: Type.String() }) },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      try {
        const giveBack = spend?.(request, reply)
        await signIn.logOut(request.body.logout_token, request.id)
        giveBack?.()
        return reply.code(200).send()
      } catch (error) {
        if (!(error instanceof PubringError)) throw error
        recordRefusal(request, error)
        const { status } = errorTable[error.code]
        return reply.code(status).send({ error: 'invalid_request' })
      }
    },
  })
}
