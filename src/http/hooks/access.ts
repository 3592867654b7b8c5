import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Access, findProject, type Principal, requireAccess } from '../../core/access.ts'
import { type Authenticator, createAuthenticator } from '../../core/api-keys/authentication.ts'
import type { Context } from '../../core/context.ts'
import type { CachedDocument } from '../../core/keys/documents.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import type { Origin } from '../../core/ledger/changes.ts'
import { findLedger } from '../../core/ledger/events.ts'
import type { ProjectSnapshot } from '../../core/records.ts'
import { now } from '../../core/times.ts'
import type { ErrorCode } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the operation asks of its caller; absent: it is public. */
    access?: Access
    /** The errors that the operation itself can give, beyond those that follow from its shape. */
    errors?: readonly ErrorCode[]
    /** The operation reads the project's ledger, which outlives the project. */
    ledger?: true
  }
  interface FastifyInstance {
    authenticator: Authenticator
  }
  interface FastifyRequest {
    /** Who asks; set where the route states an access. */
    principal: Principal | undefined
    /** The project that the path names; set where the path has `:projectIdOrName`. */
    project: ProjectSnapshot | undefined
    /** The ledger of the project that the path names; set where the route reads the ledger. */
    ledgerId: string | undefined
  }
}

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

/**
 * Lets others who ask the same with the same API key have the answer, which shows the project alone:
 * as long as the API keys and the project are unchanged, and the document and the API key hold.
 */
export function allowCaching(
  request: FastifyRequest,
  { store, clock }: Context,
  document: Pick<CachedDocument, 'head' | 'from' | 'until'>,
): void {
  const { apiKeyId, head, expireTime } = principalOf(request)
  const { id: ledgerId, head: projectHead } = projectOf(request)
  // The project has changed between the two looks: the next request sees it in one state.
  if (projectHead !== document.head) return
  const seen = [
    { ledgerId: systemLedgerId, hash: head },
    { ledgerId, hash: projectHead },
  ]
  const expiry = expireTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(expireTime)
  const until = Math.min(document.until, expiry)
  const { authenticator } = request.server
  const isInTime = () => document.from <= clock.now() && clock.now() < until
  request.reuse = {
    isCurrent: () =>
      isInTime() && store.headsMatch(seen).then((unchanged) => unchanged && isInTime()),
    used: () => authenticator.recordUse(apiKeyId),
  }
}

/** Who asks for a change, when, and in which request. */
export function originOf(request: FastifyRequest, context: Context): Origin {
  const { apiKeyId, name } = principalOf(request)
  return { actor: { apiKeyId, name }, requestId: request.id, time: now(context.clock) }
}
