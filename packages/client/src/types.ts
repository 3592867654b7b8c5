// Generated from the contracts of packages/server by npm run generate.

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
export type Algorithm = (typeof algorithms)[number]

/** A JWS `alg`, as in the JWKS and in the header of a token. */
export type JwsAlgorithm = Exclude<Algorithm, 'RSA'>

/** A role, from weak to strong; `auditor` is beside the others: it reads everything and changes nothing. */
export type Role = 'reader' | 'registrar' | 'writer' | 'admin' | 'auditor'

/** Who created a registration link. */
export type LinkCreator = {
  apiKeyId?: string
  /** A person who signed in. The hash of the event covers this and not `name`. */
  user?: {
    issuer: string
    subject: string
    sessionId: string
  }
  /** The workload that exchanged a token for the API key. */
  workload?: {
    ruleId: string
    issuer: string
    subject: string
  }
}

/** Who requested the change: an API key, a person, a workload, a JWT key that proved itself (`jwtKeyId`) or the holder of a registration link; otherwise Pubring itself or a command on the server. */
export interface Actor extends LinkCreator {
  name: string
  jwtKeyId?: string
  /** The holder of a registration link, whose note is `name`, and who created the link. The hash of the event covers this and not `name`. */
  link?: {
    id: string
    createdBy: LinkCreator
  }
}

/** A project: a named set of JWT keys. */
export type Project = {
  id: string
  name: string
  /** Increases by one with every change to the project or one of its keys. */
  revision: number
  createTime: string
  updateTime: string
}

/** What verifiers have reported of the use of a key. No report never means that the key is unused. */
export type KeyUse = {
  /** All that are counted in `reporters` have reported without a gap since then, and the key exists. */
  since: string
  /** The longest time between two reports of one of them, in seconds. */
  interval: number
  /** The last use that was reported; absent if none was. */
  lastTime?: string
  /** The verifier that reported it. */
  lastReporter?: string
  /** The latest `exp` of the tokens that were seen. */
  lastExp?: string
  /** Verifiers that report. */
  reporters: number
  /** Verifiers whose last report is older than three of their intervals. They may still accept tokens of the key. */
  silent: number
  /** The last report of the one that has been silent for the longest. */
  silentSince?: string
}

/** `compromised`: active, although its private key is known to others: replace and deactivate it. `spreading`: active, but not every verifier knows it yet: do not sign with it. `current`: active and known to every verifier that honors the cache headers. `previous`: active, and another key replaces it by a rotation: do not sign with it any more. `off`: deactivated. `expired`: past its `expireTime`. */
export type KeyState = 'compromised' | 'spreading' | 'current' | 'previous' | 'off' | 'expired'

/** The state of a key. */
export type KeyStateEntry = {
  kid: string
  /** `compromised`: active, although its private key is known to others: replace and deactivate it. `spreading`: active, but not every verifier knows it yet: do not sign with it. `current`: active and known to every verifier that honors the cache headers. `previous`: active, and another key replaces it by a rotation: do not sign with it any more. `off`: deactivated. `expired`: past its `expireTime`. */
  state: KeyState
  /** Why the key has ended or has to. `compromised`: its private key is known to others; it can never be activated again. `superseded`: another key replaces it. */
  endsBecause?: 'compromised' | 'superseded'
  /** While some verifiers may not know the state yet: when all that honor the cache headers do. */
  convergedTime?: string
  /** What verifiers have reported of the use of a key. No report never means that the key is unused. */
  use?: KeyUse
}

/** A registered JWT public key. */
export type JwtKey = {
  id: string
  projectId: string
  /** Free text of 1 to 255 code points, without control and bidirectional formatting characters. White space at either end is removed. */
  label: string
  /** The `alg` of tokens signed with this key; `RSA` means RS256. It must match the key. */
  algorithm: Algorithm
  /** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF. */
  publicKeyPem: string
  /** Whether verifiers trust the key: it is activated and not expired. */
  active: boolean
  createTime: string
  updateTime: string
  expireTime?: string
}

/** A JWT key with details of its key material. */
export interface JwtKeyWithDetails extends JwtKey {
  details: {
    /** `compromised`: active, although its private key is known to others: replace and deactivate it. `spreading`: active, but not every verifier knows it yet: do not sign with it. `current`: active and known to every verifier that honors the cache headers. `previous`: active, and another key replaces it by a rotation: do not sign with it any more. `off`: deactivated. `expired`: past its `expireTime`. */
    state: KeyState
    kty: string
    /** RSA: length of the modulus in bits. */
    bits?: number
    /** EC and OKP: the curve, such as `P-256`. */
    crv?: string
    jwsAlgorithm: string
    /** RFC 7638, SHA-256, base64url. */
    thumbprint: string
    /** SHA-256 over the DER of the public key (SPKI), in lower-case hex: `openssl pkey -pubin -in public.pem -outform DER | openssl dgst -sha256`. */
    spkiSha256: string
    /** From this time on, every verifier that honors the cache headers knows the current state of the key. Sign with a new key, or delete an old one, only after this time. */
    convergedTime: string
    /** The `kid` of the key in the JWKS and in the header of its tokens, if that is not its id: 1 to 255 characters of `A-Z a-z 0-9 . _ ~ : / + = @ # -`. It cannot be changed, and never names another key of the project, even after this one is deleted. */
    publishedKid?: string
    /** Id of the key that vouched for it; or `link:` and the id of the registration link that it came through. */
    introducedBy?: string
    /** When and why the key ended; absent while it is active. */
    ended?: {
      /** Absent if the key was never active. */
      time?: string
      /** `superseded`: another key replaces it. `compromised`: others know its private key, so it is never activated again. `unspecified`: any other reason. */
      reason: 'unspecified' | 'superseded' | 'compromised'
    }
    /** What verifiers have reported of the use of a key. No report never means that the key is unused. */
    use?: KeyUse
  }
}

