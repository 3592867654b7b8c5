import type { Problem } from './types.ts'

/**
 * The codes that the client itself gives; every other `code` is the service's.
 *
 * - `unreachable`: no answer came, or it broke off.
 * - `timeout`: no answer within `timeout`.
 * - `aborted`: your `signal` ended it.
 * - `unexpected_response`: an answer that Pubring does not give, such as a redirect or a web page.
 * - `invalid_url`, `invalid_api_key_text`: what was given cannot be used; nothing was sent.
 * - `invalid_path`: a project, key or API key without a usable name; nothing was sent.
 */
export type ClientErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'aborted'
  | 'unexpected_response'
  | 'invalid_url'
  | 'invalid_api_key_text'
  | 'invalid_path'

/** What is known of an error besides its code and its sentence. */
export type PubringErrorDetails = {
  status?: number
  problem?: Problem
  retryAfter?: number
  requestId?: string
  cause?: unknown
}

/**
 * The one error of the client. `message` says what is wrong and what to do, for a person; `code` is
 * for programs. Neither holds an API key, a token or key material.
 *
 * @example
 * try {
 *   await client.keys.delete('payments', kid)
 * } catch (error) {
 *   if (error instanceof PubringError && error.code === 'key_active') await switchOff(kid)
 *   else throw error
 * }
 */
export class PubringError extends Error {
  override readonly name = 'PubringError'
  /** The service's code (RFC 9457 `code`), or one of `ClientErrorCode`. */
  readonly code: string
  /** The HTTP status, where there was an answer. */
  readonly status?: number
  /** The problem details as answered (RFC 9457). */
  readonly problem?: Problem
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfter?: number
  /** `X-Request-Id` of the answer: what to look for in the log of the service. */
  readonly requestId?: string

  constructor(code: string, message: string, details: PubringErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    if (details.status !== undefined) this.status = details.status
    if (details.problem !== undefined) this.problem = details.problem
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter
    if (details.requestId !== undefined) this.requestId = details.requestId
  }
}
