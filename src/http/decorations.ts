import type { Registry } from 'prom-client'
import type { TSchema } from 'typebox'
import type { Principal } from '../core/access.ts'
import type { Authenticator } from '../core/api-keys/authentication.ts'
import type { Access, ProjectSnapshot } from '../core/records.ts'
import type { ErrorCode, PubringError } from '../errors.ts'
import type { ResponseCache, Reuse } from './caching/response-cache.ts'
import type { Connections } from './hooks/connections.ts'
import type { RequestRecords } from './hooks/request-records.ts'
import type { ResponseHeader } from './openapi/operations.ts'

/** What Fastify's routes, application and requests carry in Pubring. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the operation requires of its caller; public if absent. */
    access?: Access
    /** The operation reads the project's ledger, which outlives the project. */
    ledger?: true
    /** A 200 carries an `ETag`, and becomes a 304 if the client has it already. */
    etag?: true
    /** Requests that one call counts as; one if absent. */
    cost?: number
    /** Health checks are never limited and are answered under any load. */
    unlimited?: true
    /** Error codes of the operation itself, beyond those that follow from its schema. */
    errors?: readonly ErrorCode[]
    /** Headers of a success, beyond those of every response. */
    headers?: readonly ResponseHeader[]
    /** Media types available besides JSON, selected by `Accept`. */
    mediaTypes?: Record<string, TSchema>
  }
  interface FastifyInstance {
    authenticator: Authenticator
    connections: Connections
    /** Empty if metrics are disabled. */
    metrics: Registry
    /** Set `shuttingDown` to fail the readiness check before the process stops listening. */
    readiness: { shuttingDown: boolean }
    requestRecords: RequestRecords
    responseCache: ResponseCache
  }
  interface FastifyRequest {
    /** The caller; set if the route has an `access`. */
    principal: Principal | undefined
    /** The project in the path; set if the path has `:projectIdOrName`. */
    project: ProjectSnapshot | undefined
    /** The ledger of the project in the path; set if the route reads the ledger. */
    ledgerId: string | undefined
    /** The error that the request ended with. */
    problem: PubringError | undefined
    /** Milliseconds since the read of the store that a published document rests on. */
    dataAgeMs: number | undefined
    /** Set by a handler whose response may be served again to equal requests. */
    reuse: Reuse | undefined
  }
}