/** A key to register. */
export type JwtKeyCreate = {
  /** Free text of 1 to 255 code points, without control and bidirectional formatting characters. White space at either end is removed. */
  name: string
  /** The `alg` of tokens signed with this key; `RSA` means RS256. It must match the key. */
  algorithm: Algorithm
  /** One public key: PEM (`-----BEGIN PUBLIC KEY-----`), or the JSON that the tool of a key management service prints. */
  publicKeyPem: string
  /** Default: `true`. */
  active?: boolean
  expireTime?: string
  /** The `kid` of the key in the JWKS and in the header of its tokens, if that is not its id: 1 to 255 characters of `A-Z a-z 0-9 . _ ~ : / + = @ # -`. It cannot be changed, and never names another key of the project, even after this one is deleted. */
  publishedKid?: string
  /** Only with an API key that was exchanged for a rotation token, and required then: another rotation token, signed with the private key of the new key and with its thumbprint in `cnf.jkt`. */
  proof?: string
}

/** A merge patch (RFC 7396). */
export type JwtKeyUpdate = {
  /** Free text of 1 to 255 code points, without control and bidirectional formatting characters. White space at either end is removed. */
  label?: string
  /** An alias of `label`. */
  name?: string
  active?: boolean
  /** `null` clears it. */
  expireTime?: string | null
  /** Why the key ends: with `active: false` or an `expireTime`, or alone for a key that is off or has an `expireTime`. It can be raised, from `unspecified` to `superseded` to `compromised`, but not lowered. A key that is activated again has no reason any more. */
  reason?: 'unspecified' | 'superseded' | 'compromised'
}

/** When the key ends. */
export type JwtKeyEnded = {
  kid: string
  expireTime: string
}

/** A JWT key after a change. */
export interface JwtKeyUpdated extends JwtKeyWithDetails {
  /** What the change entails; absent if nothing. */
  warnings?: {
    /** `last_active_key`: the change leaves the project, or its `jwks.json`, without an active key. `vouched_keys_active`: the change ends the key, now or at its expiry, and keys that it vouched for, directly or through others, are active beyond that. */
    code: 'last_active_key' | 'vouched_keys_active'
    /** What happens and what to do. */
    detail: string
  }[]
}

/** The replacement of one key by another. */
export type Rotation = {
  id: string
  projectId: string
  /** Id of the old key. */
  from: string
  /** Id of the new key. */
  to: string
  /** Seconds that tokens are valid: the most that `exp` minus `iat` is. The old key stays active for as long after the rotation is finished. */
  tokenLifetime: number
  /** `spreading`: not every verifier knows the new key yet, or it is inactive, superseded or compromised. `overlapping`: every verifier that honors the cache headers knows both: let signers use the new one. `finished`: the end of the old key is set, or it is off or deleted. `abandoned`: given up, without any change of the keys. */
  state: 'spreading' | 'overlapping' | 'finished' | 'abandoned'
  createTime: string
  updateTime: string
  /** Who requested the change: an API key, a person, a workload, a JWT key that proved itself (`jwtKeyId`) or the holder of a registration link; otherwise Pubring itself or a command on the server. */
  startedBy: Actor
  /** From this time on, every verifier that honors the cache headers knows the new key; absent if that is inactive, superseded or compromised. */
  convergedTime?: string
  /** When the old key expires. */
  expireTime?: string
  /** When it was finished or abandoned. */
  endTime?: string
}

/** A rotation to start. */
export type RotationCreate = {
  /** Id or `publishedKid` of the old key, which must be active. */
  from: string
  /** Id or `publishedKid` of the new key, which must be active. */
  to: string
  /** Seconds that tokens are valid: the most that `exp` minus `iat` is. The old key stays active for as long after the rotation is finished. */
  tokenLifetime: number
}

/** A merge patch (RFC 7396). */
export type RotationUpdate = {
  /** Seconds that tokens are valid: the most that `exp` minus `iat` is. The old key stays active for as long after the rotation is finished. */
  tokenLifetime?: number
}

/** The keys that a verifier has seen in use. */
export type KeyUseReport = {
  /** The name of the verifier: 1 to 128 of `a-z`, `0-9` and `-`. */
  reporter: string
  /** Seconds between two reports. After three of them without a report the verifier counts as silent. Default: `3600`. */
  interval?: number
  /** The keys that were used since the last report, or since the start of the verifier; empty if none was. */
  uses: {
    /** The `kid` of tokens that the verifier accepted. */
    kid: string
    /** When the last of them was accepted. The future counts as now. */
    lastTime: string
    /** The latest `exp` among them. It counts for a year after `lastTime` at most. */
    lastExp?: string
  }[]
}

/** What became of a report. */
export type KeyUsesReported = {
  /** Indexes in `uses` whose kid no key of the project has. Kids that are always unknown belong to another project. */
  unknown: number[]
}

/** A verifier that reports uses of keys. */
export type KeyReporter = {
  /** The name of the verifier: 1 to 128 of `a-z`, `0-9` and `-`. */
  reporter: string
  /** It has reported without a gap from this time on. */
  since: string
  /** Its last report. */
  reportTime: string
  /** Whether three of its intervals have passed since then. */
  silent: boolean
}

