import { projectAccess, readerAccess } from '../../kernel/access/grants.ts'
import { on } from '../../kernel/hooks.ts'
import { principalOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { registrationCookie, requireSameOrigin } from '../../kernel/http/request/headers.ts'
import { managedRecords, recordRoutes } from '../../kernel/http/routes/managed-records.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { tokenValid } from '../token-checks/changes.ts'
import {
  RegistrationLink,
  RegistrationLinkCreate,
  RegistrationLinkCreated,
  RegistrationSession,
  RegistrationSessionCreate,
} from './contract.ts'
import { openLink, operations, readSession, recordProof } from './operations.ts'

export const hooks = [on(tokenValid, recordProof)]

const links = managedRecords({
  collection: '/v1/projects/:projectIdOrName/registration-links',
  type: { one: 'RegistrationLink', many: 'RegistrationLinks' },
  noun: { bare: 'link', one: 'a registration link', many: 'the registration links of a project' },
  deletion: { verb: 'Revoke', done: 'revoked' },
  access: { role: 'writer', auditor: false },
  recentSignIn: { create: 'always', delete: 'always' },
  readAccess: readerAccess,
  schemas: {
    shown: RegistrationLink,
    created: RegistrationLinkCreated,
    create: RegistrationLinkCreate,
  },
  createsSecret: true,
  notFound: 'link_not_found',
  createErrors: ['link_limit_reached'],
  descriptions: {
    create:
      'A link for someone outside, who registers keys of this project by it and can do nothing else. The first browser that opens it may come back until it ends; no other one can open it. It outlives the API key that creates it.',
    list: 'The newest first: all open ones, and the newest 200 of the others.',
    delete: 'Ends the session of the browser that opened it, too. Keys that came through it stay.',
  },
  operations,
})

export function routes(app: App, kernel: Kernel): void {
  recordRoutes(app, kernel, links)
  const { publicUrl } = kernel.config
  const cookieOf = (linkId: string) => registrationCookie(publicUrl, linkId)
  app.route({
    method: 'POST',
    url: '/v1/registration-sessions',
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
        if (error.code === 'link_not_found') app.spendFailure?.(request, reply)
        throw error
      })
      const seconds = Math.ceil((Date.parse(session.expireTime) - kernel.clock.now()) / 1_000)
      cookieOf(session.id).set(reply, secret, seconds)
      return reply.code(201).header('cache-control', 'no-store').send(session)
    },
  })
  app.route({
    method: 'GET',
    url: '/v1/registration-sessions/self',
    config: { access: projectAccess },
    schema: {
      operationId: 'getRegistrationSession',
      summary: 'Read the session of a registration link',
      description: 'Only with `X-Api-Key: registration:` and the id of the link.',
      response: { 200: RegistrationSession },
    },
    handler: async (request, reply) => {
      const session = await readSession(kernel, principalOf(request))
      return reply.header('cache-control', 'no-store').send(session)
    },
  })
}
