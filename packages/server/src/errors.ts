import type { Problem } from './kernel/contract.ts'

/**
 * Every error of the API: one stable code per cause, with its HTTP status and title (RFC 9457). The
 * call site writes the `detail`. `advice` is Markdown for the documentation. Long because it is a list.
 */
export const errorTable = {
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON',
    advice: 'Send one JSON object in UTF-8. The detail says where parsing failed.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is invalid',
    advice:
      'See `errors`: each entry names a member of the body (`pointer`) or a query parameter (`parameter`) and says what it must be.',
  },
  invalid_key_pem: {
    status: 400,
    title: 'The public key cannot be parsed',
    advice:
      'Send one complete, unchanged public key as PEM, such as the output of `openssl pkey -in private.pem -pubout`.',
  },
  private_key_submitted: {
    status: 400,
    title: 'A private key was submitted',
    advice:
      'Treat it as compromised: generate a new pair and register only its public key. Pubring does not store the private key, and no longer accepts its public key in any project.',
  },
  unsupported_key: {
    status: 400,
    title: 'The key type is not supported',
    advice: 'Use RSA, EC on P-256, P-384 or P-521, Ed25519 or ML-DSA.',
  },
  weak_key: {
    status: 400,
    title: 'The key is too weak',
    advice:
      'Generate a new pair with a current tool, such as `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072`.',
  },
  algorithm_mismatch: {
    status: 400,
    title: 'The algorithm does not match the key',
    advice:
      'Set `algorithm` to the `alg` of the tokens that the key signs; the detail lists those that match the key.',
  },
  compromised_key: {
    status: 400,
    title: 'The key is compromised',
    advice: 'Its private key was published or exposed. Generate a new pair.',
  },
  invalid_proof: {
    status: 400,
    title: 'The proof is invalid',
    advice:
      'Sign a new token with the private key of the JWT key. The detail says which part of it is wrong.',
  },
  import_refused: {
    status: 400,
    title: 'The import was rejected',
    advice:
      'No key was registered. Each entry of `errors` points to a key (`/keys/5/…`). Correct or remove these keys and send the import again.',
  },
  missing_api_key: {
    status: 401,
    title: 'An API key is required',
    advice: 'Send your API key in the `X-Api-Key` header.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is invalid',
    advice:
      'The API key is unknown, revoked, expired or incomplete. Ask your administrator for a new one.',
  },
  invalid_session: {
    status: 401,
    title: 'The session has ended',
    advice:
      'Sign in again. Sessions end when they are not used, after some hours, when their holder or an administrator ends them, and when no access rule gives the person a role any more.',
  },
  sign_in_failed: {
    status: 400,
    title: 'The sign-in failed',
    advice: 'Begin again from the console. If it fails again, the log of the server has the cause.',
  },
  sign_in_unavailable: {
    status: 503,
    title: 'The OpenID provider is unavailable',
    advice: 'Try again later. Sessions go on; in an emergency, sign in with an API key.',
  },
  insufficient_role: {
    status: 403,
    title: 'The caller may not do this',
    advice:
      'Use an API key with the role that the detail names, or ask your administrator for that role.',
  },
  recent_sign_in_required: {
    status: 403,
    title: 'A recent sign-in is required',
    advice:
      'Sign in again and repeat the request: a session that was left open is not enough for it.',
  },
  cross_site_request: {
    status: 403,
    title: 'The request comes from another site',
    advice:
      'A session is accepted only from pages of this server. Open the console at the address that the detail names, or use an API key.',
  },
  insufficient_lifetime: {
    status: 403,
    title: 'The API key expires too soon for this operation',
    advice:
      'An API key that expires cannot change its own `expireTime`, nor give rights that outlive it. Send an `expireTime` no later than its own, or use an admin API key that does not expire.',
  },
  key_not_vouched: {
    status: 403,
    title: 'The API key does not permit this key',
    advice:
      'An API key that was exchanged for a rotation token registers, once, the key that the token names in `cnf.jkt`. Exchange a token that names this key.',
  },
  project_not_found: {
    status: 404,
    title: 'The project does not exist',
    advice: 'Check the name or id. An API key that is bound to one project cannot see others.',
  },
  key_not_found: {
    status: 404,
    title: 'The JWT key does not exist',
    advice: 'The key may have been deleted.',
  },
  rotation_not_found: {
    status: 404,
    title: 'The rotation does not exist',
    advice: 'Check the id and the project.',
  },
  reporter_not_found: {
    status: 404,
    title: 'The reporter does not exist',
    advice: 'Check the name and the project.',
  },
  api_key_not_found: {
    status: 404,
    title: 'The API key does not exist',
    advice: 'The API key may have been deleted.',
  },
  not_logged: {
    status: 404,
    title: 'The log does not have this',
    advice:
      'A new event is in the log after its next checkpoint, within a minute by default; an admin API key for all projects can request one.',
  },
  session_not_found: {
    status: 404,
    title: 'The session does not exist',
    advice: 'The session may have ended.',
  },
  person_not_found: {
    status: 404,
    title: 'The person does not exist',
    advice: 'The person may have been deleted.',
  },
  link_not_found: {
    status: 404,
    title: 'There is no such registration link',
    advice:
      'The link is unknown, was opened in another browser, has expired or was revoked. Ask the person who sent it for a new one.',
  },
  access_rule_not_found: {
    status: 404,
    title: 'The access rule does not exist',
    advice: 'The access rule may have been deleted.',
  },
  route_not_found: {
    status: 404,
    title: 'The path does not exist',
    advice: 'Compare the path with the API reference at `/docs`.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed',
    advice: 'Use one of the methods in the `Allow` header.',
  },
  history_changed: {
    status: 409,
    title: 'The ledger has another history',
    advice:
      'The event of `after` is not in the ledger: the database was restored, or a fail-over has lost changes. Start again without `after`.',
  },
  duplicate_key: {
    status: 409,
    title: 'The key is already registered',
    advice: 'Use its `kid`, which the error contains.',
  },
  key_active: {
    status: 409,
    title: 'The key is active',
    advice:
      'Deactivate it (`PATCH` with `{"active": false}`), wait until no verifier needs it, then delete it.',
  },
  key_compromised: {
    status: 409,
    title: 'The key is compromised',
    advice:
      'Others know its private key, so it is never activated again, and its end is not put off. Register a key of a new pair.',
  },
  key_inactive: {
    status: 409,
    title: 'The key is inactive',
    advice:
      'A rotation replaces an active key by another active one. Activate it (`PATCH` with `{"active": true}`), or name another one.',
  },
  rotation_exists: {
    status: 409,
    title: 'The key is already being replaced',
    advice: 'Go on with the rotation under way (`GET …/rotations`), or abandon it first.',
  },
  rotation_not_ready: {
    status: 409,
    title: 'The new key cannot take over yet',
    advice:
      'Wait until the `convergedTime` of the new key. If it has none, activate it, or clear its `expireTime`; if it is compromised, abandon the rotation, and start one to a key of a new pair. In an emergency, deactivate the old key itself.',
  },
  rotation_ended: {
    status: 409,
    title: 'The rotation has ended',
    advice:
      'To change the end of the old key, change its `expireTime`. To replace another key, start another rotation.',
  },
  key_limit_reached: {
    status: 409,
    title: 'The project or the registration link has reached its key limit',
    advice:
      'Delete keys that are no longer used, or ask the operator to raise `PUBRING_MAX_KEYS_PER_PROJECT`. A registration link brings few keys before somebody activates them. `limit` is the current value.',
  },
  api_key_limit_reached: {
    status: 409,
    title: 'The project has too many API keys',
    advice:
      'Revoke API keys that have expired or are not used. `limit` is the most of one project.',
  },
  link_limit_reached: {
    status: 409,
    title: 'The project has too many open registration links',
    advice:
      'Delete links, or wait until some are opened or expire. `limit` is the most that may be open at once.',
  },
  jwks_too_large: {
    status: 409,
    title: 'The key set would be too large',
    advice:
      'Deactivate keys that are no longer used: many verifiers read at most `limit` bytes. `PUBRING_MAX_JWKS_BYTES` raises the limit.',
  },
  project_id_taken: {
    status: 409,
    title: 'The project id is taken',
    advice: 'A ledger of this id exists, even if its project was deleted. Leave `id` out.',
  },
  project_name_taken: {
    status: 409,
    title: 'The project name is taken',
    advice:
      'Choose another name. One that another project gave up is free at `heldUntil`; `release=true` takes it at once.',
  },
  project_not_empty: {
    status: 409,
    title: 'The project has keys',
    advice: 'Deactivate and delete its keys first.',
  },
  reporter_taken: {
    status: 409,
    title: 'The name of the reporter is taken',
    advice:
      'It belongs to the API key or workload that used it first. Choose another one, or have a writer remove the reporter (`DELETE …/key-uses/{reporter}`).',
  },
  reporter_limit_reached: {
    status: 409,
    title: 'The project or its caller has too many reporters',
    advice:
      'Let several verifiers report under one name, or give them API keys of their own. Remove those that are gone (`DELETE …/key-uses/{reporter}`).',
  },
  last_admin: {
    status: 409,
    title: 'This is the last permanent admin',
    advice:
      'First create an admin API key without project and `expireTime`; or an access rule that gives people the role `admin` for all projects, and sign in by it: it counts for 30 days.',
  },
  own_access: {
    status: 409,
    title: 'The change takes your own access',
    advice:
      'It would end, weaken or narrow the API key, session or access rule by which you ask. To make it all the same, repeat the request with `?confirm=self`; the command line asks first.',
  },
  precondition_failed: {
    status: 412,
    title: 'The resource has changed',
    advice: 'Read it again, and repeat the change with the new `ETag` in `If-Match`.',
  },
  request_timeout: {
    status: 408,
    title: 'The request timed out',
    advice: 'Send the whole request without pauses.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    advice: 'Send at most `limit` bytes.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The media type is not supported',
    advice: 'Send `Content-Type: application/json`.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    advice:
      'Wait the number of seconds in `Retry-After`. A `RateLimit` header says how many requests remain; without one, send fewer keys at a time.',
  },
  log_ended: {
    status: 410,
    title: 'This log was restarted with another key',
    advice:
      'It goes on at `next`, with another verifier key, since `endTime`. Ask the operator why: proofs from before stay valid, and the last checkpoint shows what the log had.',
  },
  log_stopped: {
    status: 409,
    title: 'This server cannot extend the log',
    advice: 'Only the operator can help: the detail says why, and what to do.',
  },
  headers_too_large: {
    status: 431,
    title: 'The request headers are too large',
    advice: 'Send fewer or shorter headers.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    advice:
      'Repeat the request. If it fails again, report the `requestId` to the operator: the log has the cause under it.',
  },
  unsupported_transfer_encoding: {
    status: 501,
    title: 'The transfer coding is not supported',
    advice:
      'Send the body without compression, with `Transfer-Encoding: chunked` or `Content-Length`.',
  },
  storage_unavailable: {
    status: 503,
    title: 'The database is unavailable',
    advice:
      'Wait the number of seconds in `Retry-After`. A change may have been made: check before you repeat it.',
  },
  overloaded: {
    status: 503,
    title: 'The service is overloaded',
    advice: 'Wait the number of seconds in `Retry-After`, then repeat the request.',
  },
} as const satisfies Record<string, { status: number; title: string; advice: string }>

