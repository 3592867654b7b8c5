import type { Kysely } from 'kysely'
import { projectNotFound } from '../../core/access.ts'
import { requireValidExpiry } from '../../core/expiry.ts'
import { admitKey } from '../../core/keys/admission.ts'
import { deletedKeyChanges, keyChanges } from '../../core/keys/events.ts'
import { isActive } from '../../core/keys/jwks.ts'
import { keyNotFound } from '../../core/keys/operations.ts'
import { patchKey, rejectBlockedActivation, requirePatchCapacity } from '../../core/keys/patches.ts'
import { keyEntityTag, requireMatch } from '../../core/keys/preconditions.ts'
import type { EventChanges, EventType } from '../../core/ledger/chain.ts'
import type { ChangeOf, KeyPrecondition, Origin } from '../../core/ledger/changes.ts'
import type { KeyRecord, KeySet } from '../../core/records.ts'
import { PubringError } from '../../errors.ts'
import { readKeySet } from '../reads/store.ts'
import { keyToRow } from '../row-mapping.ts'
import type { Tables } from '../schema.ts'
import { insertion, pipeline } from '../statements.ts'
import { readKeysForAdmission } from './admission-keys.ts'
import type { Outcome } from './apply.ts'
import { forgetAudit } from './audits.ts'
import { isBlockedUnderLock, lockFingerprints } from './fingerprints.ts'
import { appendEvent, type LockedLedger, lockLedger } from './ledger.ts'

type Db = Kysely<Tables>

export const insertKeys = insertion('jwt_key')

export async function createKey(
  db: Db,
  { key, limits, origin }: ChangeOf<'key.create'>,
): Promise<Outcome<KeyRecord>> {
  const head = await lockLedger(db, key.projectId)
  if (head === undefined) throw projectNotFound()
  const [existing, lock] = await pipeline(
    db,
    () => readKeysForAdmission(db, key.projectId),
    () => lockFingerprints(db, key, origin.time),
  )
  if (existing === undefined) throw projectNotFound()
  admitKey(existing, key, { limits, now: origin.time, blocked: lock.blocked })
  await pipeline(
    db,
    () => lock.unlock(),
    () => insertKeys(db, [keyToRow(key)]),
    () => appendKeyEvent(db, head, origin, 'key.created', key, keyChanges(undefined, key)),
  )
  return { result: key, changed: true }
}

export async function updateKey(
  db: Db,
  { projectId, kid, patch, precondition, limits, origin }: ChangeOf<'key.update'>,
): Promise<Outcome<KeyRecord>> {
  const { time } = origin
  const { head, keySet } = await lockKeySet(db, projectId)
  const key = findKey(keySet, kid)
  requirePrecondition(precondition, key, time)
  requireValidExpiry(key, patch, time)
  const patched = patchKey(key, patch, time)
  if (patched === key) return { result: key, changed: false }
  if (isActive(patched, time) && !isActive(key, time)) {
    requirePatchCapacity(keySet.keys, patched, limits, time)
    if (await isBlockedUnderLock(db, key, time)) rejectBlockedActivation()
  }
  await db
    .updateTable('jwt_key')
    .set({
      label: patched.label,
      enabled: patched.enabled ? 1 : 0,
      expire_time: patched.expireTime ?? null,
      update_time: patched.updateTime,
      publish_time: patched.publishTime,
    })
    .where('project_id', '=', projectId)
    .where('id', '=', kid)
    .execute()
  await appendKeyEvent(db, head, origin, 'key.updated', key, keyChanges(key, patched))
  return { result: patched, changed: true }
}

export async function deleteKey(
  db: Db,
  { projectId, kid, precondition, origin }: ChangeOf<'key.delete'>,
): Promise<Outcome<undefined>> {
  const { head, keySet } = await lockKeySet(db, projectId)
  const key = findKey(keySet, kid)
  requirePrecondition(precondition, key, origin.time)
  if (isActive(key, origin.time)) {
    throw new PubringError(
      'key_active',
      'The key is active: verifiers may still need it. Deactivate it first (PATCH with "active": false), then delete it.',
    )
  }
  await db.deleteFrom('jwt_key').where('project_id', '=', projectId).where('id', '=', kid).execute()
  await forgetAudit(db, projectId, kid)
  await appendKeyEvent(db, head, origin, 'key.deleted', key, deletedKeyChanges(key))
  return { result: undefined, changed: true }
}

function requirePrecondition(
  precondition: KeyPrecondition | undefined,
  key: KeyRecord,
  time: string,
): void {
  if (precondition === undefined) return
  const { ifMatch, jwksMaxAge } = precondition
  requireMatch(ifMatch, keyEntityTag(key, time, jwksMaxAge), 'key')
}

/** The project's keys under its lock: nothing of them changes before this change is through. */
export async function lockKeySet(
  db: Db,
  projectId: string,
): Promise<{ head: LockedLedger; keySet: KeySet }> {
  const head = await lockLedger(db, projectId)
  const keySet = await readKeySet(db, projectId)
  if (head === undefined || keySet === undefined) throw projectNotFound()
  return { head, keySet }
}

export function findKey(keySet: KeySet, kid: string): KeyRecord {
  const key = keySet.keys.find((candidate) => candidate.id === kid)
  if (key === undefined) throw keyNotFound()
  return key
}

export async function appendKeyEvent(
  db: Db,
  head: LockedLedger,
  origin: Origin,
  type: EventType,
  key: KeyRecord,
  changes: EventChanges,
): Promise<void> {
  const { time, actor, requestId } = origin
  const subject = { type: 'key', id: key.id } as const
  await appendEvent(db, head, { type, time, actor, subject, changes, requestId })
}
