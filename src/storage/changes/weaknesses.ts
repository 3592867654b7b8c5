import type { Kysely } from 'kysely'
import { keyChanges } from '../../core/keys/events.ts'
import { isActive } from '../../core/keys/jwks.ts'
import { patchKey } from '../../core/keys/patches.ts'
import type { EventChanges } from '../../core/ledger/chain.ts'
import type { ChangeOf, WeaknessReport } from '../../core/ledger/changes.ts'
import type { KeyRecord } from '../../core/records.ts'
import type { Tables } from '../schema.ts'
import type { Outcome } from './apply.ts'
import { readReportedWeaknesses, writeReportedWeaknesses } from './audits.ts'
import { appendKeyEvent, findKey, lockKeySet } from './keys.ts'

/**
 * Tells the project's ledger what is wrong with a key, each weakness once and without a word of any
 * other project, and switches the key off with the same event if it is to be.
 */
export async function reportWeakness(
  db: Kysely<Tables>,
  change: ChangeOf<'key.report_weakness'>,
): Promise<Outcome<WeaknessReport>> {
  const { origin, projectId, kid, weaknesses, deactivate } = change
  const { head, keySet } = await lockKeySet(db, projectId)
  const key = findKey(keySet, kid)
  const told = await readReportedWeaknesses(db, { projectId, kid })
  const reported = weaknesses.filter((code) => !told.includes(code))
  const after = deactivate ? patchKey(key, { active: false }, origin.time) : key
  const active = isActive(after, origin.time)
  const result = { reported, active, deactivated: after !== key }
  if (after === key && reported.length === 0) return { result, changed: false }
  if (after !== key) await writeState(db, after)
  await writeReportedWeaknesses(db, { projectId, kid }, [...told, ...reported])
  const changes: EventChanges = {
    ...(reported.length === 0 ? {} : { weaknesses: { to: reported.join(' ') } }),
    ...keyChanges(key, after),
  }
  const type = reported.length === 0 ? 'key.updated' : 'key.weakness_found'
  await appendKeyEvent(db, head, origin, type, key, changes)
  return { result, changed: true }
}

async function writeState(db: Kysely<Tables>, key: KeyRecord): Promise<void> {
  await db
    .updateTable('jwt_key')
    .set({
      enabled: key.enabled ? 1 : 0,
      update_time: key.updateTime,
      publish_time: key.publishTime,
    })
    .where('project_id', '=', key.projectId)
    .where('id', '=', key.id)
    .execute()
}
