import type { Registry } from 'prom-client'
import type { TSchema } from 'typebox'
import type { ErrorCode, PubringError } from '../../errors.ts'
import type { Authenticator } from '../access/authentication.ts'
import type { Access } from '../access/grants.ts'
import type { Principal } from '../access/principal.ts'
import type { Kernel } from '../kernel.ts'
import type { ProjectIdentity } from '../records.ts'
import type { ResponseCache, Reuse } from './caching.ts'
import type { Connections } from './hooks/connections.ts'
import type { CountedLog, RequestRecords } from './hooks/logging.ts'
import type { Limit, SpendFailure } from './hooks/rate-limits.ts'

/** Headers that the description of the API explains. */
export type ResponseHeader =
  | 'Access-Control-Allow-Origin'
  | 'Age'
  | 'Cache-Control'
  | 'Content-Location'
  | 'ETag'
  | 'Link'
  | 'Location'
  | 'Preference-Applied'
  | 'Pubring-Revision'
  | 'Pubring-State'
  | 'Set-Cookie'
  | 'Vary'

/** Pubring's members of Fastify's route configuration, application and requests. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access that the operation requires; public if absent. */
    access?: Access
    /** The operation reads the project's ledger, which outlives the project. */
    ledger?: true
    /** A 200 has an `ETag` and becomes a 304 if the client already has that representation. */
    etag?: true
    /** Requests that a call counts as for the rate limit; 1 if absent. */
    cost?: number
    /** Changes that a call counts as for the write limit; 1 if absent, and 0 is exempt. */
    changes?: (request: FastifyRequest) => number
    /** Exempt from rate limits and overload rejection: health checks. */
    unlimited?: true
    /** Whether the response is in memory, so that it is served under overload too. */
    isInMemory?: (request: FastifyRequest) => boolean
    /** The body is a form (`application/x-www-form-urlencoded`), and errors are those of OAuth. */
    form?: true
    /** Error codes besides those that follow from the schema. */
    errors?: readonly ErrorCode[]
    /** Headers of a success besides those of every response. */
    headers?: readonly ResponseHeader[]
    /** Media types available besides JSON, selected by `Accept`. */
    mediaTypes?: Record<string, TSchema>
  }
  interface FastifyInstance {
    authenticator: Authenticator
    connections: Connections
    countedLog: CountedLog
    /** Whether each response closes its connection: the server has stopped listening, or closes. */
    endsConnections(): boolean
    /** A limit of failures per client address; undefined if they are not limited. */
    failureLimit(limit: Pick<Limit, 'name' | 'reason'>): SpendFailure | undefined
    /** Whether the event loop lags; never while the server starts. */
    isOverloaded(): boolean
    kernel: Kernel
    /** Undefined if metrics are disabled. */
    metrics: Registry | undefined
    /**
     * Fails the readiness check until the registry is prepared, and before the process stops
     * listening.
     */
    readiness: { starting: boolean; shuttingDown: boolean }
    requestRecords: RequestRecords
    responseCache: ResponseCache
    /** Counts a failed authentication of the client; undefined if they are not limited. */
    spendFailure: SpendFailure | undefined
  }
  interface FastifyRequest {
    /** The caller; set if the route has an `access`. */
    principal: Principal | undefined
    /** The project in the path; set if the path has `:projectIdOrName`. */
    project: ProjectIdentity | undefined
    /** The ledger of the project in the path; set if the route reads the ledger. */
    ledgerId: string | undefined
    /** The error that the request ended with. */
    problem: PubringError | undefined
    /** Milliseconds since the published document was last read from the store. */
    dataAgeMs: number | undefined
    /** Set by a handler whose response may be reused for equal requests. */
    reuse: Reuse | undefined
  }
}
