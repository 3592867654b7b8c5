import type { CallOptions, Confirmation, Precondition } from './call-options.ts'
import type { EventOperations } from './event-api.ts'
import type {
  KeyOperations,
  KeyUseOperations,
  RegistrationLinkOperations,
  RotationOperations,
} from './key-api.ts'
import type { PersonOperations, SessionOperations } from './sign-in-api.ts'
import type {
  AccessRule,
  AccessRuleCheck,
  AccessRuleCheckRequest,
  AccessRuleCreate,
  AccessRuleUpdate,
  ApiKey,
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyUpdate,
  Discovery,
  Jwks,
  KeyHistory,
  LedgerProof,
  LogTree,
  Project,
  ProjectHealth,
  Search,
  Status,
  TokenCheck,
  TokenExchangeResponse,
  Warning,
} from './types.ts'

/**
 * Options of `createClient`.
 *
 * @example
 * const options: ClientOptions = { url: 'https://keys.example.com', apiKey, timeout: 5_000 }
 */
export type ClientOptions = {
  /** URL of the service, with or without a trailing slash, a sub-path or a trailing `/v1`. */
  url: string
  /** Sent as `X-Api-Key`, only to `url`. Surrounding white space is removed. */
  apiKey?: string | undefined
  /**
   * An API key, as in `apiKey`; or a function that returns the token that a platform gives its
   * workloads, a JWT. The client exchanges it for an API key of minutes when it first needs one, again
   * before that expires, and once more if the service rejects it.
   */
  credentials?: string | (() => string | Promise<string>) | undefined
  /** Id of the access rule to exchange tokens under. Needed only if several accept them. */
  accessRule?: string | undefined
  /** Time limit of one attempt in milliseconds, including its body. Default: 30,000. */
  timeout?: number
  /** Time limit of an operation with all its attempts, in milliseconds. Default: none. */
  totalTimeout?: number
  /**
   * Maximum retries of a request after a network error, a timeout, 429, 502, 503 or 504, with
   * exponential backoff and full jitter; `Retry-After` is honored up to 30 seconds. Default: 3.
   * Reads, deletions, deactivations and changes with `ifMatch` are retried; other requests only if the
   * service has not processed them (429, `overloaded`).
   */
  retries?: number
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Sent as `User-Agent` if the runtime allows it. */
  userAgent?: string
}

/**
 * The operations of one service. A `project` is an id or a name. Every operation throws only
 * `PubringError`.
 *
 * @example
 * const client: Client = createClient({ url, apiKey })
 */
export type Client = {
  /** The normalized URL of the service; ends in `/v1`. */
  url: string
  /**
   * Finds keys and projects that the API key may see, by id, hash, label or name; up to `limit` (1 to
   * 50, by default 20) of each. Send no private key, token or API key, which are rejected.
   */
  search(text: string, options?: CallOptions & { limit?: number }): Promise<Search>
  /** Lists keys and API keys that need attention before they break, the most urgent first. */
  warnings(options?: CallOptions): Promise<Warning[]>
  /** The versions and the database of the replica that answers. For admins and auditors of all projects. */
  status(options?: CallOptions): Promise<Status>
  projects: ProjectOperations
  keys: KeyOperations
  rotations: RotationOperations
  keyUses: KeyUseOperations
  registrationLinks: RegistrationLinkOperations
  tokens: TokenOperations
  events: EventOperations
  log: LogOperations
  apiKeys: ApiKeyOperations
  accessRules: AccessRuleOperations
  sessions: SessionOperations
  people: PersonOperations
  jwks: JwksOperations
}

/**
 * Projects. Each has its own JWT keys, issuer and JWKS.
 *
 * @example
 * for await (const { name } of client.projects.all()) console.log(name)
 */
export type ProjectOperations = {
  /** One page in order of creation; `next`, if present, is the `after` of the next page. */
  list(
    options?: CallOptions & { limit?: number; after?: string },
  ): Promise<{ items: Project[]; next?: string }>
  /** All projects that the API key may see, fetched page by page. */
  all(options?: CallOptions): AsyncIterable<Project>
  /** The state of a page of projects (`limit` up to 50), in the same order. */
  health(
    options?: CallOptions & { limit?: number; after?: string },
  ): Promise<{ items: ProjectHealth[]; next?: string }>
  get(project: string, options?: CallOptions): Promise<Project>
  /** Not retried if it may have succeeded; a repeated call fails with `project_name_taken`. */
  create(
    body: { name: string; id?: string; dryRun?: boolean },
    options?: CallOptions & NameTaking,
  ): Promise<Project>
  /** The id and the issuer do not change. */
  rename(project: string, name: string, options?: CallOptions & NameTaking): Promise<Project>
  /** Fails with `project_not_empty` while the project has keys. */
  delete(project: string, options?: CallOptions): Promise<void>
}

/** How a project gets its name. */
export interface NameTaking {
  /**
   * Takes the name even if another project gave it up within the last 24 hours. Verifiers that still
   * use the name then get the keys of this project.
   */
  release?: boolean | undefined
}

