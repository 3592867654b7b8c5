import type { Kysely } from 'kysely'
import type { Exposed } from '../core/intake/types.ts'
import type { Tables } from './schema.ts'

type Db = Kysely<Tables>

/** Blocks the key for good; whether it was not blocked before. */
export async function block(db: Db, key: Exposed, time: string): Promise<boolean> {
  return (await insert(db, key, time)).length > 0
}

/**
 * Whether the key is blocked; where it is not, whoever wants to block it waits until this transaction
 * ends. The rows are the lock: an insert waits for another one of the same fingerprint, and takes
 * place when that has left none. A transaction does this after it has locked the ledger, not before.
 */
export async function holdUnblocked(db: Db, key: Exposed, time: string): Promise<boolean> {
  const free = await insert(db, key, time)
  if (free.length > 0) {
    await db.deleteFrom('blocked_fingerprint').where('fingerprint', 'in', free).execute()
  }
  return free.length < fingerprintsOf(key).length
}

/** Always in the same order, so that two transactions do not wait for each other. */
function fingerprintsOf({ thumbprint, materialSha256 }: Exposed): string[] {
  return [...new Set([thumbprint, materialSha256])].sort()
}

async function insert(db: Db, key: Exposed, time: string): Promise<string[]> {
  const rows = await db
    .insertInto('blocked_fingerprint')
    .values(fingerprintsOf(key).map((fingerprint) => ({ fingerprint, create_time: time })))
    .onConflict((conflict) => conflict.column('fingerprint').doNothing())
    .returning('fingerprint')
    .execute()
  return rows.map(({ fingerprint }) => fingerprint)
}
