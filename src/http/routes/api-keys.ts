import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ApiKey, ApiKeyCreate, ApiKeyCreated, ApiKeyUpdate } from '../../contract/api-keys.ts'
import {
  createApiKey,
  deleteApiKey,
  getApiKey,
  getOwnApiKey,
  listApiKeys,
  updateApiKey,
} from '../../core/api-keys/operations.ts'
import type { Context } from '../../core/context.ts'
import { apiKeyEntityTag } from '../../core/entity-tags.ts'
import { anyObjectAsBody, bodyReader } from '../body/submissions.ts'
import { contextOf, principalOf } from '../hooks/access.ts'
import type { App } from '../options.ts'
import { ApiKeyPath, Precondition, preconditionOf } from '../request/paths.ts'

const tags = ['API keys']
const collection = '/v1/api-keys'
const member = '/v1/api-keys/:id'

const readNew = bodyReader(ApiKeyCreate)
const readPatch = bodyReader(ApiKeyUpdate)

const scope =
  'An API key that is bound to a project sees and changes only API keys of that project.'

export function apiKeyRoutes(app: App, context: Context): void {
  createRoute(app, context)
  listRoute(app, context)
  ownRoute(app, context)
  readRoute(app, context)
  updateRoute(app, context)
  deleteRoute(app, context)
}

function createRoute(app: App, context: Context): void {
  app.route({
    method: 'POST',
    url: collection,
    config: {
      access: { role: 'admin' },
      errors: ['insufficient_lifetime', 'recent_sign_in_required', 'project_not_found'],
      headers: ['Location', 'ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'createApiKey',
      summary: 'Create an API key',
      description:
        'The response contains the secret, which is never shown again. An API key that is bound to a project can create API keys for that project only, and one that expires only API keys that expire no later.',
      tags,
      body: ApiKeyCreate,
      response: { 201: ApiKeyCreated },
    },
    handler: async (request, reply) => {
      const apiKey = await createApiKey(contextOf(request, context), readNew(request.body))
      return reply
        .code(201)
        .header('location', `${context.config.publicUrl}${collection}/${apiKey.id}`)
        .header('etag', apiKeyEntityTag(apiKey))
        .header('cache-control', 'no-store')
        .send(apiKey)
    },
  })
}

function listRoute(app: App, context: Context): void {
  app.route({
    method: 'GET',
    url: collection,
    config: { access: { role: 'admin' } },
    schema: {
      operationId: 'listApiKeys',
      summary: 'List API keys',
      description: `Returns all API keys in one array, oldest first, without secrets. ${scope}`,
      tags,
      response: { 200: Type.Array(ApiKey) },
    },
    handler: async (request, reply) => reply.send(await listApiKeys(context, principalOf(request))),
  })
}

function ownRoute(app: App, context: Context): void {
  app.route({
    method: 'GET',
    url: `${collection}/self`,
    config: { access: { role: 'reader' }, headers: ['ETag'] },
    schema: {
      operationId: 'getOwnApiKey',
      summary: "Read the caller's own API key",
      tags,
      response: { 200: ApiKey },
    },
    handler: async (request, reply) => {
      const apiKey = await getOwnApiKey(context, principalOf(request))
      return reply.header('etag', apiKeyEntityTag(apiKey)).send(apiKey)
    },
  })
}

function readRoute(app: App, context: Context): void {
  app.route({
    method: 'GET',
    url: member,
    config: { access: { role: 'admin' }, errors: ['api_key_not_found'], headers: ['ETag'] },
    schema: {
      operationId: 'getApiKey',
      summary: 'Read an API key',
      description: scope,
      tags,
      params: ApiKeyPath,
      response: { 200: ApiKey },
    },
    handler: async (request, reply) => {
      const apiKey = await getApiKey(context, principalOf(request), request.params.id)
      return reply.header('etag', apiKeyEntityTag(apiKey)).send(apiKey)
    },
  })
}

function updateRoute(app: App, context: Context): void {
  app.route({
    method: 'PATCH',
    url: member,
    config: {
      access: { role: 'admin' },
      errors: [
        'insufficient_lifetime',
        'recent_sign_in_required',
        'api_key_not_found',
        'last_admin_api_key',
        'precondition_failed',
      ],
      headers: ['ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'updateApiKey',
      summary: 'Change an API key',
      description: `A merge patch (RFC 7396) of \`name\`, \`role\`, \`active\` and \`expireTime\`. It takes effect with the next request, on every replica. The project of an API key never changes. ${scope} An API key that expires cannot change its own \`expireTime\`, nor extend, promote or activate an API key that lives longer. The last active admin API key for all projects without \`expireTime\` cannot be demoted, deactivated or set to expire.`,
      tags,
      consumes: ['application/json', 'application/merge-patch+json'],
      params: ApiKeyPath,
      headers: Precondition,
      body: ApiKeyUpdate,
      response: { 200: ApiKey },
    },
    handler: async (request, reply) => {
      const patch = readPatch(request.body)
      const apiKey = await updateApiKey(contextOf(request, context), referenceOf(request), patch)
      return reply.header('etag', apiKeyEntityTag(apiKey)).send(apiKey)
    },
  })
}

function deleteRoute(app: App, context: Context): void {
  app.route({
    method: 'DELETE',
    url: member,
    config: {
      access: { role: 'admin' },
      errors: ['api_key_not_found', 'last_admin_api_key', 'precondition_failed'],
    },
    schema: {
      operationId: 'deleteApiKey',
      summary: 'Revoke an API key',
      description: `Revocation is permanent and takes effect with the next request, on every replica. ${scope} The last active admin API key for all projects without \`expireTime\` cannot be revoked.`,
      tags,
      params: ApiKeyPath,
      headers: Precondition,
      response: { 204: Type.Null({ description: 'The API key is revoked.' }) },
    },
    handler: async (request, reply) => {
      await deleteApiKey(contextOf(request, context), referenceOf(request))
      return reply.code(204).send(null)
    },
  })
}

function referenceOf(request: FastifyRequest<{ Params: { id: string } }>) {
  return { id: request.params.id, ...preconditionOf(request) }
}
