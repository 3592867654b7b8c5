import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { present } from '../../../runtime/present.ts'
import { createAuthenticator, type InCookie, namedCookie } from '../../access/authentication.ts'
import { requireAdmission } from '../../access/authorization.ts'
import { type Access, soleProject } from '../../access/grants.ts'
import type { Principal, RequestContext } from '../../access/principal.ts'
import { findLedger, findProject } from '../../access/projects.ts'
import type { Context } from '../../context.ts'
import type { Kernel } from '../../kernel.ts'
import type { ProjectIdentity } from '../../records.ts'
import { now } from '../../values/times.ts'
import type { HttpOptions } from '../options.ts'
import { registrationCookie, requireSameOrigin, sessionCookie } from '../request/headers.ts'
import { createFailureLimit } from './rate-limits.ts'

/** Milliseconds after which a request is authenticated again when its body has arrived. */
const slowBodyMs = 100

/** Authenticates callers before every other check: 401, or 429 after too many failures. */
export function addAuthentication(
  app: FastifyInstance,
  kernel: Kernel,
  options: HttpOptions,
): void {
  const authenticator = createAuthenticator(kernel)
  app.decorate('authenticator', authenticator)
  app.decorate('failureLimit', (limit) => createFailureLimit(kernel.clock, options, limit))
  const spendFailure = app.failureLimit({
    name: 'failures',
    reason:
      'The API key, session or link of this request is unknown or has ended, like those of many requests from your address before. A valid one would be accepted.',
  })
  app.decorate('spendFailure', spendFailure)
  app.addHook('preClose', () => authenticator.close())
  app.decorateRequest('principal', undefined)
  const { publicUrl } = kernel.config
  const session = sessionCookie(publicUrl)
  const cookieOf = (named: InCookie) =>
    named.type === 'session' ? session : registrationCookie(publicUrl, named.linkId)
  const authenticate = async (request: FastifyRequest, reply: FastifyReply) => {
    const header = secretOf(request)
    const named = namedCookie(header)
    if (named !== undefined) requireSameOrigin(request, publicUrl)
    const inCookie = named && cookieOf(named).read(request)
    try {
      request.principal = await authenticator.authenticate(header, inCookie)
    } catch (error) {
      const isFailure = error instanceof PubringError && /^invalid_/.test(error.code)
      if (isFailure) spendFailure?.(request, reply)
      throw error
    }
  }
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.access !== undefined) await authenticate(request, reply)
  })
  // After the body, for what is read then: a change checks its API key again when it is made.
  app.addHook('preValidation', async (request, reply) => {
    const { access } = request.routeOptions.config
    if (access === undefined || reply.elapsedTime < slowBodyMs) return
    await authenticate(request, reply)
    requireAdmission(principalOf(request), admissionOf(request, access), now(kernel.clock))
  })
}

/**
 * Authorizes callers before the body is read and validated: first 404, for a project that does not
 * exist or that the caller may not see, then 403.
 */
export function addAccess(app: FastifyInstance, context: Context): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    const isRead = [method].flat().every((each) => each === 'GET' || each === 'HEAD')
    if (isRead || config?.access === undefined || config.access.recentSignIn !== undefined) return
    throw new Error(`${method} ${url} does not declare whether it needs a recent sign-in.`)
  })
  app.decorateRequest('project', undefined)
  app.decorateRequest('ledgerId', undefined)
  app.addHook('onRequest', async (request) => {
    const { access, ledger } = request.routeOptions.config
    if (access === undefined) return
    const principal = principalOf(request)
    const idOrName = projectIn(request.params)
    if (idOrName !== undefined && ledger) {
      request.ledgerId = await findLedger(context, principal, idOrName)
    } else if (idOrName !== undefined) {
      request.project = await findProject(context, principal, idOrName)
    }
    requireAdmission(principal, admissionOf(request, access), now(context.clock))
  })
}

/**
 * API keys are accepted only in `X-Api-Key`. Node joins repeated headers with ", ", which no valid
 * secret contains.
 */
function secretOf(request: FastifyRequest): string | undefined {
  const header = request.headers['x-api-key']
  return Array.isArray(header) ? header.join(', ') : header
}

function projectIn(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null) return undefined
  const idOrName: unknown = Reflect.get(params, 'projectIdOrName')
  return typeof idOrName === 'string' ? idOrName : undefined
}

/** The access that the route requires: in the project in the path, if there is one. */
function admissionOf({ project, ledgerId }: FastifyRequest, access: Access) {
  return { access, ...present({ projectId: project?.id ?? ledgerId }) }
}

/** The caller; for routes with an `access`. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === undefined) throw new Error('The route has no access.')
  return request.principal
}

/** The project in the path; for routes with an `access` and `:projectIdOrName`. */
export function projectOf(request: FastifyRequest): ProjectIdentity {
  if (request.project === undefined) throw new Error('The route has no project.')
  return request.project
}

/** The ledger of the project in the path; for routes with an `access` and `ledger`. */
export function ledgerOf(request: FastifyRequest): string {
  if (request.ledgerId === undefined) throw new Error('The route has no ledger.')
  return request.ledgerId
}

/** The context of a request; for routes with an `access`. */
export function contextOf(request: FastifyRequest, kernel: Kernel): RequestContext {
  const principal = principalOf(request)
  const { credential, callerId, actor, grants } = principal
  const { access } = request.routeOptions.config
  const signal = request.server.connections.closeSignal(request.raw.socket)
  return {
    ...kernel,
    principal,
    origin: {
      actor,
      requestId: request.id,
      time: now(kernel.clock),
      ...(access && { authorization: { credential, ...admissionOf(request, access) } }),
    },
    intake: kernel.intakeFor({ callerId, projectId: soleProject(grants), signal }),
  }
}
