import type { CallOptions, Precondition } from './call-options.ts'
import type { PersonOperations, SessionOperations, SignInRuleOperations } from './sign-in-api.ts'
import type {
  Algorithm,
  ApiKey,
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyUpdate,
  Discovery,
  Event,
  Jwks,
  JwtKey,
  JwtKeyCreate,
  JwtKeyUpdate,
  JwtKeyUpdated,
  JwtKeyWithDetails,
  KeyCheck,
  KeyImport,
  KeyImportReport,
  KeyRoleEntry,
  LedgerProof,
  LogTree,
  Project,
  ProjectHealth,
  Rotation,
  RotationCreate,
  RotationUpdate,
  Search,
  TokenCheck,
  TokenExchangeResponse,
  TrustPolicy,
  TrustPolicyCheck,
  TrustPolicyCreate,
  TrustPolicyUpdate,
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
  /** Id of the trust policy to exchange tokens under. Needed only if several accept them. */
  trustPolicy?: string | undefined
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
 * Whether the active keys that a key vouched for, directly or through others, are deactivated too.
 *
 * @example
 * await client.keys.update('payments', kid, { active: false }, { descendants: true })
 */
export type DescendantsDecision = { descendants?: boolean }

/**
 * The operations of one service. A `project` is an id or a name. Every operation throws only
 * `PubringError`. Long, with what follows, because it is the list of all operations.
 *
 * @example
 * const client: Client = createClient({ url, apiKey })
 */
export type Client = {
  /** The normalized URL of the service; ends in `/v1`. */
  url: string
  /**
   * Finds keys, projects, API keys and requests that the API key may see, by id, hash, label or name;
   * up to `limit` (1 to 50, by default 20) of each. Send no private key, token or API key, which are
   * rejected.
   */
  search(text: string, options?: CallOptions & { limit?: number }): Promise<Search>
  /** What needs attention before it breaks, the most urgent first. */
  warnings(options?: CallOptions): Promise<Warning[]>
  projects: ProjectOperations
  keys: KeyOperations
  rotations: RotationOperations
  tokens: TokenOperations
  events: EventOperations
  log: LogOperations
  apiKeys: ApiKeyOperations
  trustPolicies: TrustPolicyOperations
  sessions: SessionOperations
  signInRules: SignInRuleOperations
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
  create(body: { name: string }, options?: CallOptions): Promise<Project>
  /** The id and the issuer do not change. */
  rename(project: string, name: string, options?: CallOptions): Promise<Project>
  /** Fails with `project_not_empty` while the project has keys. */
  delete(project: string, options?: CallOptions): Promise<void>
}

/**
 * JWT keys: the public keys that tokens are verified with.
 *
 * @example
 * const { kid } = await client.keys.create('payments', { name: 'spring', algorithm: 'RSA', publicKeyPem })
 * await client.keys.update('payments', kid, { active: false })
 */
export type KeyOperations = {
  /** All keys, oldest first; with `active: true` only the active ones. */
  list(project: string, options?: CallOptions & { active?: boolean }): Promise<JwtKey[]>
  get(project: string, kid: string, options?: CallOptions): Promise<JwtKeyWithDetails>
  /** The role of each key, in the order of `list`. */
  roles(project: string, options?: CallOptions): Promise<KeyRoleEntry[]>
  /**
   * Registers a key and returns its `kid`. Not retried if it may have succeeded; a repeated call fails
   * with `duplicate_key` and the `kid` in `error.problem.kid`.
   */
  create(project: string, body: JwtKeyCreate, options?: CallOptions): Promise<{ kid: string }>
  /**
   * Changes the members in the patch and returns the updated key. `warnings` says if the project is
   * left without an active key. Fails with `key_has_descendants`, and the kids in `error.problem.kids`,
   * if a key is deactivated that vouched for active ones, unless `descendants` decides about them.
   */
  update(
    project: string,
    kid: string,
    patch: JwtKeyUpdate,
    options?: CallOptions & Precondition & DescendantsDecision,
  ): Promise<JwtKeyUpdated>
  /** Fails with `key_active` while the key is active. */
  delete(
    project: string,
    kid: string,
    options?: CallOptions & Precondition & DescendantsDecision,
  ): Promise<void>
  /** Imports all keys or none. Safe to repeat: keys that already exist are reported as `present`. */
  import(project: string, body: KeyImport, options?: CallOptions): Promise<KeyImportReport>
  /** Checks a key without registering it. */
  check(
    body: { publicKeyPem: string; algorithm?: Algorithm },
    options?: CallOptions,
  ): Promise<KeyCheck>
}

/**
 * Rotations: the replacement of keys, step by step. The service keeps their state.
 *
 * @example
 * const { id } = await client.rotations.start('payments', { from: oldKid, to: newKid })
 * await client.rotations.finish('payments', id)
 */
export type RotationOperations = {
  /** Those under way first, then the ended ones, each newest first. */
  list(project: string, options?: CallOptions): Promise<Rotation[]>
  get(project: string, id: string, options?: CallOptions): Promise<Rotation>
  /** Changes no key. Not retried if it may have succeeded; fails with `rotation_exists` then. */
  start(project: string, body: RotationCreate, options?: CallOptions): Promise<Rotation>
  /** Schedules the steps that are left; `null` clears a time. They are taken with your rights. */
  schedule(
    project: string,
    id: string,
    patch: RotationUpdate,
    options?: CallOptions & Precondition,
  ): Promise<Rotation>
  /** Deactivates the old key now. Fails with `rotation_not_ready` until verifiers know the new one. */
  finish(
    project: string,
    id: string,
    options?: CallOptions & DescendantsDecision,
  ): Promise<Rotation>
  /** Changes no key. */
  abandon(project: string, id: string, options?: CallOptions & Precondition): Promise<void>
}

/**
 * Tokens: explains why one verifies or not, and exchanges one for an API key.
 *
 * @example
 * const { valid, reason } = await client.tokens.check('payments', { token, audience: 'orders' })
 */
export type TokenOperations = {
  check(
    project: string,
    body: { token: string; audience?: string; issuer?: string },
    options?: CallOptions,
  ): Promise<TokenCheck>
  /**
   * Exchanges the token of a workload for an API key, without an API key. A client with a function in
   * `credentials` does it by itself. Fails with `token_refused`.
   */
  exchange(
    body: { token: string; policy?: string },
    options?: CallOptions,
  ): Promise<TokenExchangeResponse>
}

/**
 * The ledger of a project; without `project`, the system's ledger.
 *
 * @example
 * for await (const { revision, type, subject } of client.events.follow({ project: 'payments' })) {
 *   console.log(revision, type, subject.id)
 * }
 */
export type EventOperations = {
  /**
   * Up to `limit` (1 to 200) events that match. Fails with `history_changed` if the ledger has no event
   * `after`, because the database was restored. With filters, use `page` or `all`: the service examines
   * a bounded number of events, so fewer than `limit` does not mean that there are no more.
   */
  list(options?: CallOptions & EventQuery): Promise<Event[]>
  /** The same, with the position of the next page, if there is one: pass it with the same filters. */
  page(options?: CallOptions & EventQuery): Promise<{ items: Event[]; next?: EventPosition }>
  /** All events that match, fetched page by page. */
  all(options?: CallOptions & EventQuery): AsyncIterable<Event>
  /**
   * All events that match, as the text of a file: JSON lines, or CSV with a line of headings. Throws if
   * it was cut off.
   */
  export(options: CallOptions & EventQuery & { format: 'jsonl' | 'csv' }): AsyncIterable<string>
  /**
   * The events after `after`, then each new one as it happens: in order and without gaps, across lost
   * connections and restarts of the service. Ends after `project.deleted`. Throws if the first
   * connection fails, if the service rejects the request, or when `signal` is aborted, and
   * `history_changed` if the database was restored and the ledger no longer has those events.
   */
  follow(
    options?: CallOptions & { project?: string; after?: number | string },
  ): AsyncIterable<Event>
}

/** Where a page of events begins. */
export type EventPosition = {
  /**
   * Only later events: a revision, or better `REVISION.HASH8` with the first 8 characters of that
   * event's hash. Default: 0.
   */
  after?: number | string
  /** Only events before this revision. */
  before?: number
}

/** Which events; without `project`, of the system's ledger. */
export type EventQuery = EventPosition & {
  project?: string
  limit?: number
  /** Default: `asc`; `desc` is newest first. */
  order?: 'asc' | 'desc'
  /** Types, separated by commas. */
  type?: string
  /** Id, name, email address or subject of the actor. */
  actor?: string
  /** Id of the subject. */
  subject?: string
  /** From this time on (RFC 3339). */
  since?: string
  /** Before this time (RFC 3339). */
  until?: string
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
  /** Starts a new tree, for a log that has stopped. Not retried if it may have succeeded. */
  startEpoch(options?: CallOptions): Promise<LogTree>
}

/**
 * API keys: credentials of the callers of the service.
 *
 * @example
 * const { apiKey } = await client.apiKeys.create({ name: 'deploy', role: 'writer', project: 'payments' })
 */
export type ApiKeyOperations = {
  /** All API keys that this one may see, oldest first, without their secrets. */
  list(options?: CallOptions): Promise<ApiKey[]>
  get(id: string, options?: CallOptions): Promise<ApiKey>
  /** The API key of this client. */
  self(options?: CallOptions): Promise<ApiKey>
  /** The result contains the secret, which is shown only once. Not retried if it may have succeeded. */
  create(body: ApiKeyCreate, options?: CallOptions): Promise<ApiKeyCreated>
  update(id: string, patch: ApiKeyUpdate, options?: CallOptions): Promise<ApiKey>
  /** Deletes the API key permanently; takes effect with the next request. */
  delete(id: string, options?: CallOptions): Promise<void>
}

/**
 * Trust policies: which tokens of which issuer are exchanged for API keys. For admins of all projects.
 *
 * @example
 * const { accepted, steps } = await client.trustPolicies.check(id, token)
 */
export type TrustPolicyOperations = {
  /** All of them, oldest first. */
  list(options?: CallOptions): Promise<TrustPolicy[]>
  get(id: string, options?: CallOptions): Promise<TrustPolicy>
  /** Not retried if it may have succeeded. */
  create(body: TrustPolicyCreate, options?: CallOptions): Promise<TrustPolicy>
  /** Every change but that of the name ends the API keys that were exchanged under the policy. */
  update(
    id: string,
    patch: TrustPolicyUpdate,
    options?: CallOptions & Precondition,
  ): Promise<TrustPolicy>
  /** Ends the API keys that were exchanged under the policy. */
  delete(id: string, options?: CallOptions & Precondition): Promise<void>
  /** Explains why the policy accepts a token or not. Nothing is issued or stored. */
  check(id: string, token: string, options?: CallOptions): Promise<TrustPolicyCheck>
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
  /** Only by id: a name can change, an issuer must not. */
  discovery(projectId: string, options?: CallOptions): Promise<Discovery>
}