/** Who has fetched the key set of a project, as seen by one replica. */
export type Verifiers = {
  /** Fetches before are not known: the replica started, or had too many. */
  since: string
  /** The last request first. */
  verifiers: {
    /** What the client calls itself, up to 200 characters; empty without it. */
    userAgent: string
    /** Its last request, to the second. */
    time: string
    /** Whether it then got, or already had, the keys that are published now. */
    hasCurrentSet: boolean
    /** Its requests that are held until the key set changes. */
    held: number
  }[]
}

/** A link to register keys. */
export type RegistrationLink = {
  id: string
  /** Who the link is for and what is wanted; its holder reads it too: 1 to 255 code points. It is not in the ledger, and is kept until the project is deleted. */
  note: string
  /** Whether keys are active at once, or wait until a writer activates them. */
  newKeys: 'inactive' | 'active'
  /** Where its page leads back to. The origin is one of `PUBRING_RETURN_ORIGINS`. */
  returnUrl?: string
  algorithms?: JwsAlgorithm[]
  /** `used`: the browser that opened it may return. `expired`: none did in time. */
  state: 'open' | 'used' | 'expired' | 'revoked'
  /** Ids of the keys that came through it, oldest first. */
  keys: string[]
  createTime: string
  /** When it ends, with the session of the browser that opened it. */
  expireTime: string
}

/** A new link. */
export interface RegistrationLinkCreated extends RegistrationLink {
  /** The address to send, which is returned only once. The part after `#` is a secret, which browsers do not send to servers. */
  url: string
}

/** A link to create. */
export type RegistrationLinkCreate = {
  /** Who the link is for and what is wanted; its holder reads it too: 1 to 255 code points. It is not in the ledger, and is kept until the project is deleted. */
  note: string
  /** Whether keys are active at once, or wait until a writer activates them. Default: `inactive`. */
  newKeys?: 'inactive' | 'active'
  /** Where its page leads back to. The origin is one of `PUBRING_RETURN_ORIGINS`. */
  returnUrl?: string
  /** At most 30 days ahead. The default is 7. */
  expireTime?: string
  /** The algorithms of keys that it accepts; all those of the server if absent. */
  algorithms?: JwsAlgorithm[]
}

/** A registration link, with what its holder needs to know. */
export type RegistrationSession = {
  id: string
  /** Who the link is for and what is wanted; its holder reads it too: 1 to 255 code points. It is not in the ledger, and is kept until the project is deleted. */
  note: string
  /** Whether keys are active at once, or wait until a writer activates them. */
  newKeys: 'inactive' | 'active'
  /** Where its page leads back to. The origin is one of `PUBRING_RETURN_ORIGINS`. */
  returnUrl?: string
  /** The algorithms of keys that the link accepts. */
  algorithms: JwsAlgorithm[]
  /** `used`: the browser that opened it may return. `expired`: none did in time. */
  state: 'open' | 'used' | 'expired' | 'revoked'
  /** Ids of the keys that came through it, oldest first. */
  keys: string[]
  createTime: string
  /** When it ends, with the session of the browser that opened it. */
  expireTime: string
  project: {
    id: string
    /** Name of the project. */
    name: string
  }
  /** The `iss` of tokens. */
  issuer: string
}

/** An API key. */
export type ApiKey = {
  id: string
  /** 1 to 255 code points. */
  name: string
  /** `reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything. `auditor`, for all projects only, reads everything and changes nothing. */
  role: Role
  /** The project that it is bound to; if absent, it is valid for all projects. */
  projectId?: string
  /** The first characters of the secret. */
  prefix: string
  active: boolean
  createTime: string
  expireTime?: string
  lastUseTime?: string
  /** Set if a token was exchanged for it: the access rule, and who the token was for. It ends by itself, and can only be revoked. */
  exchanged?: {
    ruleId: string
    /** `sub` of the token. */
    subject: string
  }
}

/** A new API key with its secret. */
export type ApiKeyCreated = {
  id: string
  /** 1 to 255 code points. */
  name: string
  /** `reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything. `auditor`, for all projects only, reads everything and changes nothing. */
  role: Role
  /** The project that it is bound to; if absent, it is valid for all projects. */
  projectId?: string
  /** The first characters of the secret. */
  prefix: string
  active: boolean
  createTime: string
  expireTime?: string
  lastUseTime?: string
  /** The secret for the `X-Api-Key` header. It is returned only once. */
  apiKey: string
}

/** An API key to create. */
export type ApiKeyCreate = {
  /** 1 to 255 code points. */
  name: string
  /** `reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything. `auditor`, for all projects only, reads everything and changes nothing. */
  role: Role
  /** Id or name of the project to bind the API key to; if absent, it is valid for all projects. */
  project?: string
  expireTime?: string
}

/** A merge patch (RFC 7396). */
export type ApiKeyUpdate = {
  /** 1 to 255 code points. */
  name?: string
  /** `reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything. `auditor`, for all projects only, reads everything and changes nothing. */
  role?: Role
  active?: boolean
  /** `null` clears it. */
  expireTime?: string | null
}

