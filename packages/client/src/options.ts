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
   * Returns the token that a platform gives its workloads, a JWT; not used beside `apiKey`. The client
   * exchanges it for an API key of minutes when it first needs one, again before that expires, and
   * once more if the service rejects it.
   */
  credentials?: (() => string | Promise<string>) | undefined
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
 * Options of every operation.
 *
 * @example
 * await client.projects.get('payments', { signal: AbortSignal.timeout(2_000) })
 */
export type CallOptions = {
  /** Aborts the operation, also while it waits for a retry, with the error `aborted`. */
  signal?: AbortSignal
  /** In place of the client's `retries`. */
  retries?: number
}

/**
 * The `ETag` of the state that a change applies to; any other state fails with `precondition_failed`.
 *
 * @example
 * await client.keys.update('payments', kid, { active: false }, { ifMatch: etag })
 */
export type Precondition = { ifMatch?: string }

/**
 * Permits a change that takes access from the caller, which otherwise fails with `own_access`.
 *
 * @example
 * await client.apiKeys.delete(id, { confirm: 'self' })
 */
export type Confirmation = { confirm?: 'self' }
