import {
  create,
  createSend,
  patch,
  read,
  readList,
  readPageAfter,
  remove,
  repeatable,
  type Send,
} from './operations.ts'
import type { CallOptions } from './options.ts'
import { type Operation, type Transport, tokenExchange } from './transport/transport.ts'
import type {
  Discovery,
  Jwks,
  KeyHistory,
  LedgerProof,
  LogTree,
  Project,
  ProjectHealth,
  TokenCheck,
  TokenExchangeResponse,
} from './types.ts'
import { pathSegment } from './validation.ts'

type PageOptions = CallOptions & { limit?: number; after?: string }

/**
 * `release` takes a name even if another project gave it up within the last 24 hours. Verifiers that
 * still use the name then get the keys of this project.
 */
type NameOptions = CallOptions & { release?: boolean | undefined }

export const projectPath = (project: string) => `/projects/${pathSegment(project, 'project')}`

export function projectOperations(transport: Transport) {
  const send = createSend(transport)
  const page = <Item>(path: string, { limit, after, ...options }: PageOptions = {}) =>
    readPageAfter<Item>(transport, { ...readList(path, { limit, after }), ...options })
  /** One page in order of creation; `next`, if present, is the `after` of the next page. */
  const list = (options?: PageOptions) => page<Project>('/projects', options)
  return {
    list,
    /** The state of a page of projects (`limit` up to 50), in the same order. */
    health: (options?: PageOptions) => page<ProjectHealth>('/project-health', options),
    /** All projects that the API key may see, fetched page by page. */
    async *all(options: CallOptions = {}): AsyncIterable<Project> {
      let after: string | undefined
      do {
        const { items, next } = await list({ ...options, limit: 200, ...(after && { after }) })
        yield* items
        after = next
      } while (after !== undefined)
    },
    get: async (project: string, options?: CallOptions) =>
      send<Project>(read(projectPath(project)), options),
    /** Not retried if it may have succeeded; a repeated call fails with `project_name_taken`. */
    create: async (
      body: { name: string; id?: string; dryRun?: boolean },
      { release, ...options }: NameOptions = {},
    ) => send<Project>({ ...create('/projects', body), query: { release } }, options),
    /** The id and the issuer do not change. */
    rename: async (project: string, name: string, { release, ...options }: NameOptions = {}) =>
      send<Project>({ ...patch(projectPath(project), { name }), query: { release } }, options),
    /** Fails with `project_not_empty` while the project has keys. */
    delete: async (project: string, options?: CallOptions) => {
      // By the time of a retry the name may belong to another project; an id never does.
      const retry = /^[0-9a-f-]{36}$/i.test(project) ? 'always' : 'if-not-processed'
      return send<void>({ ...remove(projectPath(project)), retry }, options)
    },
  }
}

export function tokenOperations(send: Send) {
  return {
    /** `at`: a past time (RFC 3339) or `iat`, for whether it would have verified then. */
    check: async (
      project: string,
      body: { token: string; audience?: string; issuer?: string; at?: string },
      options?: CallOptions,
    ) =>
      send<TokenCheck>(repeatable(`${projectPath(project)}/token-checks`, body, 'valid'), options),
    /**
     * Exchanges the token of a workload for an API key, without an API key. A client with a function in
     * `credentials` does it by itself. Fails with `token_refused`.
     */
    exchange: async (body: { token: string; rule?: string }, options?: CallOptions) =>
      send<TokenExchangeResponse>(tokenExchange(body), options),
  }
}

export function logOperations(send: Send) {
  return {
    /**
     * Proves that the log has the event with this revision, and all before it; without `revision`, the
     * last one in the log. Without `project`, of the system's ledger. Fails with `not_logged` until a
     * checkpoint covers the event.
     */
    prove: async ({
      project,
      revision,
      ...options
    }: CallOptions & { project?: string; revision?: number } = {}) => {
      const path = `${project === undefined ? '' : projectPath(project)}/ledger-proof`
      return send<LedgerProof>({ ...read(path, 'proof'), query: { revision } }, options)
    },
    /** Signs a checkpoint with all that was acknowledged before. */
    checkpoint: async (options?: CallOptions) =>
      send<LogTree>(repeatable('/log/checkpoints', undefined, 'origin'), options),
    /** Starts a log that has stopped again, with a new key and tree. Not retried if it may have succeeded. */
    restart: async (options?: CallOptions) =>
      send<LogTree>(create('/log/restarts', undefined, 'origin'), options),
  }
}

export function jwksOperations(send: Send) {
  const published = (project: string, name: string, member = 'keys'): Operation => {
    return { ...read(`${projectPath(project)}/.well-known/${name}`, member), access: 'public' }
  }
  return {
    /** All active keys (`jwks-full.json`, RFC 7517). To verify tokens, use `@pubring/client/verify`. */
    get: async (project: string, options?: CallOptions) =>
      send<Jwks>(published(project, 'jwks-full.json'), options),
    /** Every key that was ever active, and when. Never a key set for a verifier: it has ended keys too. */
    history: async (project: string, options?: CallOptions) =>
      send<KeyHistory>(published(project, 'key-history.json'), options),
    /** Only by id: a name can change, an issuer must not. */
    discovery: async (projectId: string, options?: CallOptions) =>
      send<Discovery>(published(projectId, 'openid-configuration', 'issuer'), options),
  }
}
