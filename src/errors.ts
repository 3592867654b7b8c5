/**
 * Every error that a caller can meet: one stable code per cause, with its HTTP status and title
 * (RFC 9457). The `detail` is written where the error is thrown, for the case at hand; `advice` is
 * what is to be done in general, as Markdown, for the pages that explain the codes.
 */
export const errorTable = {
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON',
    advice: 'Send one JSON object in UTF-8. The detail says at which place reading it ended.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    advice:
      'Look at `errors`: each entry points at one member (`pointer`) or query parameter (`parameter`) and says what it must be.',
  },
  invalid_key_pem: {
    status: 400,
    title: 'The public key could not be read',
    advice:
      'Send one public key as PEM, whole and unchanged, such as `openssl pkey -in private.pem -pubout` prints. `errors[0].code` says what was wrong with the text.',
  },
  private_key_submitted: {
    status: 400,
    title: 'A private key was submitted',
    advice:
      'Make a new key pair and register its public half; treat the private key that was sent as leaked. Pubring keeps nothing of it and takes its public half into no project from now on.',
  },
  unsupported_key: {
    status: 400,
    title: 'This kind of key is not supported',
    advice: 'Use RSA, EC on P-256, P-384 or P-521, Ed25519 or ML-DSA.',
  },
  weak_key: {
    status: 400,
    title: 'The key is too weak',
    advice:
      'Make a new key pair with a current tool, such as `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072`, and register that. `errors[0].code` names the weakness.',
  },
  algorithm_mismatch: {
    status: 400,
    title: 'The algorithm does not fit the key',
    advice:
      'Name an `algorithm` that fits the key, the one that your signer writes as `alg`; the detail lists them.',
  },
  compromised_key: {
    status: 400,
    title: 'The key is known to be compromised',
    advice: 'Its private half is known to others. Make a new key pair and register that.',
  },
  import_refused: {
    status: 400,
    title: 'Keys of the import were refused',
    advice:
      'None was registered. Each of `errors` points at a key (`/keys/5/…`) and says what is wrong with it: correct those or leave them out, and send all again.',
  },
  missing_api_key: {
    status: 401,
    title: 'An API key is required',
    advice: 'Send your API key in the header `X-Api-Key`, and nowhere else.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not valid',
    advice:
      'The API key is wrong, revoked or expired, or was not copied whole. Ask whoever made it for another one.',
  },
  insufficient_role: {
    status: 403,
    title: 'The API key may not do this',
    advice:
      'Use an API key with the role that the detail names, or have the role of this one changed.',
  },
  project_not_found: {
    status: 404,
    title: 'There is no such project',
    advice:
      'Compare the name or id; an API key that is bound to another project cannot see this one either.',
  },
  key_not_found: {
    status: 404,
    title: 'There is no such JWT key',
    advice: 'Compare the kid: the project has no such key, or no longer.',
  },
  api_key_not_found: {
    status: 404,
    title: 'There is no such API key',
    advice: 'Compare the id: there is no such API key, or no longer.',
  },
  route_not_found: {
    status: 404,
    title: 'There is no such address',
    advice: 'Compare the address with the description of the API at `/docs`.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed here',
    advice: 'Use one of the methods in the header `Allow`.',
  },
  duplicate_key: {
    status: 409,
    title: 'The key is already registered',
    advice: 'The project has this very key already: use the `kid` that the error names.',
  },
  key_active: {
    status: 409,
    title: 'The key is active',
    advice:
      'Deactivate the key first (`PATCH` with `{"active": false}`), wait until no verifier needs it, then delete it.',
  },
  key_limit_reached: {
    status: 409,
    title: 'The project has as many keys as it may have',
    advice:
      'Delete keys that are no longer used, or have the operator raise `PUBRING_MAX_KEYS_PER_PROJECT`; `limit` is the present value.',
  },
  jwks_too_large: {
    status: 409,
    title: 'The key set would become too large',
    advice:
      'Deactivate keys that are no longer used: many verifiers read no more than `limit` bytes. `PUBRING_MAX_JWKS_BYTES` raises it.',
  },
  project_name_taken: {
    status: 409,
    title: 'The project name is taken',
    advice: 'Choose another name: another project has this one.',
  },
  project_not_empty: {
    status: 409,
    title: 'The project still has keys',
    advice: 'Deactivate and delete its keys first.',
  },
  last_admin_api_key: {
    status: 409,
    title: 'This is the last admin API key',
    advice: 'Make another admin API key first: without one nobody could administer the registry.',
  },
  precondition_failed: {
    status: 412,
    title: 'The resource has changed',
    advice:
      'Read it again, look at what has changed, and repeat the change with the new `ETag` in `If-Match`.',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    advice: 'Send the whole request at once, then repeat it.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    advice: 'Send less: `limit` is how many bytes a body may have.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The media type is not supported',
    advice: 'Send `Content-Type: application/json`.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    advice: 'Wait as many seconds as `Retry-After` says; the header `RateLimit` says what is left.',
  },
  headers_too_large: {
    status: 431,
    title: 'The request headers are too large',
    advice: 'Send fewer or shorter headers.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    advice:
      'Repeat the request; if it fails again, give the operator the `requestId`, under which the log has the cause.',
  },
  storage_unavailable: {
    status: 503,
    title: 'The storage is not available',
    advice:
      'Wait as many seconds as `Retry-After` says, then repeat the request. A change may have taken place: look first.',
  },
  overloaded: {
    status: 503,
    title: 'The service is overloaded',
    advice: 'Wait as many seconds as `Retry-After` says, then repeat the request.',
  },
} as const satisfies Record<string, { status: number; title: string; advice: string }>

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
  /** The limit that was met: of a size, or of a number. */
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
