import type { IntakeCode } from '@pubring/intake/codes'
import { sql } from 'kysely'
import { notFound } from '../../kernel/faults.ts'
import { type EventChanges, eventAbout } from '../../kernel/ledger/chain.ts'
import type { ChangeOf, WeaknessReport } from '../../kernel/ledger/changes.ts'
import { appendEvents, lockLedger, restoreRevision } from '../../kernel/ledger/locked-ledger.ts'
import type { Outcome } from '../../kernel/storage/outcome.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { isActive } from '../../kernel/values/expiry.ts'
import { findKey, lockKeySet, updateKeyRow } from '../keys/apply.ts'
import { patchKey } from '../keys/patches.ts'
import { keys } from '../keys/stored.ts'
import { endRotations } from '../rotations/ending.ts'

/**
 * Records which rules keys have passed. Keys deleted in the meantime are skipped; the ledger's lock
 * keeps the others from being deleted before the commit.
 */
export async function passAudit(
  db: Db,
  { projectId, kids, rules, time }: ChangeOf<'key.pass_audit'>,
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

/**
 * Records a key's weaknesses in its project's ledger, each of them once, and deactivates the key
 * with the same event if `deactivate` is set. The event names no other project.
 */
export async function reportWeakness(
  db: Db,
  change: ChangeOf<'key.report_weakness'>,
): Promise<Outcome<WeaknessReport>> {
  const { origin, projectId, kid, weaknesses, deactivate } = change
  const { ledger, keySet } = await lockKeySet(db, projectId, origin)
  const key = findKey(keySet, kid)
  // An event would record the row as it is now. It is not published anyway.
  if (key.contradicted) throw notFound('key_not_found')
  const known = await readReportedWeaknesses(db, projectId, kid)
  const reported = weaknesses.filter((code) => !known.includes(code))
  const after = deactivate ? patchKey(key, { active: false }, origin.time) : key
  const active = isActive(after, origin.time)
  const result = { reported, active, deactivated: after !== key }
  if (after === key && reported.length === 0) return { result, changed: false }
  if (after !== key) await updateKeyRow(db, after)
  const all = { weaknesses: [...known, ...reported].join(' ') }
  await db
    .insertInto('key_audit')
    .values({ project_id: projectId, key_id: kid, ...all })
    .onConflict((conflict) => conflict.columns(['project_id', 'key_id']).doUpdateSet(all))
    .execute()
  const changes: EventChanges = {
    ...(reported.length === 0 ? {} : { weaknesses: { to: reported.join(' ') } }),
    ...keys.state(after),
    ...keys.changes(key, after),
  }
  const type = reported.length === 0 ? 'key.updated' : 'key.weakness_found'
  const ended = after === key ? [] : await endRotations(db, key, 'disable', origin.time)
  await appendEvents(ledger, [eventAbout(type, key.id, changes), ...ended])
  return { result, changed: true }
}

async function readReportedWeaknesses(
  db: Db,
  projectId: string,
  kid: string,
): Promise<IntakeCode[]> {
  const row = await db
    .selectFrom('key_audit')
    .select('weaknesses')
    .where('project_id', '=', projectId)
    .where('key_id', '=', kid)
    .executeTakeFirst()
  const codes = (row?.weaknesses ?? '').split(' ').filter((code) => code !== '')
  return codes as IntakeCode[]
}
