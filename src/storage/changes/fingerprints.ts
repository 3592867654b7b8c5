import type { Kysely } from 'kysely'
import type { ExposedKey } from '../../intake/types.ts'
import { chunked } from '../chunks.ts'
import type { Tables } from '../schema.ts'
import { statement } from '../statements.ts'

type Db = Kysely<Tables>

/** Blocks the key for good; whether it was not blocked before. */
export async function blockFingerprints(db: Db, key: ExposedKey, time: string): Promise<boolean> {
  return (await insert(db, fingerprintsOf(key), time)).length > 0
}

/** Fingerprints that nobody else can block before this transaction ends. */
export interface FingerprintLock {
  /** Those that were blocked already, and so are not held. */
  blocked: ReadonlySet<string>
  /** Takes the rows away that hold the others; to be done before the transaction is committed. */
  unlock(): Promise<void>
}

/**
 * Holds the key: whoever wants to block it waits until this transaction ends. The rows are the lock:
 * an insert waits for another one of the same fingerprint, and takes place when that has left none. A
 * transaction does this after it has locked the ledger, not before.
 */
export function lockFingerprints(db: Db, key: ExposedKey, time: string): Promise<FingerprintLock> {
  return lock(db, fingerprintsOf(key), time)
}

/** The same, done with; whether the key is blocked. */
export async function isBlockedUnderLock(db: Db, key: ExposedKey, time: string): Promise<boolean> {
  const { blocked, unlock } = await lockFingerprints(db, key, time)
  await unlock()
  return blocked.size > 0
}

/**
 * The same for many keys: which fingerprints of theirs are blocked. With kids that a caller chose,
 * whoever wants to give one of them to another key waits likewise.
 */
export async function findBlockedUnderLock(
  db: Db,
  { keys, kids }: { keys: readonly ExposedKey[]; kids: readonly string[] },
  time: string,
): Promise<ReadonlySet<string>> {
  const names = new Set([...keys.flatMap(fingerprintsOf), ...kids.map((kid) => `kid ${kid}`)])
  const { blocked, unlock } = await lock(db, [...names].sort(), time)
  await unlock()
  return blocked
}

async function lock(
  db: Db,
  fingerprints: readonly string[],
  time: string,
): Promise<FingerprintLock> {
  const free: string[] = []
  for (const some of chunked(fingerprints)) free.push(...(await insert(db, some, time)))
  return {
    blocked: new Set(fingerprints).difference(new Set(free)),
    async unlock() {
      for (const some of chunked(free)) await remove(db, some)
    },
  }
}

/** Always in the same order, so that two transactions do not wait for each other. */
function fingerprintsOf({ thumbprint, materialSha256 }: ExposedKey): string[] {
  return [...new Set([thumbprint, materialSha256])].sort()
}

interface Two {
  first: string
  second: string
}

const insertTwo = statement((db, { first, second, time }: Two & { time: string }) =>
  insertion(db, [first, second], time),
)

const removeTwo = statement((db, { first, second }: Two) => removal(db, [first, second]))

/** Those that were not there; nearly always the two of one key. */
async function insert(db: Db, fingerprints: readonly string[], time: string): Promise<string[]> {
  const two = twoOf(fingerprints)
  const rows = two
    ? await insertTwo(db, { ...two, time })
    : await insertion(db, fingerprints, time).execute()
  return rows.map(({ fingerprint }) => fingerprint)
}

async function remove(db: Db, fingerprints: readonly string[]): Promise<void> {
  const two = twoOf(fingerprints)
  if (two) await removeTwo(db, two)
  else await removal(db, fingerprints).execute()
}

function twoOf([first, second, ...others]: readonly string[]): Two | undefined {
  if (first === undefined || second === undefined || others.length > 0) return undefined
  return { first, second }
}

function insertion(db: Db, fingerprints: readonly string[], time: string) {
  return db
    .insertInto('blocked_fingerprint')
    .values(fingerprints.map((fingerprint) => ({ fingerprint, create_time: time })))
    .onConflict((conflict) => conflict.column('fingerprint').doNothing())
    .returning('fingerprint')
}

function removal(db: Db, fingerprints: readonly string[]) {
  return db.deleteFrom('blocked_fingerprint').where('fingerprint', 'in', fingerprints)
}
