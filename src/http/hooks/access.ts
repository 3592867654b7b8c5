import type { FastifyInstance, FastifyRequest } from 'fastify'
import { findProject, type Principal, requireAccess } from '../../core/access.ts'
import { createAuthenticator } from '../../core/api-keys/authentication.ts'
import type { Context } from '../../core/context.ts'
import type { Origin } from '../../core/ledger/changes.ts'
import { findLedger } from '../../core/ledger/events.ts'
import type { ProjectSnapshot } from '../../core/records.ts'
import { now } from '../../core/times.ts'

/** The first check of all: 401, before anything else of the request is looked at. */
export function addAuthentication(app: FastifyInstance, context: Context): void {
  const authenticator = createAuthenticator(context)
  app.decorate('authenticator', authenticator)
  app.addHook('preClose', () => authenticator.close())
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.access === undefined) return
    request.principal = await authenticator.authenticate(secretOf(request))
  })
}

/**
 * The checks that come next and before the body is read, in this order: 404 (a project that does
 * not exist or that the caller may not see), 403 (what). Only then is the request's form looked at.
 */
export function addAccess(app: FastifyInstance, context: Context): void {
  app.decorateRequest('project', undefined)
  app.decorateRequest('ledgerId', undefined)
  app.addHook('onRequest', async (request) => {
    const { access, ledger } = request.routeOptions.config
    if (access === undefined) return
    const principal = principalOf(request)
    const idOrName = pathParameter(request, 'projectIdOrName')
    if (idOrName !== undefined && ledger) {
      request.ledgerId = await findLedger(context, principal, idOrName)
    } else if (idOrName !== undefined) {
      request.project = await findProject(context, principal, idOrName)
    }
    requireAccess(principal, access)
  })
}

/**
 * `X-Api-Key` and nothing else. Node joins a repeated header with ", ", which no secret contains,
 * so two of them are one that is not valid.
 */
function secretOf(request: FastifyRequest): string | undefined {
  const header = request.headers['x-api-key']
  return Array.isArray(header) ? header.join(', ') : header
}

function pathParameter(request: FastifyRequest, name: string): string | undefined {
  const { params } = request
  if (typeof params !== 'object' || params === null) return undefined
  const value: unknown = Reflect.get(params, name)
  return typeof value === 'string' ? value : undefined
}

/** The caller; only for routes that state an access. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === undefined) throw new Error('The route states no access.')
  return request.principal
}

/** The project in the path; only for routes that state an access and have one. */
export function projectOf(request: FastifyRequest): ProjectSnapshot {
  if (request.project === undefined) throw new Error('The route names no project.')
  return request.project
}

/** The ledger in the path; only for routes that state an access and read the ledger. */
export function ledgerOf(request: FastifyRequest): string {
  if (request.ledgerId === undefined) throw new Error('The route names no ledger.')
  return request.ledgerId
}

/** Who asks for a change, when, and in which request. */
export function originOf(request: FastifyRequest, context: Context): Origin {
  const { apiKeyId, name } = principalOf(request)
  return { actor: { apiKeyId, name }, requestId: request.id, time: now(context.clock) }
}
