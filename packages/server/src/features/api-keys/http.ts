import { readerAccess } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { recordEntityTag } from '../../kernel/entity-tags.ts'
import { principalOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { Query } from '../../kernel/http/request/parameters.ts'
import { managedRecords, recordRoutes } from '../../kernel/http/routes/managed-records.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { ApiKey, ApiKeyCreate, ApiKeyCreated, ApiKeyUpdate } from './contract.ts'
import {
  changing,
  createApiKey,
  deleteApiKey,
  getApiKey,
  getOwnApiKey,
  listApiKeys,
  removeExpired,
  updateApiKey,
} from './operations.ts'

const collection = '/v1/api-keys'

const scope =
  'An API key that is bound to a project sees and changes only API keys of that project.'

const apiKeys = managedRecords({
  collection,
  type: { one: 'ApiKey', many: 'ApiKeys' },
  noun: { bare: 'API key', one: 'an API key', many: 'API keys' },
  deletion: { verb: 'Revoke', done: 'revoked' },
  access: changing,
  recentSignIn: { create: 'always', update: 'sometimes', delete: 'always' },
  schemas: { shown: ApiKey, created: ApiKeyCreated, create: ApiKeyCreate, update: ApiKeyUpdate },
  queries: {
    list: Query({
      exchanged: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            '`true` lists the API keys that tokens were exchanged for, until 24 hours after their end; `false` or absent lists the others.',
        }),
      ),
    }),
  },
  createsSecret: true,
  notFound: 'api_key_not_found',
  createErrors: ['api_key_limit_reached'],
  givesAccess: true,
  descriptions: {
    create:
      'The response contains the secret, which is never shown again. An API key that is bound to a project can create API keys for that project only, and one that expires only API keys that expire no later.',
    list: `Returns all API keys in one array, oldest first, without secrets. ${scope}`,
    read: scope,
    update: `A merge patch (RFC 7396) of \`name\`, \`role\`, \`active\` and \`expireTime\`. It takes effect with the next request, on every replica. The project of an API key never changes, and one that a token was exchanged for cannot be changed at all. ${scope} An API key that expires cannot change its own \`expireTime\`, nor extend, promote or activate an API key that lives longer.`,
    delete: `Revocation is permanent and takes effect with the next request, on every replica. ${scope}`,
  },
  operations: {
    create: createApiKey,
    list: (context, principal, _projectId, query: { exchanged?: boolean }) =>
      listApiKeys(context, principal, query),
    read: getApiKey,
    update: updateApiKey,
    delete: deleteApiKey,
  },
})

export function routes(app: App, kernel: Kernel): void {
  recordRoutes(app, kernel, apiKeys)
  removeExpired(kernel)
  app.route({
    method: 'GET',
    url: `${collection}/self`,
    config: {
      access: readerAccess,
      errors: ['api_key_not_found'],
      headers: ['ETag'],
    },
    schema: {
      operationId: 'getOwnApiKey',
      summary: "Read the caller's own API key",
      response: { 200: ApiKey },
    },
    handler: async (request, reply) => {
      const apiKey = await getOwnApiKey(kernel, principalOf(request))
      return reply.header('etag', recordEntityTag(apiKey)).send(apiKey)
    },
  })
}