/** A rule that gives a role to people whose claims, or to workloads whose tokens, meet all conditions. A person has the roles of all rules that they meet. */
export type AccessRule = {
  id: string
  /** `people` sign in through the OpenID provider; `workloads` exchange tokens of their platform for API keys of minutes. It never changes. */
  for: 'people' | 'workloads'
  /** The `iss` of the tokens, character by character: with and without a final slash are two issuers. For people it is `PUBRING_OIDC_ISSUER`. */
  issuer: string
  /** 1 to 255 code points. */
  name: string
  /** Claims and the value that each must have. A text that ends in `*` is a pattern: the claim must begin with what stands before it. A name that begins with `/` is a JSON pointer (RFC 6901) to a claim inside another. Of a claim that is a list, one element must match. Numbers and booleans match only themselves. */
  conditions: Record<string, string | number | boolean>
  /** The role that the rule gives. For workloads: `reader`, `registrar`, `writer`, `auditor`. */
  role: Role
  /** The project that the role is for. */
  projectId?: string
  /** Whether the role is for all projects. */
  allProjects: boolean
  /** For workloads. `discovery`: the issuer's `/.well-known/openid-configuration` names them. `jwksUri` and `jwks`: the member of that name does. `project`: they are the active keys of the project itself, which vouch for their successors. */
  keySource?: 'discovery' | 'jwksUri' | 'jwks' | 'project'
  /** For workloads. Address of the JWKS. */
  jwksUri?: string
  /** For workloads. A JWKS (RFC 7517) with the public keys of an issuer that serves none. */
  jwks?: {
    keys: Record<string, unknown>[]
  }
  /** For workloads. An `aud` that the tokens must have. Default: the public URL of this service. */
  audience?: string
  /** For workloads. Whether each `jti` is accepted once. Leave it out for platforms that hand out the same token several times, such as GitLab, Kubernetes and SPIFFE. */
  singleUse?: boolean
  /** For workloads. Seconds that an exchanged API key is valid at most. It never outlives the token that it was exchanged for. */
  maxLifetime?: number
  active: boolean
  createTime: string
  updateTime: string
  lastExchangeTime?: string
  /** Only in the response of a creation, and of a change by a patch that has `jwksUri`, `jwks` or `active`: what is found where the keys of the issuer are. It decides nothing. */
  notes?: string[]
}

/** An access rule to create. */
export type AccessRuleCreate = {
  /** `people` sign in through the OpenID provider; `workloads` exchange tokens of their platform for API keys of minutes. It never changes. */
  for: 'people' | 'workloads'
  /** The `iss` of the tokens, character by character: with and without a final slash are two issuers. For people it is `PUBRING_OIDC_ISSUER`. */
  issuer?: string
  /** 1 to 255 code points. */
  name: string
  /** Claims and the value that each must have. A text that ends in `*` is a pattern: the claim must begin with what stands before it. A name that begins with `/` is a JSON pointer (RFC 6901) to a claim inside another. Of a claim that is a list, one element must match. Numbers and booleans match only themselves. */
  conditions: Record<string, string | number | boolean>
  /** The role that the rule gives. For workloads: `reader`, `registrar`, `writer`, `auditor`. */
  role: Role
  /** Id or name of the project that the role is for. Either this or `allProjects` is required. */
  project?: string
  /** `true`: the role is for all projects. Excludes a project. */
  allProjects?: boolean
  /** For workloads. `discovery`: the issuer's `/.well-known/openid-configuration` names them. `jwksUri` and `jwks`: the member of that name does. `project`: they are the active keys of the project itself, which vouch for their successors. */
  keySource?: 'discovery' | 'jwksUri' | 'jwks' | 'project'
  /** For workloads. Address of the JWKS. */
  jwksUri?: string
  /** For workloads. A JWKS (RFC 7517) with the public keys of an issuer that serves none. */
  jwks?: {
    keys: Record<string, unknown>[]
  }
  /** For workloads. An `aud` that the tokens must have. Default: the public URL of this service. */
  audience?: string
  /** For workloads. Whether each `jti` is accepted once. Leave it out for platforms that hand out the same token several times, such as GitLab, Kubernetes and SPIFFE. */
  singleUse?: boolean
  /** For workloads. Seconds that an exchanged API key is valid at most. It never outlives the token that it was exchanged for. */
  maxLifetime?: number
  active?: boolean
}

/** A merge patch (RFC 7396). */
export type AccessRuleUpdate = {
  /** 1 to 255 code points. */
  name?: string
  /** Merged with the present ones; `null` removes a condition. */
  conditions?: Record<string, string | number | boolean | null>
  /** The role that the rule gives. For workloads: `reader`, `registrar`, `writer`, `auditor`. */
  role?: Role
  /** For workloads. Address of the JWKS. */
  jwksUri?: string
  /** For workloads. A JWKS (RFC 7517) with the public keys of an issuer that serves none. */
  jwks?: {
    keys: Record<string, unknown>[]
  }
  /** For workloads. An `aud` that the tokens must have. Default: the public URL of this service. */
  audience?: string
  /** For workloads. Whether each `jti` is accepted once. Leave it out for platforms that hand out the same token several times, such as GitLab, Kubernetes and SPIFFE. */
  singleUse?: boolean
  /** For workloads. Seconds that an exchanged API key is valid at most. It never outlives the token that it was exchanged for. */
  maxLifetime?: number
  active?: boolean
}

/** A token, or the claims of a person, for the check of an access rule. */
export type AccessRuleCheckRequest = {
  /** The token that a workload would send, or an ID token of a person. It is neither stored nor logged. */
  token?: string
  /** In place of a token, for people: their claims, as a sign-in without a role shows them. */
  claims?: Record<string, unknown>
  /** In place of a token, for people: a patch of the rule that is not made, to see who would gain or lose access. A deletion takes what `{"active": false}` takes. */
  change?: AccessRuleUpdate
}

