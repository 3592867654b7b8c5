import { createBatchLoader } from '../../async/batch-loader.ts'
import { oneFor } from '../shared.ts'
import type { Db } from '../storage/schema.ts'
import { inChunks } from '../storage/statements.ts'
import type { Caller } from './callers.ts'
import type { Credential } from './grants.ts'

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