/**
 * Tokens: explains why one verifies or not, and exchanges one for an API key.
 *
 * @example
 * const { valid, reason } = await client.tokens.check('payments', { token, audience: 'orders' })
 */
export type TokenOperations = {
  /** `at`: a past time (RFC 3339) or `iat`, for whether it would have verified then. */
  check(
    project: string,
    body: { token: string; audience?: string; issuer?: string; at?: string },
    options?: CallOptions,
  ): Promise<TokenCheck>
  /**
   * Exchanges the token of a workload for an API key, without an API key. A client with a function in
   * `credentials` does it by itself. Fails with `token_refused`.
   */
  exchange(
    body: { token: string; rule?: string },
    options?: CallOptions,
  ): Promise<TokenExchangeResponse>
}

/**
 * The log: one Merkle tree over the ledgers of all projects. `@pubring/client/log` verifies it.
 *
 * @example
 * const { proof } = await client.log.prove({ project: 'payments', revision: 7 })
 */
export type LogOperations = {
  /**
   * Proves that the log has the event with this revision, and all before it; without `revision`, the
   * last one in the log. Without `project`, of the system's ledger. Fails with `not_logged` until a
   * checkpoint covers the event.
   */
  prove(options?: CallOptions & { project?: string; revision?: number }): Promise<LedgerProof>
  /** Signs a checkpoint with all that was acknowledged before. */
  checkpoint(options?: CallOptions): Promise<LogTree>
  /** Starts a log that has stopped again, with a new key and tree. Not retried if it may have succeeded. */
  restart(options?: CallOptions): Promise<LogTree>
}

/**
 * API keys: credentials of the callers of the service.
 *
 * @example
 * const { apiKey } = await client.apiKeys.create({ name: 'deploy', role: 'writer', project: 'payments' })
 */
export type ApiKeyOperations = {
  /**
   * All API keys that this one may see, oldest first, without their secrets: those that tokens were
   * `exchanged` for, or the others.
   */
  list(options?: CallOptions & { exchanged?: boolean }): Promise<ApiKey[]>
  get(id: string, options?: CallOptions): Promise<ApiKey>
  /** The API key of this client. */
  self(options?: CallOptions): Promise<ApiKey>
  /** The result contains the secret, which is shown only once. Not retried if it may have succeeded. */
  create(body: ApiKeyCreate, options?: CallOptions): Promise<ApiKeyCreated>
  update(id: string, patch: ApiKeyUpdate, options?: CallOptions & Confirmation): Promise<ApiKey>
  /** Deletes the API key permanently; takes effect with the next request. */
  delete(id: string, options?: CallOptions & Confirmation): Promise<void>
}

/**
 * Access rules: which claims give which role to people who sign in, and to workloads, whose tokens are
 * exchanged for API keys. For admins of all projects.
 *
 * @example
 * const rule = { for: 'people', name: 'platform', conditions: { groups: 'platform' } } as const
 * await client.accessRules.create({ ...rule, role: 'admin', allProjects: true })
 */
export type AccessRuleOperations = {
  /** All access rules, oldest first. */
  list(options?: CallOptions): Promise<AccessRule[]>
  get(id: string, options?: CallOptions): Promise<AccessRule>
  /** Not retried if it may have succeeded. */
  create(body: AccessRuleCreate, options?: CallOptions): Promise<AccessRule>
  /**
   * Takes effect with the next request of each session. Every change but that of the name ends the API
   * keys that were exchanged under the rule.
   */
  update(
    id: string,
    patch: AccessRuleUpdate,
    options?: CallOptions & Precondition & Confirmation,
  ): Promise<AccessRule>
  /** Ends the API keys that were exchanged under the rule. */
  delete(id: string, options?: CallOptions & Precondition & Confirmation): Promise<void>
  /**
   * Explains why the rule gives its role or not, by a token or, for people, their claims; or whom a
   * change of it concerns. Nothing is issued, changed or stored.
   */
  check(id: string, body: AccessRuleCheckRequest, options?: CallOptions): Promise<AccessRuleCheck>
  /** Names the people who would gain access by a new rule, which is not stored. */
  checkNew(body: AccessRuleCreate, options?: CallOptions): Promise<AccessRuleCheck>
}

/**
 * The documents published for verifiers. They need no API key, and none is sent.
 *
 * @example
 * const { issuer } = await client.jwks.discovery(project.id)
 */
export type JwksOperations = {
  /** All active keys (`jwks-full.json`, RFC 7517). To verify tokens, use `@pubring/client/verify`. */
  get(project: string, options?: CallOptions): Promise<Jwks>
  /** Every key that was ever active, and when. Never a key set for a verifier: it has ended keys too. */
  history(project: string, options?: CallOptions): Promise<KeyHistory>
  /** Only by id: a name can change, an issuer must not. */
  discovery(projectId: string, options?: CallOptions): Promise<Discovery>
}
