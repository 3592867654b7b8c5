import {
  TrustPolicy,
  TrustPolicyCheck,
  TrustPolicyCheckRequest,
  TrustPolicyCreate,
  TrustPolicyUpdate,
} from '../../../contract/trust/policies.ts'
import type { Context } from '../../../core/context.ts'
import type { IssuerKeys } from '../../../core/trust/issuer-keys.ts'
import {
  createTrustPolicy,
  deleteTrustPolicy,
  getTrustPolicy,
  listTrustPolicies,
  updateTrustPolicy,
} from '../../../core/trust/policies.ts'
import { checkSubjectToken } from '../../../core/trust/policy-checks.ts'
import type { App } from '../../options.ts'
import { recordPath } from '../../request/paths.ts'
import { managedRecords, recordRoutes } from '../managed-records.ts'

const trustPolicies = managedRecords({
  collection: '/v1/trust-policies',
  type: { one: 'TrustPolicy', many: 'TrustPolicies' },
  noun: { bare: 'trust policy', one: 'a trust policy', many: 'trust policies' },
  deletion: { verb: 'Delete', done: 'deleted' },
  access: { role: 'admin', unbound: true },
  schemas: {
    shown: TrustPolicy,
    created: TrustPolicy,
    create: TrustPolicyCreate,
    update: TrustPolicyUpdate,
  },
  notFound: 'trust_policy_not_found',
  descriptions: {
    create:
      'Of an issuer whose tokens many customers get, the conditions must pin an id of the owner or the repository that never changes; the error names the claims. An API key that expires cannot create trust policies, which have no end.',
    list: 'Returns all trust policies in one array, oldest first.',
    update:
      'A merge patch (RFC 7396). Every change but that of the name ends the API keys that were exchanged under the policy, from the next request on, on every replica. Issuer and project never change. An API key that expires can only rename and deactivate.',
    delete:
      'Ends the API keys that were exchanged under the policy, from the next request on, on every replica.',
  },
  operations: {
    create: createTrustPolicy,
    list: listTrustPolicies,
    read: getTrustPolicy,
    update: updateTrustPolicy,
    delete: deleteTrustPolicy,
  },
})

export function trustPolicyRoutes(app: App, context: Context, keys: IssuerKeys): void {
  recordRoutes(app, context, trustPolicies)
  const { collection, access } = trustPolicies
  app.route({
    method: 'POST',
    url: `${collection}/:id/checks`,
    config: { access, cost: 5, errors: ['trust_policy_not_found'] },
    schema: {
      operationId: 'checkTrustPolicy',
      summary: 'Explain why a trust policy does or does not accept a token',
      description: 'Nothing is issued, and nothing of the token is stored.',
      params: recordPath('trust policy'),
      body: TrustPolicyCheckRequest,
      response: { 200: TrustPolicyCheck },
    },
    handler: async (request, reply) => {
      const { params, body } = request
      return reply.send(await checkSubjectToken(context, keys, params.id, body.token))
    },
  })
}
