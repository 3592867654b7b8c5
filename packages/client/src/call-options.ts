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
