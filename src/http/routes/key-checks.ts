import { KeyCheck, KeyCheckRequest } from '../../contract/checks/keys.ts'
import type { Context } from '../../core/context.ts'
import { checkKey } from '../../core/keys/checks.ts'
import { anyObjectAsBody, bodyReader } from '../body/submissions.ts'
import { contextOf } from '../hooks/access.ts'
import type { App } from '../options.ts'

const readKey = bodyReader(KeyCheckRequest)

export function keyCheckRoutes(app: App, context: Context): void {
  app.route({
    method: 'POST',
    url: '/v1/key-checks',
    config: { access: { role: 'reader' }, cost: 5 },
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
      const report = await checkKey(contextOf(request, context), readKey(request.body))
      return reply.header('cache-control', 'no-store').send(report)
    },
  })
}