export type ErrorCode = keyof typeof errorTable

/** An invalid member of the body or parameter of the query. */
export type FieldError = NonNullable<Problem['errors']>[number]

/** Additional members of an error response. */
export interface ErrorExtras
  extends Pick<Problem, 'errors' | 'kid' | 'limit' | 'heldUntil' | 'endTime' | 'next'> {
  /** Seconds; becomes `Retry-After`. */
  retryAfter?: number
  /** `method_not_allowed`: the allowed methods. */
  allow?: string[]
}

/**
 * The one error class. `code` determines status and title. `message` is the `detail` that the caller
 * reads, so it holds no submitted text, path, SQL or driver message. `cause` is for the log.
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

/** The details of several faults as one text, with a line break after each that ends in a command. */
export function joinDetails(details: readonly string[]): string {
  return details
    .map((each) => (/[.?!]$/.test(each) ? `${each} ` : `${each}\n`))
    .join('')
    .trim()
}

/** The error of a request with one invalid field. */
export function invalidField(
  pointer: string,
  code: string,
  detail: string,
  problem: ErrorCode = 'invalid_request',
): PubringError {
  return new PubringError(problem, detail, { errors: [{ pointer, code, detail }] })
}

/**
 * The message of the innermost cause, which says most. A worker thread passes the cause of its error
 * as text.
 */
export function describeCause(cause: unknown): string | undefined {
  if (cause === undefined) return undefined
  if (!(cause instanceof Error)) return String(cause)
  // An attempt to connect to all addresses of a name fails without a message.
  return describeCause(cause.cause) ?? (cause.message || String(Reflect.get(cause, 'code')))
}
