import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import {
  TrustPolicy,
  TrustPolicyCheck,
  TrustPolicyCheckRequest,
  TrustPolicyCreate,
  TrustPolicyUpdate,
} from '../../../contract/trust/policies.ts'
import type { Context } from '../../../core/context.ts'
import { trustPolicyEntityTag } from '../../../core/entity-tags.ts'
import type { IssuerKeys } from '../../../core/trust/issuer-keys.ts'
import {
  checkSubjectToken,
  createTrustPolicy,
  deleteTrustPolicy,
  getTrustPolicy,
  listTrustPolicies,
  updateTrustPolicy,
} from '../../../core/trust/policies.ts'
import { anyObjectAsBody, bodyReader } from '../../body/submissions.ts'
import { contextOf } from '../../hooks/access.ts'
import type { App } from '../../options.ts'
import { Precondition, preconditionOf, TrustPolicyPath } from '../../request/paths.ts'

const tags = ['Trust policies']
const collection = '/v1/trust-policies'
const member = '/v1/trust-policies/:id'
const access = { role: 'admin', unbound: true } as const

const readNew = bodyReader(TrustPolicyCreate)
const readPatch = bodyReader(TrustPolicyUpdate)

export function trustPolicyRoutes(app: App, context: Context, keys: IssuerKeys): void {
  createRoute(app, context)
  listRoute(app, context)
  readRoute(app, context)
  updateRoute(app, context)
  deleteRoute(app, context)
  checkRoute(app, context, keys)
}

function createRoute(app: App, context: Context): void {
  app.route({
    method: 'POST',
    url: collection,
    config: {
      access,
      errors: ['insufficient_lifetime', 'recent_sign_in_required', 'project_not_found'],
      headers: ['Location', 'ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'createTrustPolicy',
      summary: 'Create a trust policy',
      description:
        'Of an issuer whose tokens many customers get, the conditions must pin an id of the owner or the repository that never changes; the error names the claims. An API key that expires cannot create trust policies, which have no end.',
      tags,
      body: TrustPolicyCreate,
      response: { 201: TrustPolicy },
    },
    handler: async (request, reply) => {
      const policy = await createTrustPolicy(contextOf(request, context), readNew(request.body))
      reply.code(201).header('location', `${context.config.publicUrl}${collection}/${policy.id}`)
      return send(reply, policy)
    },
  })
}

function listRoute(app: App, context: Context): void {
  app.route({
    method: 'GET',
    url: collection,
    config: { access },
    schema: {
      operationId: 'listTrustPolicies',
      summary: 'List trust policies',
      description: 'Returns all trust policies in one array, oldest first.',
      tags,
      response: { 200: Type.Array(TrustPolicy) },
    },
    handler: async (_request, reply) => reply.send(await listTrustPolicies(context)),
  })
}

function readRoute(app: App, context: Context): void {
  app.route({
    method: 'GET',
    url: member,
    config: { access, errors: ['trust_policy_not_found'], headers: ['ETag'] },
    schema: {
      operationId: 'getTrustPolicy',
      summary: 'Read a trust policy',
      tags,
      params: TrustPolicyPath,
      response: { 200: TrustPolicy },
    },
    handler: async (request, reply) =>
      send(reply, await getTrustPolicy(context, request.params.id)),
  })
}

function updateRoute(app: App, context: Context): void {
  app.route({
    method: 'PATCH',
    url: member,
    config: {
      access,
      errors: [
        'insufficient_lifetime',
        'recent_sign_in_required',
        'trust_policy_not_found',
        'precondition_failed',
      ],
      headers: ['ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'updateTrustPolicy',
      summary: 'Change a trust policy',
      description:
        'A merge patch (RFC 7396). Every change but that of the name ends the API keys that were exchanged under the policy, from the next request on, on every replica. Issuer and project never change. An API key that expires can only rename and deactivate.',
      tags,
      consumes: ['application/json', 'application/merge-patch+json'],
      params: TrustPolicyPath,
      headers: Precondition,
      body: TrustPolicyUpdate,
      response: { 200: TrustPolicy },
    },
    handler: async (request, reply) => {
      const patch = readPatch(request.body)
      const caller = contextOf(request, context)
      return send(reply, await updateTrustPolicy(caller, referenceOf(request), patch))
    },
  })
}

function deleteRoute(app: App, context: Context): void {
  app.route({
    method: 'DELETE',
    url: member,
    config: { access, errors: ['trust_policy_not_found', 'precondition_failed'] },
    schema: {
      operationId: 'deleteTrustPolicy',
      summary: 'Delete a trust policy',
      description:
        'Ends the API keys that were exchanged under the policy, from the next request on, on every replica.',
      tags,
      params: TrustPolicyPath,
      headers: Precondition,
      response: { 204: Type.Null({ description: 'The trust policy is deleted.' }) },
    },
    handler: async (request, reply) => {
      await deleteTrustPolicy(contextOf(request, context), referenceOf(request))
      return reply.code(204).send(null)
    },
  })
}

function checkRoute(app: App, context: Context, keys: IssuerKeys): void {
  app.route({
    method: 'POST',
    url: `${member}/checks`,
    config: { access, cost: 5, errors: ['trust_policy_not_found'] },
    schema: {
      operationId: 'checkTrustPolicy',
      summary: 'Explain why a trust policy does or does not accept a token',
      description: 'Nothing is issued, and nothing of the token is stored.',
      tags,
      params: TrustPolicyPath,
      body: TrustPolicyCheckRequest,
      response: { 200: TrustPolicyCheck },
    },
    handler: async (request, reply) => {
      const { params, body } = request
      return reply.send(await checkSubjectToken(context, keys, params.id, body.token))
    },
  })
}

function send(reply: FastifyReply, policy: TrustPolicy) {
  return reply.header('etag', trustPolicyEntityTag(policy)).send(policy)
}

function referenceOf(request: FastifyRequest<{ Params: { id: string } }>) {
  return { id: request.params.id, ...preconditionOf(request) }
}
