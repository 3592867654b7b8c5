import { projectAccess } from '../../kernel/access/grants.ts'
import { anyObjectAsBody, bodyReader } from '../../kernel/http/body/validation.ts'
import { contextOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { checkKey, checkToken } from './check.ts'
import { KeyCheck, KeyCheckRequest, TokenCheck, TokenCheckRequest } from './contract.ts'

const readKey = bodyReader(KeyCheckRequest)

export function routes(app: App, kernel: Kernel): void {
  app.route({
    method: 'POST',
    url: '/v1/key-checks',
    config: { access: { ...projectAccess, recentSignIn: 'never' }, cost: 5 },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'checkPublicKey',
      summary: 'Check whether a public key would be accepted',
      description:
        'Runs the checks of registration without storing the key, and reports every fault; slow rules that were not checked are named in `skipped`. A key that would be rejected is still a successful check: 200 with `accepted: false`. A private key is an incident here too: none of it is stored, its public key is blocked, and if that is registered, the ledger of its project records the incident.',
      body: KeyCheckRequest,
      response: { 200: KeyCheck },
    },
    handler: async (request, reply) => {
      const report = await checkKey(contextOf(request, kernel), readKey(request.body))
      return reply.header('cache-control', 'no-store').send(report)
    },
  })
  app.route({
    method: 'POST',
    url: '/v1/projects/:projectIdOrName/token-checks',
    config: { access: { ...projectAccess, recentSignIn: 'never' }, cost: 5 },
    schema: {
      operationId: 'checkToken',
      summary: 'Explain why a JWT does or does not verify',
      description:
        "Performs the steps of a verifier with the project's current keys and stops at the first that fails; with `at`, as they were at that time. `iss` is compared with the issuer of the project unless the request names another; without an `audience`, `aud` is not compared. A token that does not verify is still a successful check: 200 with `valid: false`. The token is neither stored nor logged. By the session of a registration link, only keys that came through it are known, and one that waits for approval is checked as if it were active: the step `key_active` is `warned` then.",
      body: TokenCheckRequest,
      response: { 200: TokenCheck },
    },
    handler: async (request, reply) => {
      const report = await checkToken(
        kernel,
        contextOf(request, kernel),
        projectOf(request).id,
        request.body,
      )
      reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
      return reply.serializer(withDeepMembers).send(report)
    },
  })
}

/** As JSON, member by member: V8 serializes claims of any depth alone, but not always in an object. */
function withDeepMembers(report: TokenCheck): string {
  const present = Object.entries(report).filter(([, value]) => value !== undefined)
  return `{${present.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join(',')}}`
}
