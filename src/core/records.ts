import type { Algorithm, JwsAlgorithm } from '../contract/algorithms.ts'
import type { Role } from '../contract/roles.ts'
import type { PublicJwk, Repair } from '../intake/types.ts'

/** A project as the store keeps it. Times are ISO 8601 UTC with milliseconds, here and below. */
export interface ProjectRecord {
  id: string
  name: string
  revision: number
  createTime: string
  updateTime: string
}

/** A project as it was read. */
export interface ProjectSnapshot extends ProjectRecord {
  /** Hash of its ledger's last event at that time. */
  head: string
}

/** Where a ledger ends. */
export interface LedgerHead {
  revision: number
  /** Hash of the last event. */
  hash: string
}

/** A ledger as it ended when something was read of what it tells. */
export interface ObservedHead {
  ledgerId: string
  hash: string
}

/** A JWT key as the store keeps it. Whether it is *active* is for `isActive` to say. */
export interface KeyRecord {
  id: string
  projectId: string
  label: string
  algorithm: Algorithm
  publicKeyPem: string
  enabled: boolean
  expireTime?: string
  createTime: string
  updateTime: string
  /** Of the last change to what is published: the creation, `active` or `expireTime`. */
  publishTime: string
  jwsAlgorithm: JwsAlgorithm
  jwk: PublicJwk
  bits?: number
  thumbprint: string
  spkiSha256: string
  materialSha256: string
  normalised: Repair[]
}

/** An API key as the store keeps it: the digest, never the secret. */
export interface ApiKeyRecord {
  id: string
  name: string
  role: Role
  projectId?: string
  prefix: string
  /** SHA-256 over the secret, lower-case hex. */
  digest: string
  enabled: boolean
  createTime: string
  expireTime?: string
  lastUseTime?: string
}

/** All keys of a project and the revision at which they were so, from one snapshot. */
export interface KeySet {
  revision: number
  /** Hash of the ledger's last event at that time. */
  head: string
  /** Oldest first: createTime, then id. */
  keys: KeyRecord[]
}

/** Octets that the records of a key set take in memory, roughly: the PEM, a JWK of its size, the rest. */
export function keySetBytes({ keys }: KeySet): number {
  return keys.reduce((sum, key) => sum + 1_500 + 2 * key.publicKeyPem.length, 500)
}

/** An RSA key as far as its numbers go. */
export interface RsaKey {
  kid: string
  thumbprint: string
  /** The modulus, in base64url. */
  n: string
}

/** Keys that have these in common. */
export interface KeyCount {
  algorithm: Algorithm
  enabled: boolean
  expired: boolean
  count: number
  /** The first of their times of expiry, where any has one. */
  firstExpiry?: string
}
