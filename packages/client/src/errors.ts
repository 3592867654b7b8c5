import type { Problem, ServiceErrorCode } from './types.ts'

/**
 * The codes of errors that the client itself detects.
 *
 * - `unreachable`: no response, or the connection was lost before its end.
 * - `timeout`: no complete response within `timeout`.
 * - `aborted`: your `signal` was aborted.
 * - `unexpected_response`: a response that is not from Pubring, such as a redirect or a web page.
 * - `invalid_url`, `invalid_api_key_text`: the option cannot be used; nothing was sent.
 * - `token_unavailable`: the function in `credentials` failed, or returned no JWT; nothing was sent.
 * - `token_refused`: the service did not exchange the token for an API key.
 * - `temporarily_unavailable`, `server_error`: the service could not exchange a token now (RFC 6749).
 * - `invalid_path`: a project, key or API key id that is empty or a dot segment; nothing was sent.
 */
export type ClientErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'aborted'
  | 'unexpected_response'
  | 'invalid_url'
  | 'invalid_api_key_text'
  | 'token_unavailable'
  | 'token_refused'
  | 'temporarily_unavailable'
  | 'server_error'
  | 'invalid_path'

/** Every `code` of a `PubringError`. A later release of the service may have others. */
export type PubringErrorCode = ClientErrorCode | ServiceErrorCode

/** The optional members of a `PubringError`. */
type PubringErrorDetails = {
  status?: number
  problem?: Problem
  retryAfter?: number
  requestId?: string
  cause?: unknown
}

/**
 * The only error class of the client. `message` tells a person what is wrong and what to do; `code`
 * is for programs. Neither contains an API key, a token or key material.
 *
 * @example
 * try {
 *   await client.keys.delete('payments', kid)
 * } catch (error) {
 *   if (error instanceof PubringError && error.code === 'key_active') await deactivate(kid)
 *   else throw error
 * }
 */
export class PubringError extends Error {
  override readonly name = 'PubringError'
  readonly code: PubringErrorCode
  /** The HTTP status, if there was a response. */
  readonly status?: number
  /** The problem details of the response (RFC 9457). */
  readonly problem?: Problem
  /** Seconds to wait before the next attempt (`Retry-After`). */
  readonly retryAfter?: number
  /** `X-Request-Id` of the response, to find the request in the service's log. */
  readonly requestId?: string

  constructor(
    code: PubringErrorCode,
    message: string,
    { cause, ...members }: PubringErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    Object.assign(this, members)
  }
}
