import { readerAccess } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { on } from '../../kernel/hooks.ts'
import { anyObjectAsBody, bodyReader } from '../../kernel/http/body/validation.ts'
import { contextOf, principalOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { registrationCookie, requireSameOrigin } from '../../kernel/http/request/headers.ts'
import { recordPath } from '../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { tokenValid } from '../token-checks/changes.ts'
import {
  RegistrationLink,
  RegistrationLinkCreate,
  RegistrationLinkCreated,
  RegistrationSession,
  RegistrationSessionCreate,
} from './contract.ts'
import {
  createLink,
  getLink,
  listLinks,
  openLink,
  readSession,
  recordProof,
  revokeLink,
} from './operations.ts'

export const hooks = [on(tokenValid, recordProof)]

const collection = '/v1/projects/:projectIdOrName/registration-links'
const sessions = '/v1/registration-sessions'

export function routes(app: App, kernel: Kernel): void {
  linkRoutes(app, kernel)
  sessionRoutes(app, kernel)
}

const readLink = bodyReader(RegistrationLinkCreate)
const change = { role: 'writer', auditor: false, recentSignIn: 'always' } as const

/** Long because it lists the routes. */
function linkRoutes(app: App, kernel: Kernel): void {
  const params = recordPath('link')
  app.route({
    method: 'POST',
    url: collection,
    config: { access: change, errors: ['link_limit_reached'], headers: ['Location'] },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'createRegistrationLink',
      summary: 'Create a registration link',
      description:
        'A link for someone outside, who registers keys of this project by it and can do nothing else. The first browser that opens it may come back until it ends; no other one can open it. It outlives the API key that creates it.',
      body: RegistrationLinkCreate,
      response: { 201: RegistrationLinkCreated },
    },
    handler: async (request, reply) => {
      const { id: projectId } = projectOf(request)
      const own = contextOf(request, kernel)
      const link = await createLink(own, readLink(request.body), projectId)
      const path = collection.replace(':projectIdOrName', projectId)
      return reply
        .code(201)
        .header('location', `${kernel.config.publicUrl}${path}/${link.id}`)
        .header('cache-control', 'no-store')
        .send(link)
    },
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: collection,
    config: { access: readerAccess },
    schema: {
      operationId: 'listRegistrationLinks',
      summary: 'List the registration links of a project',
      description: 'The newest first: all open ones, and the newest 200 of the others.',
      response: { 200: Type.Array(RegistrationLink) },
    },
    handler: async (request, reply) => reply.send(await listLinks(kernel, projectOf(request).id)),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: `${collection}/:id`,
    config: { access: readerAccess, errors: ['link_not_found'] },
    schema: {
      operationId: 'getRegistrationLink',
      summary: 'Read a registration link',
      params,
      response: { 200: RegistrationLink },
    },
    handler: async (request, reply) =>
      reply.send(await getLink(kernel, projectOf(request).id, request.params.id)),
  })
  app.route({
    method: 'DELETE',
    url: `${collection}/:id`,
    config: { access: change, errors: ['link_not_found'] },
    schema: {
      operationId: 'deleteRegistrationLink',
      summary: 'Revoke a registration link',
      description:
        'Ends the link and the session of the browser that opened it, from the next request on. The keys that came through it stay.',
      params,
      response: { 204: Type.Null({ description: 'The link has ended.' }) },
    },
    handler: async (request, reply) => {
      await revokeLink(contextOf(request, kernel), projectOf(request).id, request.params.id)
      return reply.code(204).send(null)
    },
  })
}

function sessionRoutes(app: App, kernel: Kernel): void {
  const { publicUrl } = kernel.config
  const cookieOf = (linkId: string) => registrationCookie(publicUrl, linkId)
  const spend = app.failureLimit({
    name: 'links',
    reason: 'Many links from your address were refused. A valid one would be accepted.',
  })
  app.route({
    method: 'POST',
    url: sessions,
    config: { errors: ['link_not_found', 'cross_site_request'], headers: ['Set-Cookie'] },
    schema: {
      operationId: 'createRegistrationSession',
      summary: 'Open a registration link',
      description:
        'Exchanges the secret of the link for a session of this browser, whose own secret is in a cookie that scripts cannot read. Further requests send `X-Api-Key: registration:` and the `id` beside it. Needs no API key.',
      body: RegistrationSessionCreate,
      response: { 201: RegistrationSession },
    },
    handler: async (request, reply) => {
      requireSameOrigin(request, publicUrl)
      const inCookie = (linkId: string) => cookieOf(linkId).read(request)
      const submitted = { secret: request.body.secret, inCookie, requestId: request.id }
      const { secret, session } = await openLink(kernel, submitted).catch((error) => {
        // Afterwards, so that bad links never keep out a good one from the same address.
        if (error.code === 'link_not_found') spend?.(request, reply)
        throw error
      })
      const seconds = Math.ceil((Date.parse(session.expireTime) - kernel.clock.now()) / 1_000)
      cookieOf(session.id).set(reply, secret, seconds)
      return reply.code(201).header('cache-control', 'no-store').send(session)
    },
  })
  app.route({
    method: 'GET',
    url: `${sessions}/self`,
    config: { access: { ...readerAccess, link: true } },
    schema: {
      operationId: 'getRegistrationSession',
      summary: 'Read the session of a registration link',
      description: 'Only with `X-Api-Key: registration:` and the id of the link.',
      response: { 200: RegistrationSession },
    },
    handler: async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .send(await readSession(kernel, principalOf(request))),
  })
}
