import { sql } from 'kysely'
import { projectNotFound } from '../../core/access.ts'
import { admitImport } from '../../core/keys/import-admission.ts'
import type { EventChanges } from '../../core/ledger/chain.ts'
import type { ChangeOf, ImportResult } from '../../core/ledger/changes.ts'
import { keyToRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { chunked } from '../statements.ts'
import { readKeysForAdmission } from './admission-keys.ts'
import { findBlockedUnderLock } from './fingerprints.ts'
import { insertKeys, keyCreated } from './keys.ts'
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
  if (existing === undefined) throw projectNotFound()
  const keys = change.keys.map(({ key }) => key)
  const kids = change.keys.filter(({ kidProvided }) => kidProvided).map(({ key }) => key.id)
  const blocked = await findBlockedUnderLock(db, { keys, kids }, origin.time)
  const { created, ...result } = admitImport(existing, change.keys, {
    limits,
    now: origin.time,
    blocked,
    holders: await readThumbprints(db, kids),
    compared: new Set(compared),
  })
  if (dryRun || result.rejected.length > 0 || created.length === 0) {
    return { result, changed: false }
  }
  await insertKeys(db, created.map(keyToRow))
  await appendEvents(db, ledger, origin, created.map(keyCreated))
  return { result, changed: true }
}

/** For each kid the thumbprints of all keys that ever had it, by the ledgers of all projects. */
async function readThumbprints(db: Db, kids: readonly string[]): Promise<Map<string, Set<string>>> {
  const thumbprints = new Map<string, Set<string>>()
  for (const chunk of chunked(kids)) {
    const rows = await db
      .selectFrom('event')
      .select(['subject_id', 'changes'])
      .where('subject_id', 'in', chunk)
      // A literal, so that every planner uses the partial index on these events.
      .where('type', '=', sql.lit('key.created'))
      .execute()
    for (const { subject_id, changes } of rows) {
      const { thumbprint }: EventChanges = JSON.parse(changes ?? '{}')
      const ofKid = thumbprints.get(subject_id) ?? new Set()
      thumbprints.set(subject_id, ofKid.add(String(thumbprint?.to)))
    }
  }
  return thumbprints
}