/** Why an access rule does or does not give its role. */
export type AccessRuleCheck = {
  /** Whether the rule would exchange the token now, if it is named in the exchange, gives its role to a person with these claims, or may be changed so without taking access from anyone. */
  accepted: boolean
  /** The steps in order, up to the first that failed. If the keys of the issuer cannot be read, `signature` is `skipped`, the other steps are made, and the token is not accepted. */
  steps: {
    step:
      | 'well_formed'
      | 'iss'
      | 'rule_active'
      | 'type'
      | 'signature'
      | 'exp'
      | 'nbf'
      | 'aud'
      | 'sub'
      | 'cnf'
      | 'conditions'
      | 'jti'
      | 'others'
      | 'people'
    outcome: TokenCheckOutcome
    detail: string
  }[]
  /** For a change: who gains and who loses access, of the people who signed in within the last 30 days, by their claims then. */
  people?: {
    id: string
    /** Name, email address or subject. */
    name: string
    effect: 'gains' | 'loses'
    /** Whether it is the caller. */
    self: boolean
  }[]
  /** The header, if it could be decoded. */
  header?: Record<string, unknown>
  /** The claims, if they could be decoded. They are verified only if `signature` passed. */
  claims?: Record<string, unknown>
  /** The end of the API key, if a token of a workload is accepted. */
  expireTime?: string
}

/** RFC 8693 section 2.2.1. */
export type TokenExchangeResponse = {
  /** An API key for the `X-Api-Key` header. */
  access_token: string
  issued_token_type: 'urn:pubring:token-type:api-key'
  /** It is not for the `Authorization` header (RFC 8693 section 2.2.1). */
  token_type: 'N_A'
  /** Seconds. */
  expires_in: number
}

/** How people can sign in. */
export type SignInOptions = {
  /** The address of the console. Changes by a session are accepted from there alone. */
  consoleUrl: string
  oidc?: {
    /** Address to send the browser to, with `return`: the page of the console to come back to, below `/console/`; and with `recent=true` for a new proof of identity. */
    url: string
  }
}

/** A signed-in browser or command line. */
export type Session = {
  id: string
  /** Name of the person or API key that signed in. */
  name: string
  personId?: string
  apiKeyId?: string
  /** `command_line`: `pubring login` began it. */
  kind: 'browser' | 'command_line'
  /** Browser and system, as far as the sign-in said; on the command line, the user and the host that it says. */
  client?: string
  /** Network address at the sign-in: of IPv6 the first 64 bits. */
  address?: string
  /** On the command line: the id of the session in which it was approved. */
  approvedBy?: string
  /** Whether it is the session of this request. */
  current: boolean
  /** When the person proved who they are; absent if the OpenID provider does not say. */
  signInTime?: string
  createTime: string
  expireTime: string
  lastUseTime: string
}

/** A person who has signed in. */
export type Person = {
  id: string
  issuer: string
  /** The `sub` claim, which identifies the person at the issuer. */
  subject: string
  name?: string
  email?: string
  firstSignInTime: string
  lastSignInTime: string
}

/** The caller. */
export type Self = {
  type: 'api_key' | 'person'
  name: string
  apiKeyId?: string
  person?: Person
  /** Roles; without `projectId` for all projects. */
  grants: {
    /** `reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything. `auditor`, for all projects only, reads everything and changes nothing. */
    role: Role
    projectId?: string
  }[]
  session?: Session
  /** Until then, the session may do what needs a recent sign-in. Absent without a session, and if the sign-in is not recent. */
  recentSignInUntil?: string
}

/** The end of a session. */
export type SignedOut = {
  /** Address to send the browser to, if the person is to be signed out at the OpenID provider as well. It leads back to the console. */
  signOutUrl?: string
}

/** A ledger event: a change, who made it and when. */
export type Event = {
  /** Number of the event in its ledger. */
  revision: number
  type: string
  time: string
  /** Who requested the change: an API key, a person, a workload, a JWT key that proved itself (`jwtKeyId`) or the holder of a registration link; otherwise Pubring itself or a command on the server. */
  actor: Actor
  subject: {
    type:
      | 'project'
      | 'key'
      | 'rotation'
      | 'registration_link'
      | 'api_key'
      | 'access_rule'
      | 'session'
      | 'person'
      | 'registry'
      | 'ledger'
      | 'token'
    id: string
  }
  /** Label or name that the subject had then, of keys, projects, API keys and access rules. It is taken from earlier events, and the hash does not cover it here. Absent if it was not among the last 100 events of the subject. */
  label?: string
  /** Old (`from`) and new (`to`) value of each changed member. Either is absent if the member had or has no value. `state` is the SHA-256 of the stored row after the change. */
  changes?: Record<
    string,
    {
      from?: string | number | boolean
      to?: string | number | boolean
    }
  >
  /** What the project publishes after the change, in events of projects: SHA-256 in base64url of the list of published keys, and of the bytes of `jwks.json` and `jwks-full.json`. */
  published?: {
    list: string
    jwks: string
    jwksFull: string
  }
  requestId: string
  /** SHA-256 over the hash of the previous event and the content of this one. `pubring ledger verify` checks this chain. */
  hash: string
}

/** An event, with its ledger. */
export interface HistoryEvent extends Event {
  /** The project whose ledger has the event; absent for that of the registry. */
  projectId?: string
  /** Its present name; absent if it was deleted. */
  projectName?: string
}

