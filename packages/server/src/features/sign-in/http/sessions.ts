import type { FastifyRequest } from 'fastify'
import { auditAccess, readerAccess, unboundAdmin } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { contextOf, principalOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import { sessionCookie } from '../../../kernel/http/request/headers.ts'
import { Query } from '../../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { Person, Self, Session, SignedOut, SignInOptions } from '../contract.ts'
import {
  deletePerson,
  describeSelf,
  endSession,
  endSessionsOf,
  listPeople,
  listSessions,
  ownSessionId,
  signInWithApiKey,
  toSession,
} from '../sessions.ts'
import type { SignIn } from '../sign-in.ts'
import { sessions } from '../stored.ts'
import { deviceOf } from './device.ts'

const collection = '/v1/sessions'

export const signInPath = '/sign-in'

/** Long because it lists the routes. */
export function sessionRoutes(app: App, kernel: Kernel, signIn: SignIn | undefined): void {
  const { oidc, publicUrl, sessionLifetime } = kernel.config
  const url = `${publicUrl}${signInPath}`
  const consoleUrl = `${publicUrl}/console/`
  const options = { consoleUrl, ...(oidc === undefined ? {} : { oidc: { url } }) }
  const cookie = sessionCookie(publicUrl)
  app.route({
    method: 'GET',
    url: '/v1/sign-in-options',
    schema: {
      operationId: 'getSignInOptions',
      summary: 'Read how people can sign in',
      description: 'Needs no API key.',
      response: { 200: SignInOptions },
    },
    handler: async (_request, reply) => reply.header('cache-control', 'no-cache').send(options),
  })
  app.route({
    method: 'GET',
    url: '/v1/self',
    config: { access: readerAccess },
    schema: {
      operationId: 'getSelf',
      summary: 'Read who the caller is',
      description: 'The person or API key of the request, and what they may do.',
      response: { 200: Self },
    },
    handler: async (request, reply) => reply.send(await describeSelf(kernel, principalOf(request))),
  })
  app.route({
    method: 'POST',
    url: collection,
    config: {
      access: { ...readerAccess, recentSignIn: 'never' },
      headers: ['Location', 'Set-Cookie'],
    },
    schema: {
      operationId: 'createSession',
      summary: 'Sign in with an API key',
      description:
        'Exchanges the API key in `X-Api-Key` for a session, so that a browser need not keep the secret. The session has the rights of the API key and ends with it. Its own secret is in a cookie that scripts cannot read; further requests send `X-Api-Key: session` beside the cookie.',
      response: { 201: Session },
    },
    handler: async (request, reply) => {
      const requestContext = contextOf(request, kernel)
      const { session, secret } = await signInWithApiKey(requestContext, deviceOf(request))
      cookie.set(reply, secret, sessionLifetime)
      const { name } = requestContext.principal.actor
      return reply
        .code(201)
        .header('location', `${publicUrl}${collection}/${session.id}`)
        .header('cache-control', 'no-store')
        .send(toSession(session, name, true))
    },
  })
  app.route({
    method: 'GET',
    url: collection,
    config: { access: readerAccess },
    schema: {
      operationId: 'listSessions',
      summary: 'List sessions',
      description:
        'Live sessions, oldest first: all of them for an admin or auditor of all projects, otherwise those of the caller.',
      response: { 200: Type.Array(Session) },
    },
    handler: async (request, reply) => reply.send(await listSessions(kernel, principalOf(request))),
  })
  app.route({
    method: 'DELETE',
    url: `${collection}/self`,
    config: {
      access: { ...readerAccess, recentSignIn: 'never' },
      errors: ['session_not_found'],
      headers: ['Set-Cookie'],
      changes: () => 0,
    },
    schema: {
      operationId: 'signOut',
      summary: 'Sign out',
      description: 'Ends the session of the request, from the next request on.',
      response: { 200: SignedOut },
    },
    handler: async (request, reply) => {
      const id = ownSessionId(principalOf(request))
      const session = await sessions.find(kernel.store.reader, id)
      await endSession(contextOf(request, kernel), id)
      cookie.clear(reply)
      const signOutUrl = await signIn?.signOutUrl(session)
      return reply.send(signOutUrl === undefined ? {} : { signOutUrl })
    },
  })
  app.route({
    method: 'DELETE',
    url: `${collection}/:id`,
    config: {
      access: { ...readerAccess, recentSignIn: 'sometimes' },
      errors: ['session_not_found'],
      changes: () => 0,
    },
    schema: {
      operationId: 'endSession',
      summary: 'End a session',
      description:
        'Takes effect with the next request, on every replica. An admin of all projects can end every session, others their own.',
      params: Type.Object({ id: Type.String({ description: 'Id of the session.' }) }),
      response: { 204: Type.Null({ description: 'The session has ended.' }) },
    },
    handler: async (request, reply) => {
      await endSession(contextOf(request, kernel), request.params.id)
      return reply.code(204).send(null)
    },
  })
  app.route({
    method: 'DELETE',
    url: collection,
    config: { access: { ...unboundAdmin, recentSignIn: 'sometimes' }, changes: () => 0 },
    schema: {
      operationId: 'endSessions',
      summary: 'End all sessions of a person',
      description: 'Takes effect with the next request, on every replica.',
      querystring: Query({
        person: Type.String({ format: 'uuid', description: 'Id of the person.' }),
      }),
      response: { 204: Type.Null({ description: 'The person has no session any more.' }) },
    },
    handler: async (request: FastifyRequest<{ Querystring: { person: string } }>, reply) => {
      await endSessionsOf(contextOf(request, kernel), request.query.person)
      return reply.code(204).send(null)
    },
  })
}

const people = '/v1/people'

export function personRoutes(app: App, kernel: Kernel): void {
  app.route({
    method: 'GET',
    url: people,
    config: { access: auditAccess },
    schema: {
      operationId: 'listPeople',
      summary: 'List people',
      description: 'All people who have signed in through the OpenID provider, by first sign-in.',
      response: { 200: Type.Array(Person) },
    },
    handler: async (_request, reply) => reply.send(await listPeople(kernel)),
  })
  app.route({
    method: 'DELETE',
    url: `${people}/:id`,
    config: {
      access: { ...unboundAdmin, recentSignIn: 'always' },
      errors: ['person_not_found'],
    },
    schema: {
      operationId: 'deletePerson',
      summary: 'Erase a person',
      description:
        'Erases name and email, which events then no longer show, and ends all sessions of the person. The ledger keeps the issuer and the subject. A person who may still sign in can do so again.',
      params: Type.Object({ id: Type.String({ description: 'Id of the person.' }) }),
      response: { 204: Type.Null({ description: 'The person is erased.' }) },
    },
    handler: async (request, reply) => {
      await deletePerson(contextOf(request, kernel), request.params)
      return reply.code(204).send(null)
    },
  })
}
