import type { Caller } from '../../core/access/callers.ts'
import { faultsOf, itemFaults, notFound } from '../../core/faults.ts'
import { type Admission, admitKeys } from '../../core/keys/admission.ts'
import type { ChangeOf, ImportResult, KeyToImport } from '../../core/ledger/changes.ts'
import { recordedChanges } from '../../core/ledger/subjects.ts'
import type { KeyRecord } from '../../core/records.ts'
import { requireSuccessor } from '../../core/trust/faults.ts'
import { keyToRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { insertion, pipeline } from '../statements.ts'
import { readKeysForAdmission } from './admission-keys.ts'
import { lockFingerprints } from './fingerprints.ts'
import { readKidUse, reservePublishedKids } from './kids.ts'
import { appendEvents, eventAbout, lockProjectLedger, type NewEvent } from './ledger.ts'
import type { Outcome } from './outcome.ts'
import { markUsed } from './trust/token-exchange.ts'

const insertKeys = insertion('jwt_key')

/** Registers one key, as an import of one does; the project must not have it. */
export async function createKey(
  db: Db,
  { key, limits, origin }: ChangeOf<'key.create'>,
): Promise<Outcome<KeyRecord>> {
  const keys = [{ index: 0, key, kidProvided: false }]
  const { projectId } = key
  const change = { origin, projectId, keys, limits, compared: [], dryRun: false }
  const { created, refused } = await registerKeys(db, change, { rejectsTwins: true })
  const [record] = created
  if (record === undefined) throw refused[0]?.error ?? new Error('a key without an outcome')
  return { result: record, changed: true }
}

/**
 * Registers all keys or none. Rejections are in the result instead of an error, since the caller
 * adds its own to them. Each created key gets an event, as if it were registered alone.
 */
export async function importKeys(
  db: Db,
  change: ChangeOf<'key.import'>,
): Promise<Outcome<ImportResult>> {
  const { items, created, refused, room } = await registerKeys(db, change, { rejectsTwins: false })
  const rejected = refused.flatMap(({ index, error }) => itemFaults(index, faultsOf(error)))
  const changed = !change.dryRun && rejected.length === 0 && created.length > 0
  return { result: { items, rejected, room }, changed }
}

/** Admits the keys, and stores them unless one is refused. */
async function registerKeys(
  db: Db,
  change: Omit<ChangeOf<'key.import'>, 'type'>,
  { rejectsTwins }: { rejectsTwins: boolean },
): Promise<Admission> {
  const { origin, projectId, limits, compared, dryRun } = change
  const submitted = change.keys.map(({ key }) => key)
  const kids = change.keys.filter(({ kidProvided }) => kidProvided).map(({ key }) => key.id)
  const [ledger, existing, lock] = await pipeline(
    db,
    () => lockProjectLedger(db, projectId, origin),
    () => readKeysForAdmission(db, projectId),
    () => lockFingerprints(db, { keys: submitted, kids }, origin.time),
  )
  if (existing === undefined) throw notFound('project_not_found')
  const keys = await withIntroducer(db, change.keys, ledger.caller)
  const publishedKids = submitted.flatMap(({ publishedKid }) => publishedKid ?? [])
  const admission = admitKeys(existing, keys, {
    limits,
    now: origin.time,
    blocked: lock.blocked,
    kidUse: await readKidUse(db, projectId, [...kids, ...publishedKids]),
    compared: new Set(compared),
    rejectsTwins,
  })
  const { created, refused } = admission
  if (dryRun || refused.length > 0 || created.length === 0) {
    await lock.unlock()
    return admission
  }
  await pipeline(
    db,
    () => lock.unlock(),
    () => insertKeys(db, created.map(keyToRow)),
    () => reservePublishedKids(db, created),
    () => appendEvents(db, ledger, origin, created.map(keyCreated)),
  )
  return admission
}

/** A caller that a key vouched for registers that one key, and only once. */
async function withIntroducer(
  db: Db,
  keys: readonly KeyToImport[],
  caller: Caller | undefined,
): Promise<readonly KeyToImport[]> {
  if (caller?.voucher === undefined || caller.workload === undefined) return keys
  const { voucher, workload } = caller
  const use = { digest: workload.digest, until: workload.expireTime }
  const isFirst = await markUsed(db, use)
  return keys.map((item) => {
    requireSuccessor(voucher, item.key, isFirst)
    return { ...item, key: { ...item.key, introducedBy: voucher.keyId } }
  })
}

function keyCreated(key: KeyRecord): NewEvent {
  return eventAbout('key.created', key.id, recordedChanges('key', undefined, key))
}
