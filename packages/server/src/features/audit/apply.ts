import { sql } from 'kysely'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { lockLedger, restoreRevision } from '../../kernel/ledger/locked-ledger.ts'
import type { AuditPass } from './changes.ts'

/**
 * Records which rules keys have passed. Keys deleted in the meantime are skipped; the ledger's lock
 * keeps the others from being deleted before the commit.
 */
export async function passAudit(
  { db }: Transaction,
  { projectId, kids, rules, time }: AuditPass,
): Promise<Outcome<undefined>> {
  const ledger = await lockLedger(db, projectId)
  if (ledger === undefined) return { result: undefined, changed: false }
  await sql`insert into key_audit (project_id, key_id, passed_rules, passed_time, weaknesses)
    select project_id, id, ${rules}, ${time}, '' from jwt_key
    where project_id = ${projectId} and id in (${sql.join(kids)})
    on conflict (project_id, key_id) do update
      set passed_rules = excluded.passed_rules, passed_time = excluded.passed_time`.execute(db)
  await restoreRevision(ledger)
  return { result: undefined, changed: true }
}
