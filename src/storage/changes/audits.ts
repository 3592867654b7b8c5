import type { Kysely } from 'kysely'
import type { ChangeOf } from '../../core/ledger/changes.ts'
import type { IntakeCode } from '../../intake/codes/index.ts'
import type { Tables } from '../schema.ts'
import type { Outcome } from './apply.ts'
import { lockLedger, restoreRevision } from './ledger.ts'

type Db = Kysely<Tables>

/**
 * Remembers which rules keys have passed. One that was deleted meanwhile leaves no trace: the
 * project's lock, under which keys are deleted, keeps those that are found from going.
 */
export async function passAudit(
  db: Db,
  { projectId, kids, rules, time }: ChangeOf<'key.pass_audit'>,
): Promise<Outcome<undefined>> {
  const head = await lockLedger(db, projectId)
  if (head === undefined) return { result: undefined, changed: false }
  const passed = { passed_rules: rules, passed_time: time }
  await db
    .insertInto('key_audit')
    .columns(['project_id', 'key_id', 'passed_rules', 'passed_time', 'weaknesses'])
    .expression((select) =>
      select
        .selectFrom('jwt_key')
        .select((value) => [
          'jwt_key.project_id',
          'jwt_key.id',
          value.val(rules).as('passed_rules'),
          value.val(time).as('passed_time'),
          value.val('').as('weaknesses'),
        ])
        .where('jwt_key.project_id', '=', projectId)
        .where('jwt_key.id', 'in', kids),
    )
    .onConflict((conflict) => conflict.columns(['project_id', 'key_id']).doUpdateSet(passed))
    .execute()
  await restoreRevision(db, head)
  return { result: undefined, changed: true }
}

/** The weaknesses of the key that its project's ledger tells of. */
export async function readReportedWeaknesses(
  db: Db,
  { projectId, kid }: { projectId: string; kid: string },
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

/** Writes down all the weaknesses that the ledger tells of from now on. */
export async function writeReportedWeaknesses(
  db: Db,
  { projectId, kid }: { projectId: string; kid: string },
  codes: readonly IntakeCode[],
): Promise<void> {
  const weaknesses = codes.join(' ')
  await db
    .insertInto('key_audit')
    .values({ project_id: projectId, key_id: kid, weaknesses })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'key_id']).doUpdateSet({ weaknesses }),
    )
    .execute()
}

/** Of a deleted key nothing is kept but its ledger. */
export async function forgetAudit(db: Db, projectId: string, kid: string): Promise<void> {
  await db
    .deleteFrom('key_audit')
    .where('project_id', '=', projectId)
    .where('key_id', '=', kid)
    .execute()
}
