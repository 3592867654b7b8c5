// Generated from src/contract by npm run generate.

/** All values of `Algorithm`. */
export const algorithms = [
  'RSA',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'ML-DSA-44',
  'ML-DSA-65',
  'ML-DSA-87',
] as const

/** The `algorithm` of a key. `RSA` means RS256; every other value is a JWS `alg`. */
export type Algorithm =
  | 'RSA'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'Ed25519'
  | 'ML-DSA-44'
  | 'ML-DSA-65'
  | 'ML-DSA-87'

/** A JWS `alg`, as in the JWKS and in the header of a token. */
export type JwsAlgorithm =
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'Ed25519'
  | 'ML-DSA-44'
  | 'ML-DSA-65'
  | 'ML-DSA-87'

/** The role of an API key, from weak to strong. */
export type Role = 'reader' | 'writer' | 'admin'

/** A project: the owner of a set of JWT keys. */
export type Project = {
  id: string
  name: string
  /** Raised by one by every change to the project or to one of its keys. */
  revision: number
  createTime: string
  updateTime: string
}

/** A registered JWT public key. */
export type JwtKey = {
  id: string
  projectId: string
  label: string
  /** What tokens signed with this key carry as `alg`; `RSA` means RS256. It must fit the key. */
  algorithm: Algorithm
  /** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF. */
  publicKeyPem: string
  /** Switched on and not expired. */
  active: boolean
  createTime: string
  updateTime: string
  expireTime?: string
}

/** A JWT key with what is known of its material. */
export type JwtKeyWithDetails = {
  id: string
  projectId: string
  label: string
  /** What tokens signed with this key carry as `alg`; `RSA` means RS256. It must fit the key. */
  algorithm: Algorithm
  /** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF. */
  publicKeyPem: string
  /** Switched on and not expired. */
  active: boolean
  createTime: string
  updateTime: string
  expireTime?: string
  details: {
    kty: string
    /** RSA: length of the modulus. */
    bits?: number
    /** EC and OKP: the curve, such as `P-256`. */
    crv?: string
    jwsAlgorithm: string
    /** RFC 7638, SHA-256, base64url. */
    thumbprint: string
    /** SHA-256 over the SPKI DER, lower-case hex. */
    spkiSha256: string
    /** From then on every verifier that honours the cache headers knows the present state: sign with a new key after it, delete an old one after it. */
    convergedTime: string
  }
}

/** A key to register. */
export type JwtKeyCreate = {
  /** The label: 1 to 255 code points, free text. Required (as `name` or as `label`). */
  name: string
  /** What tokens signed with this key carry as `alg`; `RSA` means RS256. It must fit the key. */
  algorithm: Algorithm
  /** One public key as PEM (`-----BEGIN PUBLIC KEY-----`). */
  publicKeyPem: string
  /** Default: `true`. */
  active?: boolean
  expireTime?: string
}

/** A merge patch (RFC 7396). */
export type JwtKeyUpdate = {
  /** 1 to 255 code points, free text. */
  label?: string
  active?: boolean
  /** `null` clears it. */
  expireTime?: string | null
}

/** An API key. */
export type ApiKey = {
  id: string
  name: string
  /** `reader` reads, `writer` also changes JWT keys, `admin` changes everything. */
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

/** A new API key with its secret. */
export type ApiKeyCreated = {
  id: string
  name: string
  /** `reader` reads, `writer` also changes JWT keys, `admin` changes everything. */
  role: Role
  /** The one project it is bound to; absent: all. */
  projectId?: string
  /** The first characters of the secret. */
  prefix: string
  active: boolean
  createTime: string
  expireTime?: string
  lastUseTime?: string
  /** The secret, for the `X-Api-Key` header. It is shown this once. */
  apiKey: string
}

/** An API key to create. */
export type ApiKeyCreate = {
  /** 1 to 255 code points. */
  name: string
  /** `reader` reads, `writer` also changes JWT keys, `admin` changes everything. */
  role: Role
  /** Id or name of the one project to bind the API key to; absent: all. */
  project?: string
  expireTime?: string
}

/** A merge patch (RFC 7396). */
export type ApiKeyUpdate = {
  name?: string
  /** `reader` reads, `writer` also changes JWT keys, `admin` changes everything. */
  role?: Role
  active?: boolean
  /** `null` clears it. */
  expireTime?: string | null
}

/** A ledger event: one change, who made it and when. */
export type Event = {
  /** The number of the event in its ledger. */
  revision: number
  type: string
  time: string
  /** The API key that asked for it; without an id, Pubring itself or a command run at the server. */
  actor: {
    apiKeyId?: string
    name: string
  }
  subject: {
    type: 'project' | 'key' | 'api_key' | 'registry'
    id: string
  }
  /** Member by member; without `from` there was none, without `to` there is none. */
  changes?: Record<
    string,
    {
      from?: string | number | boolean
      to?: string | number | boolean
    }
  >
  requestId: string
  /** SHA-256 over the previous event's hash and this event's content: `pubring ledger verify` walks the chain. */
  hash: string
}

/** A reason to reject a key, or a warning about it. */
export type KeyFinding = {
  code: string
  /** What was found, what is wanted and what to do. */
  detail: string
}

/** The verdict on a key, without storing anything. */
export type KeyCheck = {
  /** Whether registering it would succeed as far as the key decides. */
  accepted: boolean
  /** The `code` with which registering it would be refused. */
  problem?: string
  /** Every reason to refuse it; the first decides. */
  faults: KeyFinding[]
  warnings: KeyFinding[]
  /** What was repaired on reading, without loss. */
  normalised: string[]
  /** What was recognised, where the key could be read. */
  key?: {
    kty: string
    bits?: number
    crv?: string
    thumbprint: string
    spkiSha256: string
    /** The values of `algorithm` that fit, the usual one first. */
    algorithms: string[]
  }
  /** An accepted key as it would be stored. */
  publicKeyPem?: string
}

/** The steps of a token check, in order. */
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

/** Why a token does not verify. */
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
  /** Whether a verifier that allows no leeway for clocks would take the token now. */
  valid: boolean
  /** Why it would not: what the failure of the last step is called. */
  reason?: TokenCheckReason
  /** The steps in order, up to the first that failed. */
  steps: {
    step: TokenCheckStep
    ok: boolean
    detail: string
  }[]
  /** The header, where it could be read; nothing in it is proved. */
  header?: Record<string, unknown>
  /** The claims, where they could be read; proved only where `signature` is ok. */
  claims?: Record<string, unknown>
  /** The key of the project that the `kid` names. */
  key?: {
    id: string
    label: string
    jwsAlgorithm: string
    active: boolean
  }
}