/** The keys and projects that were found. */
export type Search = {
  results: (
    | {
        type: 'key'
        /** The member that the text was found in. */
        matched: 'kid' | 'publishedKid' | 'thumbprint' | 'spkiSha256' | 'sshFingerprint' | 'label'
        projectId: string
        /** Absent if the project contradicts its ledger. */
        projectName?: string
        kid: string
        publishedKid?: string
        label: string
        algorithm: string
        /** `compromised`: active, although its private key is known to others: replace and deactivate it. `spreading`: active, but not every verifier knows it yet: do not sign with it. `current`: active and known to every verifier that honors the cache headers. `previous`: active, and another key replaces it by a rotation: do not sign with it any more. `off`: deactivated. `expired`: past its `expireTime`. */
        state: KeyState
      }
    | {
        type: 'project'
        /** The member that the text was found in. */
        matched: 'id' | 'name'
        id: string
        name: string
      }
  )[]
  /** Whether there are more keys or projects than were asked for. */
  hasMore: boolean
}

/** What needs attention before it breaks. */
export type Warning = {
  /** `key_compromised`: the private key of an active key is known to others. `key_expires`: an active key expires within 30 days, and no active key that outlives it has its label, was vouched for by it, or replaces it by a rotation. `no_active_key`: the project has keys, or keys for `jwks.json`, and none of them is active. `vouched_keys_active`: a key is deactivated, expired or deleted, and keys that it vouched for are active. `key_awaits_approval`: a key came through a registration link, and nobody has activated it. `api_key_expires`: within 30 days. `api_key_unused`: for 90 days. */
  code:
    | 'key_compromised'
    | 'key_expires'
    | 'no_active_key'
    | 'vouched_keys_active'
    | 'key_awaits_approval'
    | 'api_key_expires'
    | 'api_key_unused'
  /** `critical`: at once. An expiry is `critical` within a day, `warning` within 7 days, else `info`. */
  severity: 'info' | 'warning' | 'critical'
  projectId?: string
  projectName?: string
  kid?: string
  apiKeyId?: string
  /** Label or name of the key or API key. */
  label?: string
  /** When it expires, or was last used. */
  time?: string
  /** What it means and what to do. */
  detail: string
}

/** The state of a project at a glance. */
export type ProjectHealth = {
  projectId: string
  keys: {
    active: number
    /** The active keys that are compromised. */
    compromised: number
    off: number
    expired: number
  }
  /** When the next active key expires. */
  nextExpireTime?: string
  /** Rotations under way. */
  rotations: number
  /** The warnings about its keys, the most urgent first; their list says what to do. */
  warnings: {
    /** `key_compromised`: the private key of an active key is known to others. `key_expires`: an active key expires within 30 days, and no active key that outlives it has its label, was vouched for by it, or replaces it by a rotation. `no_active_key`: the project has keys, or keys for `jwks.json`, and none of them is active. `vouched_keys_active`: a key is deactivated, expired or deleted, and keys that it vouched for are active. `key_awaits_approval`: a key came through a registration link, and nobody has activated it. `api_key_expires`: within 30 days. `api_key_unused`: for 90 days. */
    code:
      | 'key_compromised'
      | 'key_expires'
      | 'no_active_key'
      | 'vouched_keys_active'
      | 'key_awaits_approval'
      | 'api_key_expires'
      | 'api_key_unused'
    /** `critical`: at once. An expiry is `critical` within a day, `warning` within 7 days, else `info`. */
    severity: 'info' | 'warning' | 'critical'
  }[]
}

/** The process that answers, and its database. */
export type Status = {
  /** The version of Pubring. */
  version: string
  /** When this process started. */
  startTime: string
  database: {
    engine: 'SQLite' | 'PostgreSQL'
    /** Host and port of the primary in use. */
    primary?: string
    /** When `pubring backup` last copied the whole database, with SQLite. */
    backupTime?: string
    /** Rows that contradict their ledgers, of those that this process has read. */
    contradictions: number
  }
  /** Requests of followers and verifiers that this process holds until a key set changes. */
  heldRequests: number
  /** The followers whose requests this process has in memory, the last request first, 200 at most. Those that ask other replicas, or through a cache, are not among them, and anyone can claim a name. */
  followers: {
    /** What it calls itself: the name of its host. */
    name: string
    /** Its last request, to the second. */
    time: string
    /** How many projects it has asked for. */
    projects: number
  }[]
}

/** Shows that the log has the hash of an event of a ledger, and of all before it. */
export type LedgerProof = {
  ledgerId: string
  /** Revision of the event that the entry names. */
  revision: number
  /** Hash of that event. */
  head: string
  time: string
  /** A signed checkpoint (C2SP tlog-checkpoint), with the cosignatures of witnesses. */
  checkpoint: string
  /** The proof (C2SP tlog-proof), for `pubring ledger verify`, with the secret by which all entries of this ledger can be found. */
  proof: string
}

/** The tree of the log that grows, with its last checkpoint. */
export type LogTree = {
  /** Name of the tree: its public URL without the scheme. */
  origin: string
  /** What verifies its checkpoints: a "vkey" of C2SP signed-note. */
  verifierKey: string
  /** Number of entries. */
  size: number
  /** A signed checkpoint (C2SP tlog-checkpoint), with the cosignatures of witnesses. */
  checkpoint: string
}

