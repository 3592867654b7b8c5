import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { SignInRule, SignInRuleCreate, SignInRuleUpdate } from '../../../contract/sign-in/rules.ts'
import type { Context } from '../../../core/context.ts'
import { signInRuleEntityTag } from '../../../core/entity-tags.ts'

import {
  createSignInRule,
  deleteSignInRule,
  getSignInRule,
  listSignInRules,
  toSignInRule,
  updateSignInRule,
} from '../../../core/sign-in/rules.ts'
import { anyObjectAsBody, bodyReader } from '../../body/submissions.ts'
import { contextOf } from '../../hooks/access.ts'
import type { App } from '../../options.ts'
import { Precondition, preconditionOf } from '../../request/paths.ts'

const tags = ['Sign-in']
const collection = '/v1/sign-in-rules'
const member = '/v1/sign-in-rules/:id'
const access = { role: 'admin', unbound: true } as const

const readNew = bodyReader(SignInRuleCreate)
const readPatch = bodyReader(SignInRuleUpdate)

const IdPath = Type.Object({ id: Type.String({ description: 'Id of the sign-in rule.' }) })

export function signInRuleRoutes(app: App, context: Context): void {
  createRoute(app, context)
  readRoutes(app, context)
  updateRoute(app, context)
  deleteRoute(app, context)
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
      operationId: 'createSignInRule',
      summary: 'Create a sign-in rule',
      description:
        'Gives a role to people by the claims that the OpenID provider asserts when they sign in. A condition on `email` also requires `email_verified`.',
      tags,
      body: SignInRuleCreate,
      response: { 201: SignInRule },
    },
    handler: async (request, reply) => {
      const rule = await createSignInRule(contextOf(request, context), readNew(request.body))
      return reply
        .code(201)
        .header('location', `${context.config.publicUrl}${collection}/${rule.id}`)
        .header('etag', signInRuleEntityTag(rule))
        .send(toSignInRule(rule))
    },
  })
}

function readRoutes(app: App, context: Context): void {
  app.route({
    method: 'GET',
    url: collection,
    config: { access },
    schema: {
      operationId: 'listSignInRules',
      summary: 'List sign-in rules',
      description: 'All of them, oldest first.',
      tags,
      response: { 200: Type.Array(SignInRule) },
    },
    handler: async (_request, reply) => reply.send(await listSignInRules(context)),
  })
  app.route({
    method: 'GET',
    url: member,
    config: { access, errors: ['sign_in_rule_not_found'], headers: ['ETag'] },
    schema: {
      operationId: 'getSignInRule',
      summary: 'Read a sign-in rule',
      tags,
      params: IdPath,
      response: { 200: SignInRule },
    },
    handler: async (request, reply) => {
      const rule = await getSignInRule(context, request.params.id)
      return reply.header('etag', signInRuleEntityTag(rule)).send(toSignInRule(rule))
    },
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
        'sign_in_rule_not_found',
        'precondition_failed',
      ],
      headers: ['ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'updateSignInRule',
      summary: 'Change a sign-in rule',
      description:
        'A merge patch (RFC 7396) of `name`, `conditions`, `role` and `active`. It takes effect with the next request of every session, on every replica. Issuer and project of a rule never change.',
      tags,
      consumes: ['application/json', 'application/merge-patch+json'],
      params: IdPath,
      headers: Precondition,
      body: SignInRuleUpdate,
      response: { 200: SignInRule },
    },
    handler: async (request, reply) => {
      const patch = readPatch(request.body)
      const rule = await updateSignInRule(contextOf(request, context), referenceOf(request), patch)
      return reply.header('etag', signInRuleEntityTag(rule)).send(toSignInRule(rule))
    },
  })
}

function deleteRoute(app: App, context: Context): void {
  app.route({
    method: 'DELETE',
    url: member,
    config: { access, errors: ['sign_in_rule_not_found', 'precondition_failed'] },
    schema: {
      operationId: 'deleteSignInRule',
      summary: 'Delete a sign-in rule',
      description: 'Takes effect with the next request of every session, on every replica.',
      tags,
      params: IdPath,
      headers: Precondition,
      response: { 204: Type.Null({ description: 'The sign-in rule is deleted.' }) },
    },
    handler: async (request, reply) => {
      await deleteSignInRule(contextOf(request, context), referenceOf(request))
      return reply.code(204).send(null)
    },
  })
}

function referenceOf(request: FastifyRequest<{ Params: { id: string } }>) {
  return { id: request.params.id, ...preconditionOf(request) }
}
