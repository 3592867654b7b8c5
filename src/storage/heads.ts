import type { Kysely } from 'kysely'
import type { Store } from '../core/context.ts'
import type { LedgerHead } from '../core/records.ts'
import type { Tables } from './schema.ts'
import { statement } from './statements.ts'

/** Where ledgers end: what every copy in memory is compared with before it is used. */
export type LedgerHeads = Pick<Store, 'heads' | 'headsMatch'>

const headOf = statement((db, { id }: { id: string }) =>
  db.selectFrom('ledger').select(['revision', 'hash']).where('project_id', '=', id),
)

/** One statement for each: for a database without round trips. */
export async function readHeads(
  db: Kysely<Tables>,
  ledgerIds: readonly string[],
): Promise<Map<string, LedgerHead>> {
  const heads = new Map<string, LedgerHead>()
  for (const id of ledgerIds) {
    const [row] = await headOf(db, { id })
    if (row !== undefined) heads.set(id, row)
  }
  return heads
}
