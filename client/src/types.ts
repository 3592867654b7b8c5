import type { Algorithm, JwsAlgorithm } from './algorithms.ts'

export type { Algorithm, JwsAlgorithm } from './algorithms.ts'

/** What an API key may do: `reader` reads, `writer` also changes JWT keys, `admin` changes all. */
export type Role = 'reader' | 'writer' | 'admin'

/** The owner of a set of JWT keys. Times are ISO 8601, UTC, with milliseconds. */
export type Project = {
  id: string
  name: string
  /** Raised by one by every change to the project or to one of its keys. */
  revision: number
  createTime: string
  updateTime: string
}

/** A registered JWT public key. Its `id` is the `kid` of the tokens. */
export type JwtKey = {
  id: string
  projectId: string
  label: string
  algorithm: Algorithm
  /** Canonical SPKI PEM. */
  publicKeyPem: string
  /** Switched on and not expired. */
  active: boolean
  createTime: string
  updateTime: string
  expireTime?: string
}

/** A JWT key with what is known of its material. */
export type JwtKeyWithDetails = JwtKey & {
  details: {
    kty: string
    /** RSA: length of the modulus. */
    bits?: number
    /** EC and OKP: the curve. */
    crv?: string
    jwsAlgorithm: string
    /** RFC 7638, SHA-256, base64url. */
    thumbprint: string
    /** SHA-256 over the SPKI DER, lower-case hex. */
    spkiSha256: string
    /** From then on every verifier that honours the cache headers knows the present state. */
    convergedTime: string
  }
}

/** A key to register. */
export type JwtKeyCreate = {
  /** The label: 1 to 255 code points. */
  name: string
  algorithm: Algorithm
  publicKeyPem: string
  /** `true` where left out. */
  active?: boolean
  expireTime?: string
}

/** A merge patch (RFC 7396): what is left out stays; `null` clears the expiry. */
export type JwtKeyUpdate = { label?: string; active?: boolean; expireTime?: string | null }

/** An API key, without its secret. */
export type ApiKey = {
  id: string
  name: string
  role: Role
  /** The one project it is bound to; absent: all. */
  projectId?: string
  /** The first characters of the secret. */
  prefix: string
  active: boolean
  createTime: string
  expireTime?: string
  lastUseTime?: string
}

/** A new API key with its secret, which is shown this once. */
export type ApiKeyCreated = ApiKey & { apiKey: string }

/** An API key to make; `project` is an id or a name, absent: all projects. */
export type ApiKeyCreate = { name: string; role: Role; project?: string; expireTime?: string }

/** A merge patch (RFC 7396): `null` clears the expiry. */
export type ApiKeyUpdate = {
  name?: string
  role?: Role
  active?: boolean
  expireTime?: string | null
}

/** A ledger event: one change, who made it and when. */
export type Event = {
  /** The number of the event in its ledger. */
  revision: number
  /** Such as `key.updated`. */
  type: string
  time: string
  actor: { apiKeyId?: string; name: string }
  subject: { type: 'project' | 'key' | 'api_key' | 'registry'; id: string }
  changes?: Record<string, { from?: string | number | boolean; to?: string | number | boolean }>
  requestId: string
  hash: string
}

/** One reason to refuse a key, or one thing to know about it. */
export type KeyFinding = { code: string; detail: string }

/** The verdict on a key, without storing anything. */
export type KeyCheck = {
  accepted: boolean
  /** The error code with which registering it would be refused. */
  problem?: string
  faults: KeyFinding[]
  warnings: KeyFinding[]
  /** What was repaired on reading, without loss. */
  normalised: string[]
  key?: {
    kty: string
    bits?: number
    crv?: string
    thumbprint: string
    spkiSha256: string
    /** The values of `algorithm` that fit, the usual one first. */
    algorithms: string[]
  }
  publicKeyPem?: string
}

/** The steps of a token check, in order; it ends with the first that fails. */
export type TokenCheckStep =
  | 'well_formed'
  | 'kid_present'
  | 'kid_known'
  | 'key_active'
  | 'algorithm'
  | 'signature'
  | 'exp'
  | 'nbf'
  | 'iss'
  | 'aud'

/** What the failure of a step is called. */
export type TokenCheckReason =
  | 'malformed_token'
  | 'kid_missing'
  | 'kid_unknown'
  | 'key_inactive'
  | 'algorithm_mismatch'
  | 'signature_invalid'
  | 'token_expired'
  | 'token_not_yet_valid'
  | 'issuer_mismatch'
  | 'audience_mismatch'

/** Why a token would or would not verify. */
export type TokenCheck = {
  valid: boolean
  reason?: TokenCheckReason
  steps: { step: TokenCheckStep; ok: boolean; detail: string }[]
  header?: Record<string, unknown>
  claims?: Record<string, unknown>
  key?: { id: string; label: string; jwsAlgorithm: string; active: boolean }
}

/** One entry of a JWKS (RFC 7517, RFC 7518, RFC 8037, RFC 9964). */
export type Jwk = {
  kty: 'RSA' | 'EC' | 'OKP' | 'AKP'
  use: 'sig'
  kid: string
  alg: JwsAlgorithm
  n?: string
  e?: string
  crv?: 'P-256' | 'P-384' | 'P-521' | 'Ed25519'
  x?: string
  y?: string
  pub?: string
}

/** A key set (RFC 7517): the active keys, oldest first. */
export type Jwks = { keys: Jwk[] }

/** What verifiers need to find the keys (OpenID Connect Discovery 1.0). */
export type Discovery = {
  issuer: string
  jwks_uri: string
  response_types_supported: string[]
  subject_types_supported: string[]
  id_token_signing_alg_values_supported: JwsAlgorithm[]
}

/** RFC 9457 problem details, as every error of the service answers. */
export type Problem = {
  type: string
  title: string
  status: number
  detail: string
  code: string
  requestId: string
  errors?: { pointer?: string; parameter?: string; code: string; detail: string }[]
  kid?: string
  limit?: number
}

/** A key to import. What `JwtKeyCreate` lacks is for an admin alone: a key that comes back home. */
export type KeyImportItem = JwtKeyCreate & {
  /** Kept where given; a kid is never given to different material. */
  kid?: string
  createTime?: string
  updateTime?: string
}

/** Keys to import into one project: all of them or none. */
export type KeyImport = {
  keys: KeyImportItem[]
  /** Only say what would happen. */
  dryRun?: boolean
}

/**
 * What became of each key, in the order given: `present` ones were there already. A refused key
 * refuses all: error `import_refused`, its `errors` pointing at `/keys/INDEX/…`.
 */
export type KeyImportReport = {
  created: number
  present: number
  items: { outcome: 'created' | 'present'; kid: string }[]
  /** How far the import fills the project. */
  room: { keys: Room; jwksBytes: Room }
}

/** How much there was before, is then, and may be. */
export type Room = { before: number; after: number; limit: number }
