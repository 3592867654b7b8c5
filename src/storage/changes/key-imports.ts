import { type Kysely, sql } from 'kysely'
import { projectNotFound } from '../../core/access.ts'
import { keyChanges } from '../../core/keys/events.ts'
import { admitImport } from '../../core/keys/import-admission.ts'
import type { EventChanges } from '../../core/ledger/chain.ts'
import type { ChangeOf, ImportResult } from '../../core/ledger/changes.ts'
import { chunked } from '../chunks.ts'
import { keyToRow } from '../row-mapping.ts'
import type { Tables } from '../schema.ts'
import { readKeysForAdmission } from './admission-keys.ts'
import type { Outcome } from './apply.ts'
import { findBlockedUnderLock } from './fingerprints.ts'
import { insertKeys } from './keys.ts'
import { appendEvents, lockLedger } from './ledger.ts'

type Db = Kysely<Tables>

/**
 * Registers all keys or none. Refusals are part of the result, and no error: the caller has others
 * to add to them. Each created key has its own event, as if it had come alone.
 */
export async function importKeys(
  db: Db,
  change: ChangeOf<'key.import'>,
): Promise<Outcome<ImportResult>> {
  const { origin, projectId, limits, compared, dryRun } = change
  const head = await lockLedger(db, projectId)
  const existing = await readKeysForAdmission(db, projectId)
  if (head === undefined || existing === undefined) throw projectNotFound()
  const keys = change.keys.map(({ key }) => key)
  const kids = change.keys.filter(({ kidProvided }) => kidProvided).map(({ key }) => key.id)
  const blocked = await findBlockedUnderLock(db, { keys, kids }, origin.time)
  const { created, ...result } = admitImport(existing, change.keys, {
    limits,
    now: origin.time,
    blocked,
    holders: await holdersOf(db, kids),
    compared: new Set(compared),
  })
  if (dryRun || result.rejected.length > 0 || created.length === 0) {
    return { result, changed: false }
  }
  await insertKeys(db, created.map(keyToRow))
  const { time, actor, requestId } = origin
  const events = created.map((key) => ({
    type: 'key.created' as const,
    time,
    actor,
    subject: { type: 'key' as const, id: key.id },
    changes: keyChanges(undefined, key),
    requestId,
  }))
  await appendEvents(db, head, events)
  return { result, changed: true }
}

/** The thumbprints of all keys that ever had these kids, as the ledgers of all projects tell. */
async function holdersOf(db: Db, kids: readonly string[]): Promise<Map<string, Set<string>>> {
  const holders = new Map<string, Set<string>>()
  for (const some of chunked(kids)) {
    const rows = await db
      .selectFrom('event')
      .select(['subject_id', 'changes'])
      .where('subject_id', 'in', some)
      // Written out, so that every planner sees that the index of these events serves.
      .where('type', '=', sql.lit('key.created'))
      .execute()
    for (const { subject_id, changes } of rows) {
      const { thumbprint }: EventChanges = JSON.parse(changes ?? '{}')
      const known = holders.get(subject_id) ?? new Set()
      holders.set(subject_id, known.add(String(thumbprint?.to)))
    }
  }
  return holders
}