/** A reason to reject a key, or a warning about it. */
export type KeyFinding = {
  code: string
  /** What is wrong and what to do. */
  detail: string
  /** Slow rules of the key policy that were not checked, because this fault already rejects the key. */
  skipped?: string[]
}

/** The result of a key check. Nothing is stored. */
export type KeyCheck = {
  /** Whether the key passes the key policy. Limits and the other keys of a project are not checked. */
  accepted: boolean
  /** The error `code` of an attempt to register the key. */
  problem?: string
  /** All faults; the first determines `problem`. */
  faults: KeyFinding[]
  warnings: KeyFinding[]
  /** Lossless repairs of the submitted text. */
  normalised: string[]
  /** The recognized key, if it could be parsed. */
  key?: {
    kty: string
    bits?: number
    crv?: string
    thumbprint: string
    spkiSha256: string
    /** The values of `algorithm` that match the key, the default one first. */
    algorithms: string[]
  }
  /** The key as it would be stored, if it is accepted. */
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

/** The outcome of a step. `warned`: some verifiers reject the token for this. `skipped`: nothing was compared. */
export type TokenCheckOutcome = 'passed' | 'failed' | 'warned' | 'skipped'

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
  /** Whether a verifier that allows no clock skew would accept the token now, or would have at `at`. */
  valid: boolean
  /** Why the token is not valid: the reason for the failed step. */
  reason?: TokenCheckReason
  /** The steps in order, up to the first that failed. */
  steps: {
    step: TokenCheckStep
    /** `warned`: some verifiers reject the token for this. `skipped`: nothing was compared. */
    outcome: TokenCheckOutcome
    detail: string
  }[]
  /** The header, if it could be decoded. It is not verified. */
  header?: Record<string, unknown>
  /** The claims, if they could be decoded. They are verified only if `signature` passed. */
  claims?: Record<string, unknown>
  /** The key of the project with this `kid`. */
  key?: {
    id: string
    publishedKid?: string
    label: string
    jwsAlgorithm: string
    active: boolean
  }
}

/** A key of a JWKS (RFC 7517). */
export type Jwk = {
  kty: 'RSA' | 'EC' | 'OKP' | 'AKP'
  use: 'sig'
  /** The id of the key, or its `publishedKid` where it has one. */
  kid: string
  /** RSA: the modulus, without leading zero bytes. */
  n?: string
  /** RSA: the public exponent. */
  e?: string
  crv?: 'P-256' | 'P-384' | 'P-521' | 'Ed25519'
  /** EC: the coordinate at full length. OKP: the public key. */
  x?: string
  /** EC: the coordinate at full length. */
  y?: string
  /** AKP (ML-DSA): the public key. */
  pub?: string
  /** The only algorithm of the key. */
  alg: JwsAlgorithm
}

/** A key set (RFC 7517): active keys, oldest first. */
export type Jwks = {
  keys: Jwk[]
}

/** The keys of a project that were ever active, and when, in seconds since 1970. A second counts only if the key was active during all of it. */
export type KeyHistory = {
  /** The issuer of the project. */
  iss: string
  ledgerId: string
  /** The last event that it accounts for. */
  revision: number
  /** Hash of that event: `ledger-proof` shows that the log has it. */
  head: string
  /** Oldest first. */
  keys: {
    kty: 'RSA' | 'EC' | 'OKP' | 'AKP'
    use: 'sig'
    /** The id of the key, or its `publishedKid` where it has one. */
    kid: string
    /** RSA: the modulus, without leading zero bytes. */
    n?: string
    /** RSA: the public exponent. */
    e?: string
    crv?: 'P-256' | 'P-384' | 'P-521' | 'Ed25519'
    /** EC: the coordinate at full length. OKP: the public key. */
    x?: string
    /** EC: the coordinate at full length. */
    y?: string
    /** AKP (ML-DSA): the public key. */
    pub?: string
    /** The only algorithm of the key. */
    alg: JwsAlgorithm
    /** When it was registered. */
    iat: number
    /** When the key was first active. */
    active_from: number
    /** The seconds between its activations in which it was not active: at most 100 ranges, of which the first may join several, with what lies between them. */
    inactive?: {
      /** The first second. */
      from: number
      /** The second after it. */
      until: number
    }[]
    /** The end: when it was deactivated, or its `expireTime`, which may lie ahead. */
    exp?: number
    revoked?: {
      /** `exp`, or when the key was found compromised, if that was earlier. */
      revoked_at: number
      /** A key that only expired is not revoked. Trust a `compromised` key at no time. */
      reason: 'unspecified' | 'superseded' | 'compromised'
    }
  }[]
  /** The last 1,000 that were deleted, in the order of their deletion. */
  deleted: {
    /** The id of the key, or its `publishedKid` where it has one. */
    kid: string
    /** RFC 7638, SHA-256, base64url. */
    thumbprint: string
    /** When the key was first active. */
    active_from: number
    /** The seconds between its activations in which it was not active: at most 100 ranges, of which the first may join several, with what lies between them. */
    inactive?: {
      /** The first second. */
      from: number
      /** The second after it. */
      until: number
    }[]
    /** The end: when it was deactivated, or its `expireTime`, which may lie ahead. */
    exp?: number
    revoked?: {
      /** `exp`, or when the key was found compromised, if that was earlier. */
      revoked_at: number
      /** A key that only expired is not revoked. Trust a `compromised` key at no time. */
      reason: 'unspecified' | 'superseded' | 'compromised'
    }
    /** When it was deleted. */
    deleted_at: number
  }[]
}

