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
  JwtKeyWithDetails,
  KeyCheck,
  KeyImport,
  KeyImportReport,
  Project,
  TokenCheck,
} from './types.ts'

/**
 * How a client reaches its service.
 *
 * @example
 * const options: ClientOptions = { url: 'https://keys.example.com', apiKey, timeout: 5_000 }
 */
export type ClientOptions = {
  /** Address of the service: with or without a final slash, a sub-path, a final `/v1`. */
  url: string
  /** Sent as `X-Api-Key`, to `url` alone; white space around it is dropped. */
  apiKey?: string
  /** Milliseconds that one attempt may take, its body included; 30,000 where left out. */
  timeout?: number
  /**
   * Repetitions of what is safe to repeat, after a network fault, a time-out, 429, 502, 503 or 504:
   * with exponential pauses and full jitter, `Retry-After` obeyed up to 30 seconds; 3 where left
   * out. What creates or changes is repeated only where the service says that it did nothing (429,
   * `overloaded`), but for switching off, deletions, and changes with `ifMatch`.
   */
  retries?: number
  /** Used in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Sent as `User-Agent` where the runtime lets one. */
  userAgent?: string
}

/**
 * What every operation takes.
 *
 * @example
 * await client.projects.get('payments', { signal: AbortSignal.timeout(2_000) })
 */
export type CallOptions = {
  /** Ends the operation, its pauses included, with the error `aborted`. */
  signal?: AbortSignal
}

/**
 * The state that a change wants to find: an `ETag`. Another one is the error `precondition_failed`.
 *
 * @example
 * await client.keys.update('payments', kid, { active: false }, { ifMatch: etag })
 */
export type Precondition = { ifMatch?: string }

/**
 * The operations of one service. Projects are named by id or by name. Every operation throws
 * `PubringError` and nothing else.
 *
 * @example
 * const client: Client = createClient({ url, apiKey })
 */
export type Client = {
  /** The address of the service as it is used: ends in `/v1`. */
  url: string
  projects: ProjectOperations
  keys: KeyOperations
  tokens: TokenOperations
  events: EventOperations
  apiKeys: ApiKeyOperations
  jwks: JwksOperations
}

/**
 * Projects: the owners of sets of JWT keys.
 *
 * @example
 * for await (const { name } of client.projects.all()) console.log(name)
 */
export type ProjectOperations = {
  /** One page, in order of creation; `next` is the `after` of the next one, where there is one. */
  list(
    options?: CallOptions & { limit?: number; after?: string },
  ): Promise<{ items: Project[]; next?: string }>
  /** All that the API key may see, page by page. */
  all(options?: CallOptions): AsyncIterable<Project>
  get(project: string, options?: CallOptions): Promise<Project>
  /** Not repeated after an unclear failure; a second one says `project_name_taken`. */
  create(body: { name: string }, options?: CallOptions): Promise<Project>
  /** The id stays, and with it the issuer. */
  rename(project: string, name: string, options?: CallOptions): Promise<Project>
  /** Refused with `project_not_empty` while it has keys. */
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
  /** All keys in one array, oldest first; with `active: true` the active ones alone. */
  list(project: string, options?: CallOptions & { active?: boolean }): Promise<JwtKey[]>
  get(project: string, kid: string, options?: CallOptions): Promise<JwtKeyWithDetails>
  /**
   * Registers a key and answers its `kid`. Not repeated after an unclear failure; a second one says
   * `duplicate_key` and names the `kid` (`error.problem.kid`).
   */
  create(project: string, body: JwtKeyCreate, options?: CallOptions): Promise<{ kid: string }>
  /** Changes what the patch holds, and answers the key as it is then. */
  update(
    project: string,
    kid: string,
    patch: JwtKeyUpdate,
    options?: CallOptions & Precondition,
  ): Promise<JwtKeyWithDetails>
  /** Refused with `key_active` while the key is active. */
  delete(project: string, kid: string, options?: CallOptions & Precondition): Promise<void>
  /** All of the keys or none. To run it again is safe: what is there already is `present`. */
  import(project: string, body: KeyImport, options?: CallOptions): Promise<KeyImportReport>
  /** What registering the key would say. Nothing is stored. */
  check(
    body: { publicKeyPem: string; algorithm?: Algorithm },
    options?: CallOptions,
  ): Promise<KeyCheck>
}

/**
 * Tokens: why one verifies or not.
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
}

/**
 * The ledger of a project; with `project` left out, that of the system.
 *
 * @example
 * for await (const { revision, type, subject } of client.events.follow({ project: 'payments' })) {
 *   console.log(revision, type, subject.id)
 * }
 */
export type EventOperations = {
  /** Events after the revision `after` (0 where left out), `limit` of them at most (1 to 200). */
  list(
    options?: CallOptions & { project?: string; after?: number; limit?: number },
  ): Promise<Event[]>
  /**
   * The events after `after`, then each one as it happens: in order, without a gap, across cut
   * connections and restarts of the service. Ends after `project.deleted`. Throws where the first
   * connection fails, where the service refuses, and when `signal` is aborted.
   */
  follow(options?: CallOptions & { project?: string; after?: number }): AsyncIterable<Event>
}

/**
 * API keys: who may call the service.
 *
 * @example
 * const { apiKey } = await client.apiKeys.create({ name: 'deploy', role: 'writer', project: 'payments' })
 */
export type ApiKeyOperations = {
  /** All that the API key may see, oldest first; no secrets. */
  list(options?: CallOptions): Promise<ApiKey[]>
  get(id: string, options?: CallOptions): Promise<ApiKey>
  /** The API key that asks. */
  self(options?: CallOptions): Promise<ApiKey>
  /** Its secret is in this answer and nowhere else. Not repeated after an unclear failure. */
  create(body: ApiKeyCreate, options?: CallOptions): Promise<ApiKeyCreated>
  update(id: string, patch: ApiKeyUpdate, options?: CallOptions): Promise<ApiKey>
  /** For good, and from the next request on. */
  delete(id: string, options?: CallOptions): Promise<void>
}

/**
 * What is published for verifiers. Neither needs an API key, and none is sent.
 *
 * @example
 * const { issuer } = await client.jwks.discovery(project.id)
 */
export type JwksOperations = {
  /** The active keys (RFC 7517). To verify tokens, take `@pubring/client/verify`. */
  get(project: string, options?: CallOptions): Promise<Jwks>
  /** By id alone: names change, issuers must not. */
  discovery(projectId: string, options?: CallOptions): Promise<Discovery>
}
