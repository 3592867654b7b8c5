/**
 * Why the key set has no key for a token:
 *
 * - `kid_missing`: the token has no `kid`.
 * - `kid_unknown`: no active key of the project has this `kid`; it may have been deactivated.
 * - `algorithm_mismatch`: the token's `alg` is not the one that the key verifies.
 * - `algorithm_unsupported`: this runtime's WebCrypto does not support the key's algorithm.
 * - `key_set_stale`: no contact for longer than `maxStale`, so no key is trusted.
 * - `key_set_disproved`: the key set is not the one that the log has proven, or older (option `log`).
 * - `key_set_unproven`: the log has not proven the key yet, or nothing recently (option `log`).
 * - `key_set_history_changed`: the server has lost events that this process knows of, as by the restore of
 *   a backup.
 * - `key_set_unavailable`: the key set could not be loaded, or is closed.
 * - `invalid_address`: the address is neither an issuer nor a JWKS URL.
 * - `invalid_option`: an option has an invalid value.
 *
 * The first three are faults of the token (respond with 401), the others are not (503).
 */
export type KeySetErrorCode =
  | 'kid_missing'
  | 'kid_unknown'
  | 'algorithm_mismatch'
  | 'algorithm_unsupported'
  | 'key_set_stale'
  | 'key_set_disproved'
  | 'key_set_unproven'
  | 'key_set_history_changed'
  | 'key_set_unavailable'
  | 'invalid_address'
  | 'invalid_option'

/**
 * The only error class of a key set; jose's `jwtVerify` rethrows it unchanged.
 *
 * @example
 * const tokenIsAtFault = ['kid_missing', 'kid_unknown', 'algorithm_mismatch']
 * const status = error instanceof KeySetError && !tokenIsAtFault.includes(error.code) ? 503 : 401
 */
export class KeySetError extends Error {
  override readonly name = 'KeySetError'
  readonly code: KeySetErrorCode
  /** Seconds to wait before the next attempt (`Retry-After`). */
  readonly retryAfter?: number
  /** The HTTP status, if a response was the reason. */
  readonly status?: number

  constructor(
    code: KeySetErrorCode,
    message: string,
    {
      cause,
      ...members
    }: { cause?: unknown; retryAfter?: number | undefined; status?: number } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    Object.assign(this, members)
  }
}
