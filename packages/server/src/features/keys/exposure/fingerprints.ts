import type { ExposedKey } from '@pubring/intake'
import type { Db } from '../../../kernel/storage/schema.ts'
import {
  chunked,
  hasOtherWriters,
  inChunks,
  statement,
} from '../../../kernel/storage/statements.ts'
import { fingerprintIn, type KeyRecord } from '../stored.ts'

/** Blocks the fingerprints permanently. Returns whether one was not blocked before. */
export async function block(
  db: Db,
  fingerprints: readonly string[],
  time: string,
): Promise<boolean> {
  return (await insertFingerprints(db, { fingerprints, time })).length > 0
}

/** Locked fingerprints: other transactions cannot block them before this one ends. */
interface FingerprintLock {
  /** Fingerprints that were blocked already, and therefore are not locked. */
  blocked: ReadonlySet<string>
  /** Deletes the rows that hold the lock. Call it before the commit. */
  unlock(): Promise<void>
}

/**
 * Locks the fingerprints of new keys until the transaction ends, and the kids, so that no concurrent
 * transaction can register one of them for another key. The inserted rows are the lock: an insert
 * of the same fingerprint waits for this transaction, and succeeds once it has deleted its rows. The one
 * writer of SQLite only reads. Lock the ledger first, so that transactions take their locks in one
 * order.
 */
export async function lockFingerprints(
  db: Db,
  { keys, kids = [] }: { keys: readonly KeyRecord[]; kids?: readonly string[] },
  time: string,
): Promise<FingerprintLock> {
  const names = new Set([
    ...keys.flatMap(fingerprintsOf),
    ...keys.map((key) => fingerprintIn(key.projectId, key.thumbprint)),
    ...kids.map((kid) => `kid ${kid}`),
  ])
  const fingerprints = [...names].sort()
  if (!hasOtherWriters(db)) {
    return { blocked: await findBlocked(db, fingerprints), async unlock() {} }
  }
  const rows = await inChunks(fingerprints, (chunk) =>
    insertFingerprints(db, { fingerprints: chunk, time }),
  )
  const locked = rows.map(({ fingerprint }) => fingerprint)
  return {
    blocked: new Set(fingerprints).difference(new Set(locked)),
    async unlock() {
      for (const chunk of chunked(locked)) await deleteFingerprints(db, { fingerprints: chunk })
    },
  }
}

/** Whether the private half was ever submitted; such keys can no longer be registered. */
export async function isBlocked(db: Db, key: ExposedKey): Promise<boolean> {
  return (await findBlockedOf(db, key)).size > 0
}

/** The blocked fingerprints of a key, with that of a project if one is given. */
export function findBlockedOf(db: Db, key: ExposedKey, projectId?: string): Promise<Set<string>> {
  const own = projectId === undefined ? [] : [fingerprintIn(projectId, key.thumbprint)]
  return findBlocked(db, [...fingerprintsOf(key), ...own])
}

/** Whether the key is blocked; it cannot become blocked before this transaction ends. */
export async function isBlockedUnderLock(db: Db, key: KeyRecord, time: string): Promise<boolean> {
  const { blocked, unlock } = await lockFingerprints(db, { keys: [key] }, time)
  await unlock()
  return blocked.size > 0
}

async function findBlocked(db: Db, fingerprints: readonly string[]): Promise<Set<string>> {
  const rows = await inChunks(fingerprints, (chunk) =>
    selectFingerprints(db, { fingerprints: chunk }),
  )
  return new Set(rows.map(({ fingerprint }) => fingerprint))
}

/** Sorted: two transactions that lock in the same order cannot deadlock. */
export function fingerprintsOf({ thumbprint, materialSha256 }: ExposedKey): string[] {
  return [...new Set([thumbprint, materialSha256])].sort()
}

/** Returns the fingerprints that were not in the table. */
const insertFingerprints = statement(
  (db, { fingerprints, time }: { fingerprints: readonly string[]; time: string }) =>
    db
      .insertInto('blocked_fingerprint')
      .values(fingerprints.map((fingerprint) => ({ fingerprint, create_time: time })))
      .onConflict((conflict) => conflict.column('fingerprint').doNothing())
      .returning('fingerprint'),
)

const selectFingerprints = statement((db, { fingerprints }: { fingerprints: readonly string[] }) =>
  db
    .selectFrom('blocked_fingerprint')
    .select('fingerprint')
    .where('fingerprint', 'in', fingerprints),
)

const deleteFingerprints = statement((db, { fingerprints }: { fingerprints: readonly string[] }) =>
  db.deleteFrom('blocked_fingerprint').where('fingerprint', 'in', fingerprints),
)
