import type { Kysely } from 'kysely'
import type { Exposed } from '../core/intake/types.ts'
import { chunked } from './chunks.ts'
import type { Tables } from './schema.ts'

type Db = Kysely<Tables>

/** Blocks the key for good; whether it was not blocked before. */
export async function block(db: Db, key: Exposed, time: string): Promise<boolean> {
  return (await insert(db, fingerprintsOf(key), time)).length > 0
}

/**
 * Whether the key is blocked; where it is not, whoever wants to block it waits until this transaction
 * ends. The rows are the lock: an insert waits for another one of the same fingerprint, and takes
 * place when that has left none. A transaction does this after it has locked the ledger, not before.
 */
export async function holdUnblocked(db: Db, key: Exposed, time: string): Promise<boolean> {
  const fingerprints = fingerprintsOf(key)
  return (await hold(db, fingerprints, time)).size < fingerprints.length
}

/**
 * The same for many keys: which fingerprints of theirs are blocked. With kids that a caller chose,
 * whoever wants to give one of them to another key waits likewise.
 */
export async function holdAllUnblocked(
  db: Db,
  { keys, kids }: { keys: readonly Exposed[]; kids: readonly string[] },
  time: string,
): Promise<Set<string>> {
  const names = new Set([...keys.flatMap(fingerprintsOf), ...kids.map((kid) => `kid ${kid}`)])
  const free = await hold(db, [...names].sort(), time)
  return names.difference(free)
}

/** Those that were free: nobody else can take them before this transaction ends. */
async function hold(db: Db, fingerprints: readonly string[], time: string): Promise<Set<string>> {
  const held = new Set<string>()
  for (const some of chunked(fingerprints)) {
    const free = await insert(db, some, time)
    for (const fingerprint of free) held.add(fingerprint)
  }
  for (const some of chunked([...held])) {
    await db.deleteFrom('blocked_fingerprint').where('fingerprint', 'in', some).execute()
  }
  return held
}

/** Always in the same order, so that two transactions do not wait for each other. */
function fingerprintsOf({ thumbprint, materialSha256 }: Exposed): string[] {
  return [...new Set([thumbprint, materialSha256])].sort()
}

async function insert(db: Db, fingerprints: readonly string[], time: string): Promise<string[]> {
  const rows = await db
    .insertInto('blocked_fingerprint')
    .values(fingerprints.map((fingerprint) => ({ fingerprint, create_time: time })))
    .onConflict((conflict) => conflict.column('fingerprint').doNothing())
    .returning('fingerprint')
    .execute()
  return rows.map(({ fingerprint }) => fingerprint)
}
