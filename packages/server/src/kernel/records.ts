import type { PublicJwk, Repair } from '@pubring/intake'
import type { Algorithm, JwsAlgorithm } from '@pubring/intake/algorithms'
import type { AccessRule } from '../features/access-rules/contract.ts'
import type { ApiKey } from '../features/api-keys/contract.ts'
import type { JwtKey } from '../features/keys/contract.ts'
import type { Project } from '../features/projects/contract.ts'
import type { Person } from '../features/sign-in/contract.ts'
import type { Warning } from '../features/warnings/contract.ts'
import type { Actor } from './ledger/chain.ts'

/** A stored project. All times in records are ISO 8601 in UTC with milliseconds. */
export type ProjectRecord = Project

/** The members of a project that change only with an event of the system ledger. */
export type ProjectIdentity = Pick<ProjectRecord, 'id' | 'name'>

/** The last event of a ledger. */
export interface LedgerHead {
  revision: number
  hash: string
}

/** The head of a ledger at the time of a read. */
export interface ObservedHead {
  ledgerId: string
  hash: string
}

/** The record in the path of a request, and the `If-Match` of the request. */
export interface RecordReference {
  id: string
  ifMatch?: string
}

/** What a read finds out about a row. */
interface Contradictable {
  /** The row contradicts its ledger or itself: it is not active, and gives no rights. */
  contradicted?: true
}

/** What is stored of what the API shows as `active`. */
type Stored<Shown> = Omit<Shown, 'active'> & Contradictable & { enabled: boolean }

/** A stored JWT key. `isActive` decides whether it is active. */
export type KeyRecord = Stored<JwtKey> & {
  /** Its kid in the JWKS, if that is not the id. */
  publishedKid?: string
  /** Time of the last change to its publication: creation, `active` or `expireTime`. */
  publishTime: string
  jwsAlgorithm: JwsAlgorithm
  jwk: PublicJwk
  bits?: number
  thumbprint: string
  spkiSha256: string
  materialSha256: string
  normalised: Repair[]
  /** Id of the key that vouched for it. */
  introducedBy?: string
  /** Time of its last activation, if `publishTime` is later: that of a new `expireTime`. */
  activateTime?: string
}

/** A stored replacement of the key `fromKid` by the key `toKid`. */
export interface RotationRecord extends Contradictable {
  id: string
  projectId: string
  fromKid: string
  toKid: string
  /** Seconds. */
  tokenLifetime: number
  createTime: string
  updateTime: string
  /** Absent while it is under way; an expired old key ends it too. */
  outcome?: 'finished' | 'abandoned'
  endTime?: string
}

/** A rotation, with the actor of its first event. */
export interface RotationWithActor extends RotationRecord {
  startedBy: Actor
}

/** A stored API key: its digest, never the secret. */
export type ApiKeyRecord = Stored<Omit<ApiKey, 'exchanged'>> & {
  /** SHA-256 over the secret, lower-case hex. */
  digest: string
  /** Set if a token was exchanged for it. It is deleted when its access rule changes. */
  exchanged?: Exchange
  /** Set if it belongs to a session on the command line: it has the rights of the session. */
  sessionId?: string
}

/** The access rule that accepted a token, and the claims that identify the workload. */
export interface Exchange {
  ruleId: string
  issuer: string
  /** With a `successor`: the kid of the key that vouches for it. */
  subject: string
  /** RFC 7638 thumbprint of the one key that the API key may register. */
  successor?: string
}

/** A person who has signed in, identified by issuer and subject. */
export type PersonRecord = Person

/** The identity of a person, as the provider asserted it when they signed in. */
export interface SessionPerson {
  id: string
  issuer: string
  subject: string
  claims: Record<string, unknown>
  /** `sid` of the ID token: the session at the provider. */
  providerSessionId?: string
}

/** A stored session: the digest of its secret, never the secret. It has a person or an API key. */
export interface SessionRecord extends Contradictable {
  id: string
  /** SHA-256 over the secret, lower-case hex. */
  digest: string
  person?: SessionPerson
  apiKeyId?: string
  /** When the person proved who they are; absent if the provider does not say. */
  signInTime?: string
  createTime: string
  expireTime: string
  lastUseTime: string
}

/** A stored rule that gives a role to people who signed in with these claims. */
export interface PeopleRule
  extends Stored<
    Pick<
      AccessRule,
      | 'id'
      | 'name'
      | 'issuer'
      | 'conditions'
      | 'role'
      | 'projectId'
      | 'active'
      | 'createTime'
      | 'updateTime'
    >
  > {
  for: 'people'
}

/** A stored rule by which the tokens of an issuer are exchanged for API keys. */
export interface WorkloadRule
  extends Omit<PeopleRule, 'for'>,
    Required<Pick<AccessRule, 'keySource' | 'audience' | 'singleUse' | 'maxLifetime'>>,
    Pick<AccessRule, 'jwksUri' | 'jwks' | 'lastExchangeTime'> {
  for: 'workloads'
}

/** A stored access rule. */
export type AccessRuleRecord = PeopleRule | WorkloadRule

/** Where the keys of an issuer come from. */
export type IssuerKeySource = Pick<
  WorkloadRule,
  'issuer' | 'keySource' | 'jwksUri' | 'jwks' | 'projectId'
>

/** All keys of a project, its name and its revision, from one snapshot. */
export interface KeySet {
  /** The project's name. */
  name: string
  revision: number
  /** Hash of the last event of its ledger. */
  head: string
  /** Oldest first: createTime, then id. */
  keys: KeyRecord[]
}

/** Estimated memory of a key set: per key the PEM, a JWK of its size, and the rest. */
export function keySetBytes({ keys }: KeySet): number {
  return keys.reduce((sum, key) => sum + 1_500 + 2 * key.publicKeyPem.length, 500)
}

export interface RsaKey {
  kid: string
  thumbprint: string
  /** The modulus in base64url. */
  n: string
}

/** What decides whether a key is active, without its material. */
export type KeyState = Pick<
  KeyRecord,
  'id' | 'projectId' | 'label' | 'enabled' | 'expireTime' | 'createTime' | 'introducedBy'
>

/** The members of a rotation by which those that have not ended are counted. */
export type OpenRotation = Pick<RotationRecord, 'projectId' | 'fromKid'>

/** Counts of the whole registry. */
export interface Census {
  keys: KeyCount[]
  warnings: (Pick<Warning, 'code' | 'severity'> & { count: number })[]
  /** Ids of projects with warnings, those whose keys expire first in front; not all of them. */
  warnedProjects: string[]
}

/** The number of keys of one algorithm and state. */
export interface KeyCount {
  algorithm: Algorithm
  enabled: boolean
  expired: boolean
  count: number
  /** The earliest `expireTime` among them. */
  firstExpiry?: string
}