/** A key of a JWKS (RFC 7517). */
export type Jwk = {
  kty: 'RSA' | 'EC' | 'OKP' | 'AKP'
  use: 'sig'
  kid: string
  /** RSA: the modulus, without leading zero octets. */
  n?: string
  /** RSA: the public exponent. */
  e?: string
  crv?: 'P-256' | 'P-384' | 'P-521' | 'Ed25519'
  /** EC: the coordinate in its full length. OKP: the public key. */
  x?: string
  /** EC: the coordinate in its full length. */
  y?: string
  /** AKP (ML-DSA): the public key. */
  pub?: string
  /** The one algorithm that the key verifies. */
  alg: JwsAlgorithm
}

/** The key set (RFC 7517): the active keys, oldest first. Empty where none is. */
export type Jwks = {
  keys: Jwk[]
}

/** What verifiers need to find the keys (OpenID Connect Discovery 1.0). */
export type Discovery = {
  /** The `iss` of the tokens: the address of the project, by its id. */
  issuer: string
  jwks_uri: string
  response_types_supported: string[]
  subject_types_supported: string[]
  /** The algorithms of the active keys, and RS256, which the standard demands. */
  id_token_signing_alg_values_supported: JwsAlgorithm[]
}

/** An error (RFC 9457). */
export type Problem = {
  /** Address of the page about this code. */
  type: string
  title: string
  status: number
  /** What is wrong and what to do. */
  detail: string
  /** Stable: compare this. */
  code: string
  /** Also in the `X-Request-Id` header and in the log. */
  requestId: string
  errors?: {
    /** JSON pointer (RFC 6901) to the member of the body at fault. */
    pointer?: string
    /** Name of the query parameter at fault. */
    parameter?: string
    code: string
    detail: string
  }[]
  /** `duplicate_key`: the key already there. */
  kid?: string
  /** The limit that was met. */
  limit?: number
}

/** A key to import. */
export type KeyImportItem = {
  /** The label: 1 to 255 code points. Required (as `name` or as `label`). */
  name: string
  /** What tokens signed with this key carry as `alg`; `RSA` means RS256. It must fit the key. */
  algorithm: Algorithm
  /** One public key as PEM (`-----BEGIN PUBLIC KEY-----`). */
  publicKeyPem: string
  /** Default: `true`. */
  active?: boolean
  /** In the future; with `createTime`, any time after that: a key may come back expired. */
  expireTime?: string
  /** For an admin of all projects: a lower-case UUID (RFC 9562) that the key keeps. It is never given to other material than it once had, in any project, deleted keys included. */
  kid?: string
  /** For an admin of all projects: kept. Not in the future. */
  createTime?: string
  /** For an admin of all projects: kept. Not in the future, not before `createTime`, which it needs. */
  updateTime?: string
}

/** Keys to import into one project: all or none. */
export type KeyImport = {
  /** The keys, in the order of the report. */
  keys: KeyImportItem[]
  /** `true`: the same answer, nothing is stored. Default: `false`. */
  dryRun?: boolean
}

/** A quantity before and after an import, and its limit. */
export type Room = {
  before: number
  after: number
  limit: number
}

/** All keys are registered now. */
export type KeyImportReport = {
  /** Keys that were registered. */
  created: number
  /** Keys that were there already. */
  present: number
  /** What became of each key, in the order given. */
  items: {
    outcome: 'created' | 'present'
    kid: string
  }[]
  /** How far the import fills the project. */
  room: {
    /** Keys that the project has, active or not. */
    keys: Room
    /** Size of its key set. */
    jwksBytes: Room
  }
}
