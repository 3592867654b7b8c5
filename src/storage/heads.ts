import type { Kysely } from 'kysely'
import type { Store } from '../core/context.ts'
import type { LedgerHead, SeenLedger } from '../core/records.ts'
import { chunked } from './chunks.ts'
import type { Tables } from './schema.ts'

/** Where ledgers end: what every copy in memory is compared with before it is used. */
export type Heads = Pick<Store, 'heads' | 'areUnchanged'>

export function endAsSeen(
  seen: readonly SeenLedger[],
  heads: ReadonlyMap<string, LedgerHead>,
): boolean {
  return seen.every(({ ledgerId, hash }) => heads.get(ledgerId)?.hash === hash)
}

export async function readHeads(
  db: Kysely<Tables>,
  ledgerIds: readonly string[],
): Promise<Map<string, LedgerHead>> {
  const heads = new Map<string, LedgerHead>()
  for (const some of chunked(ledgerIds)) {
    const rows = await db
      .selectFrom('ledger')
      .select(['project_id', 'revision', 'hash'])
      .where('project_id', 'in', some)
      .execute()
    for (const { project_id, revision, hash } of rows) heads.set(project_id, { revision, hash })
  }
  return heads
}