/** The discovery document for verifiers (OpenID Connect Discovery 1.0). */
export type Discovery = {
  /** The `iss` of the tokens: the URL of the project, with its id. */
  issuer: string
  jwks_uri: string
  response_types_supported: string[]
  subject_types_supported: string[]
  /** The algorithms that keys in `jwks_uri` may have, with or without such a key, because some verifiers read the list only once; and RS256, which the standard requires. */
  id_token_signing_alg_values_supported: JwsAlgorithm[]
}

/** An error (RFC 9457). */
export type Problem = {
  /** URL of the documentation of this code. */
  type: string
  title: string
  status: number
  /** What is wrong and what to do. */
  detail: string
  /** Stable code for programs. */
  code: string
  /** Also in the `X-Request-Id` header and in the log. */
  requestId: string
  errors?: {
    /** JSON pointer (RFC 6901) to the invalid member of the body. */
    pointer?: string
    /** Name of the invalid query parameter. */
    parameter?: string
    code: string
    detail: string
    /** Slow rules of the key policy that were not checked, because this fault already rejects the key. */
    skipped?: string[]
  }[]
  /** `duplicate_key`: the registered key. */
  kid?: string
  /** The exceeded limit. */
  limit?: number
  /** `project_name_taken`: when a name is free that another project gave up. */
  heldUntil?: string
  /** `log_ended`: when the next log was started. */
  endTime?: string
  /** `log_ended`: the address of the next log. */
  next?: string
}

/** The `code` of every error of the service (RFC 9457), explained in docs/errors.md. */
export type ServiceErrorCode =
  | 'invalid_json'
  | 'invalid_request'
  | 'invalid_key_pem'
  | 'private_key_submitted'
  | 'unsupported_key'
  | 'weak_key'
  | 'algorithm_mismatch'
  | 'compromised_key'
  | 'invalid_proof'
  | 'import_refused'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'invalid_session'
  | 'sign_in_failed'
  | 'sign_in_unavailable'
  | 'insufficient_role'
  | 'recent_sign_in_required'
  | 'cross_site_request'
  | 'insufficient_lifetime'
  | 'key_not_vouched'
  | 'project_not_found'
  | 'key_not_found'
  | 'rotation_not_found'
  | 'reporter_not_found'
  | 'api_key_not_found'
  | 'not_logged'
  | 'session_not_found'
  | 'person_not_found'
  | 'link_not_found'
  | 'access_rule_not_found'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'history_changed'
  | 'duplicate_key'
  | 'key_active'
  | 'key_compromised'
  | 'key_inactive'
  | 'rotation_exists'
  | 'rotation_not_ready'
  | 'rotation_ended'
  | 'key_limit_reached'
  | 'api_key_limit_reached'
  | 'link_limit_reached'
  | 'jwks_too_large'
  | 'project_id_taken'
  | 'project_name_taken'
  | 'project_not_empty'
  | 'reporter_taken'
  | 'reporter_limit_reached'
  | 'last_admin'
  | 'own_access'
  | 'precondition_failed'
  | 'request_timeout'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'log_ended'
  | 'log_stopped'
  | 'headers_too_large'
  | 'internal'
  | 'unsupported_transfer_encoding'
  | 'storage_unavailable'
  | 'overloaded'

/** A key to import. */
export type KeyImportItem = {
  /** Free text of 1 to 255 code points, without control and bidirectional formatting characters. White space at either end is removed. */
  name: string
  /** The `alg` of tokens signed with this key; `RSA` means RS256. It must match the key. */
  algorithm: Algorithm
  /** One public key: PEM (`-----BEGIN PUBLIC KEY-----`), or the JSON that the tool of a key management service prints. */
  publicKeyPem: string
  /** Default: `true`. */
  active?: boolean
  /** Must be in the future. With `createTime`, it must only be after `createTime`, because a restored key may have expired. */
  expireTime?: string
  /** The `kid` of the key in the JWKS and in the header of its tokens, if that is not its id: 1 to 255 characters of `A-Z a-z 0-9 . _ ~ : / + = @ # -`. It cannot be changed, and never names another key of the project, even after this one is deleted. */
  publishedKid?: string
  /** Why it ended, or will: with `active: false` or an `expireTime`. Only `compromised` may mark a key without an end. */
  reason?: 'unspecified' | 'superseded' | 'compromised'
  /** Only for admins of all projects: the kid to restore, a lower-case UUID (RFC 9562). No project may ever have used it for other key material, even in a deleted key. */
  kid?: string
  /** Only for admins of all projects: the time to restore, not in the future. */
  createTime?: string
  /** Only for admins of all projects: the time to restore, not before `createTime`, which it requires, and not in the future. */
  updateTime?: string
}

/** Keys to import into one project: all or none. */
export type KeyImport = {
  /** The keys. The report has the same order. */
  keys: KeyImportItem[]
  /** `true`: return the same response without storing anything. Default: `false`. */
  dryRun?: boolean
}

/** A quantity before and after an import, and its limit. */
export type Room = {
  before: number
  after: number
  limit: number
}

/** All keys are registered. */
export type KeyImportReport = {
  /** Number of registered keys. */
  created: number
  /** Number of keys that the project already had. */
  present: number
  /** The outcome of each key, in the order of the request. */
  items: {
    outcome: 'created' | 'present'
    kid: string
  }[]
  /** Usage of the limits of the project before and after the import. */
  room: {
    /** Number of keys in the project, active or not. */
    keys: Room
    /** Size of its key set in bytes. */
    jwksBytes: Room
  }
}
