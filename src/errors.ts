/**
 * Every error that a caller can meet: one stable code per cause, with its HTTP status and title
 * (RFC 9457). The `detail` is written where the error is thrown, in words that say what to do.
 */
export const errorTable = {
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  invalid_key_pem: { status: 400, title: 'The public key could not be read' },
  private_key_submitted: { status: 400, title: 'A private key was submitted' },
  unsupported_key: { status: 400, title: 'This kind of key is not supported' },
  weak_key: { status: 400, title: 'The key is too weak' },
  algorithm_mismatch: { status: 400, title: 'The algorithm does not fit the key' },
  compromised_key: { status: 400, title: 'The key is known to be compromised' },
  missing_api_key: { status: 401, title: 'An API key is required' },
  invalid_api_key: { status: 401, title: 'The API key is not valid' },
  insufficient_role: { status: 403, title: 'The API key may not do this' },
  project_not_found: { status: 404, title: 'There is no such project' },
  key_not_found: { status: 404, title: 'There is no such JWT key' },
  api_key_not_found: { status: 404, title: 'There is no such API key' },
  route_not_found: { status: 404, title: 'There is no such address' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  duplicate_key: { status: 409, title: 'The key is already registered' },
  key_active: { status: 409, title: 'The key is active' },
  key_limit_reached: { status: 409, title: 'The project has as many keys as it may have' },
  jwks_too_large: { status: 409, title: 'The key set would become too large' },
  project_name_taken: { status: 409, title: 'The project name is taken' },
  project_not_empty: { status: 409, title: 'The project still has keys' },
  last_admin_api_key: { status: 409, title: 'This is the last admin API key' },
  precondition_failed: { status: 412, title: 'The resource has changed' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  storage_unavailable: { status: 503, title: 'The storage is not available' },
  overloaded: { status: 503, title: 'The service is overloaded' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof errorTable

/** One field at fault, by its place in the body or by its name in the query. */
export interface FieldError {
  /** JSON pointer (RFC 6901) into the body; the empty one is the whole body. */
  pointer?: string
  /** Name of the query parameter, where the fault is there. */
  parameter?: string
  code: string
  detail: string
}

/** What an error says beyond its code and sentence. */
export interface ErrorExtras {
  errors?: FieldError[]
  /** `duplicate_key`: the id of the key that is already there. */
  kid?: string
  /** `key_limit_reached`, `jwks_too_large`, `body_too_large`: the limit that was met. */
  limit?: number
  /** Seconds after which a repetition makes sense: becomes `Retry-After`. */
  retryAfter?: number
  /** `method_not_allowed`: the methods that are allowed. */
  allow?: string[]
}

/**
 * The one error class. `code` decides status and title, `message` is the `detail` that the caller
 * reads: no input, path, SQL or driver text in it. The true cause stays in `cause`, for the log.
 */
export class PubringError extends Error {
  override readonly name = 'PubringError'
  readonly code: ErrorCode
  readonly extras: ErrorExtras

  constructor(code: ErrorCode, detail: string, extras: ErrorExtras = {}, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause })
    this.code = code
    this.extras = extras
  }
}

/** A refused request for one field at fault. */
export function invalidField(pointer: string, code: string, detail: string): PubringError {
  return new PubringError('invalid_request', detail, { errors: [{ pointer, code, detail }] })
}
