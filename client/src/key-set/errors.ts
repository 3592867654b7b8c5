/**
 * Why a key set gives no key for a token:
 *
 * - `kid_missing`: the token names no key.
 * - `kid_unknown`: no active key of the project has this `kid`; it may have been deactivated.
 * - `algorithm_mismatch`: the token's `alg` is not the one that the key verifies.
 * - `algorithm_unsupported`: this runtime's WebCrypto lacks the algorithm of the key.
 * - `key_set_stale`: without contact for longer than `maxStale`, so nothing is trusted.
 * - `key_set_unavailable`: the key set could not be loaded, or is closed.
 * - `invalid_address`: what was given is neither an issuer nor the address of a key set.
 * - `invalid_option`: an option has a value that it cannot have.
 *
 * The first three are the token's fault (answer 401), the others are not (answer 503).
 */
export type KeySetErrorCode =
  | 'kid_missing'
  | 'kid_unknown'
  | 'algorithm_mismatch'
  | 'algorithm_unsupported'
  | 'key_set_stale'
  | 'key_set_unavailable'
  | 'invalid_address'
  | 'invalid_option'

/**
 * The one error of a key set; jose's `jwtVerify` passes it on as it is.
 *
 * @example
 * const tokenIsAtFault = ['kid_missing', 'kid_unknown', 'algorithm_mismatch']
 * const status = error instanceof KeySetError && !tokenIsAtFault.includes(error.code) ? 503 : 401
 */
export class KeySetError extends Error {
  override readonly name = 'KeySetError'
  readonly code: KeySetErrorCode
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfter?: number

  constructor(
    code: KeySetErrorCode,
    message: string,
    { cause, retryAfter }: { cause?: unknown; retryAfter?: number | undefined } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    if (retryAfter !== undefined) this.retryAfter = retryAfter
  }
}
