import { PubringError } from '../../errors.ts'
import { requireRecentSignIn } from '../../kernel/access/recent-sign-in.ts'
import { requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import type { ChangeOf, KeyPrecondition, KeyUpdate, Origin } from '../../kernel/ledger/changes.ts'
import { requireUncontradicted } from '../../kernel/ledger/contradictions.ts'
import {
  appendEvents,
  type LockedLedger,
  lockProjectLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import type { Outcome } from '../../kernel/storage/outcome.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { isActive, requireValidExpiry } from '../../kernel/values/expiry.ts'
import { endRotations } from '../rotations/ending.ts'
import type { KeyWarning } from './contract.ts'
import { isBlockedUnderLock } from './exposure/fingerprints.ts'
import { findByKid, kidOf } from './kids.ts'
import {
  deletedKeyChanges,
  patchKey,
  patchWarnings,
  rejectBlockedActivation,
  requirePatchCapacity,
} from './patches.ts'
import { readKeySet } from './reads.ts'
import { keyEntityTags } from './roles.ts'
import { type KeyRecord, type KeySet, keys, keyToRow } from './stored.ts'

export async function updateKey(
  db: Db,
  change: ChangeOf<'key.update'>,
): Promise<Outcome<KeyUpdate>> {
  const { projectId, kid, patch, precondition, limits, origin } = change
  const { time } = origin
  const locked = await lockKeySet(db, projectId, origin)
  const { keys } = locked.keySet
  const key = findKey(locked.keySet, kid)
  requirePrecondition(precondition, key, time)
  requireUncontradicted('key', key)
  requireValidExpiry(key, patch, time)
  const patched = patchKey(key, patch, time)
  if (isActive(patched, time) && !isActive(key, time)) {
    requirePatchCapacity(keys, patched, limits, time)
    if (await isBlockedUnderLock(db, key, time)) rejectBlockedActivation()
  }
  const { events, warnings } = await patchEvents(db, locked, [key, patched])
  if (events.length === 0) return { result: { key, warnings }, changed: false }
  await appendEvents(locked.ledger, events)
  return { result: { key: patched, warnings }, changed: true }
}

/**
 * Writes the key if it differs. Returns the events, with those of the rotations that end with it, and
 * the warnings about the change. To leave a project without an active key, the caller must have signed
 * in recently.
 */
export async function patchEvents(
  db: Db,
  { ledger, keySet }: LockedKeySet,
  [before, after]: [before: KeyRecord, after: KeyRecord],
): Promise<{ events: NewEvent[]; warnings: KeyWarning[] }> {
  if (after === before) return { events: [], warnings: [] }
  const { origin } = ledger
  const warnings = patchWarnings(keySet.keys, [after], origin.time)
  if (warnings.some(({ code }) => code === 'last_active_key')) {
    requireRecentSignIn(ledger.caller, origin)
  }
  await updateKeyRow(db, after)
  const updated = keys.event('updated', before.id, keys.changes(before, after))
  const isDisabled = before.enabled && !after.enabled
  const ended = isDisabled ? await endRotations(db, before, 'disable', origin.time) : []
  return { events: [updated, ...ended], warnings }
}

export async function deleteKey(
  db: Db,
  { projectId, kid, precondition, origin }: ChangeOf<'key.delete'>,
): Promise<Outcome<undefined>> {
  const { ledger, keySet } = await lockKeySet(db, projectId, origin)
  const key = findKey(keySet, kid)
  requirePrecondition(precondition, key, origin.time)
  if (isActive(key, origin.time)) {
    throw new PubringError(
      'key_active',
      'The key is active: verifiers may still need it. Deactivate it first (PATCH with "active": false), then delete it.',
    )
  }
  const { id } = key
  await db.deleteFrom('jwt_key').where('project_id', '=', projectId).where('id', '=', id).execute()
  await db
    .deleteFrom('key_audit')
    .where('project_id', '=', projectId)
    .where('key_id', '=', id)
    .execute()
  await appendEvents(ledger, [
    keys.event('deleted', id, deletedKeyChanges(key)),
    ...(await endRotations(db, key, 'delete', origin.time)),
  ])
  return { result: undefined, changed: true }
}

function requirePrecondition(
  precondition: KeyPrecondition | undefined,
  key: KeyRecord,
  time: string,
): void {
  if (precondition === undefined) return
  const { ifMatch, jwksMaxAge } = precondition
  requireIfMatch(ifMatch, keyEntityTags(key, time, jwksMaxAge), 'key')
}

/** The keys of a project locked for a change. */
export interface LockedKeySet {
  ledger: LockedLedger
  keySet: KeySet
}

/** Locks the project, so that its keys do not change before the transaction ends. */
export async function lockKeySet(db: Db, projectId: string, origin: Origin): Promise<LockedKeySet> {
  const ledger = await lockProjectLedger(db, projectId, origin)
  const keySet = await readKeySet(db, projectId)
  if (keySet === undefined) throw notFound('project_not_found')
  return { ledger, keySet }
}

export function findKey(keySet: KeySet, kid: string): KeyRecord {
  const key = findByKid(keySet.keys, kid)
  if (key === undefined) throw notFound('key_not_found')
  return key
}

/**
 * Writes the members of a key that can change. API keys for its successor end, so that they do not come
 * back when it is activated again.
 */
export async function updateKeyRow(db: Db, key: KeyRecord): Promise<void> {
  await db
    .deleteFrom('api_key')
    .where('project_id', '=', key.projectId)
    .where('successor', 'is not', null)
    .where('subject', 'in', [key.id, kidOf(key)])
    .execute()
  const { label, enabled, expire_time, update_time, publish_time, activate_time } = keyToRow(key)
  await db
    .updateTable('jwt_key')
    .set({ label, enabled, expire_time, update_time, publish_time, activate_time })
    .where('project_id', '=', key.projectId)
    .where('id', '=', key.id)
    .execute()
}
