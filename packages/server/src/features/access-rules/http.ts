import { unboundAdmin } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { contextOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { recordPath } from '../../kernel/http/request/parameters.ts'
import { managedRecords, recordRoutes } from '../../kernel/http/routes/managed-records.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { checkAccessRule, checkNewAccessRule, noteKeys } from './checks.ts'
import {
  AccessRule,
  AccessRuleCheck,
  AccessRuleCheckRequest,
  AccessRuleCreate,
  AccessRuleUpdate,
} from './contract.ts'
import { issuerKeysOf } from './issuer-keys.ts'
import {
  createAccessRule,
  deleteAccessRule,
  getAccessRule,
  listAccessRules,
  updateAccessRule,
} from './operations.ts'

/** The routes of access rules. Long because it is one description. */
function describeRecords({ log }: App) {
  const note = (context: RequestContext, rule: AccessRule) =>
    noteKeys(context, rule, (err) =>
      log.error({ err }, "the search for the keys of an access rule's issuer failed"),
    )
  return managedRecords({
    collection: '/v1/access-rules',
    type: { one: 'AccessRule', many: 'AccessRules' },
    noun: { bare: 'access rule', one: 'an access rule', many: 'access rules' },
    deletion: { verb: 'Delete', done: 'deleted' },
    access: unboundAdmin,
    recentSignIn: { create: 'always', update: 'sometimes', delete: 'always' },
    schemas: {
      shown: AccessRule,
      created: AccessRule,
      create: AccessRuleCreate,
      update: AccessRuleUpdate,
    },
    notFound: 'access_rule_not_found',
    givesAccess: true,
    descriptions: {
      create:
        'For people, by the claims that the OpenID provider asserts when they sign in: a condition on `email` also requires `email_verified`. For workloads of an issuer whose tokens many customers get, the conditions must pin an id of the owner or the repository that never changes; the error names the claims. An API key that expires cannot create access rules, which have no end.',
      list: 'Returns all access rules in one array, oldest first.',
      update:
        'A merge patch (RFC 7396). It takes effect with the next request of every session, on every replica, and every change but that of the name ends the API keys that were exchanged under the rule. `for`, issuer and project never change. An API key that expires can only rename and deactivate.',
      delete:
        'People have the role, and the API keys that were exchanged under the rule are valid, until the next request, on every replica.',
    },
    operations: {
      create: async (context, body) => note(context, await createAccessRule(context, body)),
      list: listAccessRules,
      read: getAccessRule,
      async update(context, rule, patch) {
        const after = await updateAccessRule(context, rule, patch)
        const concernsKeys = ['jwks', 'jwksUri', 'active'].some((name) => name in patch.fields)
        return concernsKeys ? note(context, after) : after
      },
      delete: deleteAccessRule,
    },
  })
}

export function routes(app: App, kernel: Kernel): void {
  const accessRules = describeRecords(app)
  recordRoutes(app, kernel, accessRules)
  const { collection, access } = accessRules
  const config = { access: { ...access, auditor: true, recentSignIn: 'never' }, cost: 5 } as const
  app.route({
    method: 'POST',
    url: `${collection}/checks`,
    config: { ...config, errors: ['project_not_found'] },
    schema: {
      operationId: 'checkNewAccessRule',
      summary: 'Say who would gain access by a new access rule',
      description:
        'Takes the same body as creating a rule and stores nothing. Returns the people who would gain access, out of those who signed in within the last 30 days. The list is empty for a rule for workloads.',
      body: AccessRuleCreate,
      response: { 200: AccessRuleCheck },
    },
    handler: async (request, reply) =>
      reply.send(await checkNewAccessRule(contextOf(request, kernel), request.body)),
  })
  app.route({
    method: 'POST',
    url: `${collection}/:id/checks`,
    config: { ...config, errors: ['access_rule_not_found'] },
    schema: {
      operationId: 'checkAccessRule',
      summary: 'Explain why an access rule does or does not give its role',
      description:
        'Takes a token or, for people, their claims, or a change of the rule. Nothing is issued or changed, and nothing of the token or the claims is stored.',
      params: recordPath('access rule'),
      body: AccessRuleCheckRequest,
      response: { 200: AccessRuleCheck },
    },
    handler: async (request, reply) => {
      const { params, body } = request
      const keys = issuerKeysOf(kernel)
      return reply.send(await checkAccessRule(contextOf(request, kernel), keys, params.id, body))
    },
  })
}
