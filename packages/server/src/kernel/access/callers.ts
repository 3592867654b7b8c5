import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import { createBatchLoader } from '../../async/single-flight.ts'
import { PubringError } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import type { Actor, LinkCreator } from '../ledger/chain.ts'
import type { ObservedHead } from '../records.ts'
import { oneFor } from '../shared.ts'
import type { Db } from '../storage/schema.ts'
import { inChunks } from '../storage/statements.ts'
import type { Credential, Grant } from './grants.ts'

/** The holder of a credential, as the store had it at one time. */
export interface Caller {
  grants: readonly Grant[]
  /** ISO 8601; absent if the credential has no end. */
  expireTime?: string
  /** Set if the credential is an API key, or the session of one. */
  apiKey?: CallerApiKey
  /** Set if the credential is a session. */
  session?: CallerSession
  /** Set if that API key was exchanged for the token by which a key vouches for its successor. */
  voucher?: Voucher
  /** Set if the credential is the session of a registration link. */
  link?: CallerLink
}

/** The registration link of a caller, whose keys alone the caller may register and see. */
export interface CallerLink {
  id: string
  newKeys: 'active' | 'inactive'
  /** The algorithms of keys that it accepts; those of the server if absent. */
  algorithms?: readonly JwsAlgorithm[]
  createdBy: LinkCreator
}

/** The API key of a caller. */
export interface CallerApiKey {
  id: string
  name: string
  expireTime?: string
  /** The workload that exchanged a token for it, and the rule. */
  exchanged?: { ruleId: string; issuer: string; subject: string }
}

/** The session of a caller. */
interface CallerSession {
  id: string
  /** ISO 8601, when its holder proved who they are. */
  signInTime?: string
  createTime: string
  person?: { id: string; issuer: string; subject: string }
}

/** A key that vouches for another one, which its API key may register. */
export interface Voucher {
  keyId: string
  ruleId: string
  /** RFC 7638 thumbprint. */
  successor: string
  /** The head of the project when the key was seen active. */
  head: ObservedHead
}

/** The workload that exchanged a token for the API key, for the events of its changes. */
export function workloadOf(
  { id, name }: Pick<CallerApiKey, 'id' | 'name'>,
  { ruleId, issuer, subject }: NonNullable<CallerApiKey['exchanged']>,
): Actor {
  return { name, apiKeyId: id, workload: { ruleId, issuer, subject } }
}

/** The role that an API key or a rule gives. */
export function grantOf({ role, projectId }: Grant): Grant {
  return { role, ...present({ projectId }) }
}

export function invalidApiKey(): PubringError {
  return new PubringError(
    'invalid_api_key',
    'The API key is unknown, expired or revoked. Check that it was copied completely.',
  )
}

export function invalidSession(): PubringError {
  return new PubringError(
    'invalid_session',
    'The session has ended, or no access rule gives you a role any more. Sign in again.',
  )
}

export function invalidRegistration(): PubringError {
  return new PubringError(
    'invalid_session',
    'The registration link has expired or was revoked, or another browser opened it. Ask the person who sent it for a new one.',
  )
}

/** Where and when a credential is looked up. */
export interface Look {
  db: Db
  /** ISO 8601. */
  time: string
  /** Locks the rows until the transaction ends. */
  isLocked: boolean
}

/** The id of a credential, or the digest of its secret. */
type CredentialReference = Credential | (Pick<Credential, 'type'> & { digest: string })

/**
 * Reads the holder of a credential. Throws `invalid_api_key` or `invalid_session` unless it is active
 * at that time.
 */
export type ReadCaller = (look: Look, by: CredentialReference) => Promise<Caller>

/** How a feature knows the holders of its credentials. */
export interface CredentialKind {
  type: Credential['type']
  /** `readCaller` reads the holder of another credential, on which this one depends. */
  caller(look: Look, by: CredentialReference, readCaller: ReadCaller): Promise<Caller>
}

export function createReadCaller(features: readonly { credential?: CredentialKind }[]): ReadCaller {
  const readCaller: ReadCaller = async (look, by) => {
    const kind = features.find(({ credential }) => credential?.type === by.type)?.credential
    if (kind === undefined) throw new Error(`no feature has the credential ${by.type}`)
    return kind.caller(look, by, readCaller)
  }
  return readCaller
}

/** Finds the record of a credential in its table. */
export async function findCredential<Found>(
  { db, isLocked }: Look,
  by: CredentialReference,
  table: Record<'find' | 'lock', (db: Db, id: string) => Promise<Found | undefined>>,
  findByDigest: (db: Db, digest: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  if ('digest' in by) return findByDigest(db, by.digest)
  return isLocked ? table.lock(db, by.id) : table.find(db, by.id)
}

/**
 * Finds a record by the digest of its secret. Concurrent callers share a query: a flood of unknown
 * secrets costs less than one each.
 */
export function findByDigest<Found extends { digest: string }>(
  read: (db: Db, digests: string[]) => Promise<Found[]>,
): (db: Db, digest: string) => Promise<Found | undefined> {
  const loaderOf = oneFor((db: Db) =>
    createBatchLoader(async (digests: readonly string[]) => {
      const found = await inChunks(digests, (some) => read(db, some))
      return new Map(found.map((record) => [record.digest, record]))
    }),
  )
  return async (db, digest) => (await loaderOf(db)([digest])).get(digest)
}
