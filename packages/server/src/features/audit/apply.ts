import { sql } from 'kysely'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { lockLedger } from '../../kernel/ledger/locked-ledger.ts'
import type { KeyRecord } from '../keys/stored.ts'
import type { AuditPass } from './changes.ts'

/**
 * Records which rules keys have passed. Keys deleted in the meantime are skipped; the ledger's lock
 * keeps the others from being deleted before the commit.
 */
export async function passAudit(
  { db }: Transaction,
  { projectId, kids, rules, time }: AuditPass,
): Promise<Outcome<undefined>> {
  if ((await lockLedger(db, projectId)) === undefined) return { result: undefined, changed: false }
  await sql`insert into passed_key (project_id, key_id, rules, time)
    select project_id, id, ${rules}, ${time} from jwt_key
    where project_id = ${projectId} and id in (${sql.join(kids)})
    on conflict (project_id, key_id) do update
      set rules = excluded.rules, time = excluded.time`.execute(db)
  return { result: undefined, changed: true }
}

export async function deletePass(
  { db }: Transaction,
  { projectId, id }: KeyRecord,
  step: 'disable' | 'delete',
): Promise<NewEvent[]> {
  if (step === 'delete') {
    const passes = db.deleteFrom('passed_key').where('project_id', '=', projectId)
    await passes.where('key_id', '=', id).execute()
  }
  return []
}
