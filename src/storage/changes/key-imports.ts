import { notFound } from '../../core/faults.ts'
import { admitImport } from '../../core/keys/import-admission.ts'
import type { ChangeOf, ImportResult } from '../../core/ledger/changes.ts'
import { keyToRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { readKeysForAdmission } from './admission-keys.ts'
import { findBlockedUnderLock } from './fingerprints.ts'
import { insertKeys, keyCreated } from './keys.ts'
import { readKidUse, reservePublishedKids } from './kids.ts'
import { appendEvents, lockProjectLedger } from './ledger.ts'
import type { Outcome } from './outcome.ts'

/**
 * Registers all keys or none. Rejections are in the result instead of an error, since the caller
 * adds its own to them. Each created key gets an event, as if it were registered alone.
 */
export async function importKeys(
  db: Db,
  change: ChangeOf<'key.import'>,
): Promise<Outcome<ImportResult>> {
  const { origin, projectId, limits, compared, dryRun } = change
  const ledger = await lockProjectLedger(db, projectId, origin)
  const existing = await readKeysForAdmission(db, projectId)
  if (existing === undefined) throw notFound('project_not_found')
  const keys = change.keys.map(({ key }) => key)
  const kids = change.keys.filter(({ kidProvided }) => kidProvided).map(({ key }) => key.id)
  const blocked = await findBlockedUnderLock(db, { keys, kids }, origin.time)
  const kidUse = await readKidUse(db, projectId, [
    ...kids,
    ...keys.flatMap(({ publishedKid }) => publishedKid ?? []),
  ])
  const { created, ...result } = admitImport(existing, change.keys, {
    limits,
    now: origin.time,
    blocked,
    ids: kidUse.ids,
    publishedKids: kidUse.published,
    compared: new Set(compared),
  })
  if (dryRun || result.rejected.length > 0 || created.length === 0) {
    return { result, changed: false }
  }
  await insertKeys(db, created.map(keyToRow))
  await reservePublishedKids(db, created)
  await appendEvents(db, ledger, origin, created.map(keyCreated))
  return { result, changed: true }
}
