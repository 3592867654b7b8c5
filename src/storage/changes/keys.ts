import type { KeyWarning } from '../../contract/keys.ts'
import { requireRecentSignIn } from '../../core/access/recent-sign-in.ts'
import { keyEntityTags, requireIfMatch } from '../../core/entity-tags.ts'
import { isActive, requireValidExpiry } from '../../core/expiry.ts'
import { notFound } from '../../core/faults.ts'
import { findByKid, kidOf } from '../../core/keys/kids.ts'
import {
  deletedKeyChanges,
  patchKey,
  patchWarnings,
  rejectBlockedActivation,
  requirePatchCapacity,
} from '../../core/keys/patches.ts'
import type { ChangeOf, KeyPrecondition, KeyUpdate, Origin } from '../../core/ledger/changes.ts'
import { recordedChanges } from '../../core/ledger/subjects.ts'
import type { KeyRecord, KeySet } from '../../core/records.ts'
import {
  activeDescendants,
  hasActiveAncestor,
  requireDecision,
} from '../../core/trust/descendants.ts'
import { PubringError } from '../../errors.ts'
import { requireUncontradicted } from '../reads/last-events.ts'
import { readKeySet } from '../reads/store.ts'
import { keyToRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { isBlockedUnderLock } from './fingerprints.ts'
import {
  appendEvents,
  eventAbout,
  type LockedLedger,
  lockProjectLedger,
  type NewEvent,
} from './ledger.ts'
import type { Outcome } from './outcome.ts'
import { endRotations } from './rotations/ending.ts'

export async function updateKey(
  db: Db,
  change: ChangeOf<'key.update'>,
): Promise<Outcome<KeyUpdate>> {
  const { projectId, kid, patch, precondition, descendants: decision, limits, origin } = change
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
  const descendants = patch.active === false ? activeDescendants(keys, key, time) : []
  return storePatch(db, locked, [key, patched], { descendants, decision })
}

/** What a change of a key means for the active keys that it vouched for. */
interface Consequences {
  descendants: readonly KeyRecord[]
  /** Whether they are deactivated; undefined: not decided. */
  decision: boolean | undefined
}

async function storePatch(
  db: Db,
  locked: LockedKeySet,
  [key, patched]: KeyChange,
  { descendants, decision }: Consequences,
): Promise<Outcome<KeyUpdate>> {
  const { ledger, origin } = locked
  if (key.enabled) requireDecision(decision, descendants)
  const changes = [[key, patched] as const, ...deactivations(decision, descendants, origin.time)]
  const { events, warnings } = await patchEvents(db, locked, changes)
  if (events.length === 0) return { result: { key, warnings: [] }, changed: false }
  await appendEvents(db, ledger, origin, events)
  return { result: { key: patched, warnings }, changed: true }
}

type KeyChange = readonly [before: KeyRecord, after: KeyRecord]

function deactivations(
  decision: boolean | undefined,
  descendants: readonly KeyRecord[],
  time: string,
): KeyChange[] {
  if (decision !== true) return []
  return descendants.map((key) => [key, patchKey(key, { active: false }, time)])
}

/**
 * Writes the keys that differ. Returns their events, with those of the rotations that end with them,
 * and the warnings about them. If there are any, the caller must have signed in recently.
 */
export async function patchEvents(
  db: Db,
  { ledger, keySet, origin }: LockedKeySet,
  patches: readonly KeyChange[],
): Promise<{ events: NewEvent[]; warnings: KeyWarning[] }> {
  const changes = patches.filter(([before, after]) => after !== before)
  const patched = changes.map(([, after]) => after)
  const warnings = patchWarnings(keySet.keys, patched, origin.time)
  if (warnings.length > 0) requireRecentSignIn(ledger.caller, origin)
  const events: NewEvent[] = []
  for (const [before, after] of changes) {
    await updateKeyRow(db, after)
    events.push(eventAbout('key.updated', before.id, recordedChanges('key', before, after)))
    if (after.enabled || !before.enabled) continue
    events.push(...(await endRotations(db, before, 'disable', origin.time)))
  }
  return { events, warnings }
}

export async function deleteKey(
  db: Db,
  { projectId, kid, precondition, descendants: decision, origin }: ChangeOf<'key.delete'>,
): Promise<Outcome<undefined>> {
  const locked = await lockKeySet(db, projectId, origin)
  const key = findKey(locked.keySet, kid)
  requirePrecondition(precondition, key, origin.time)
  const descendants = orphans(locked, key)
  return removeKey(db, locked, key, { descendants, decision })
}

/** Keys that cannot be traced to the active ancestors of the key once it is gone. */
function orphans({ keySet: { keys }, origin: { time } }: LockedKeySet, key: KeyRecord) {
  return hasActiveAncestor(keys, key, time) ? activeDescendants(keys, key, time) : []
}

async function removeKey(
  db: Db,
  locked: LockedKeySet,
  key: KeyRecord,
  { descendants, decision }: Consequences,
): Promise<Outcome<undefined>> {
  const { ledger, origin } = locked
  const { projectId, id } = key
  if (isActive(key, origin.time)) {
    throw new PubringError(
      'key_active',
      'The key is active: verifiers may still need it. Deactivate it first (PATCH with "active": false), then delete it.',
    )
  }
  requireDecision(decision, descendants)
  const changes = deactivations(decision, descendants, origin.time)
  const { events } = await patchEvents(db, locked, changes)
  await db.deleteFrom('jwt_key').where('project_id', '=', projectId).where('id', '=', id).execute()
  await db
    .deleteFrom('key_audit')
    .where('project_id', '=', projectId)
    .where('key_id', '=', id)
    .execute()
  await appendEvents(db, ledger, origin, [
    eventAbout('key.deleted', key.id, deletedKeyChanges(key)),
    ...(await endRotations(db, key, 'delete', origin.time)),
    ...events,
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

/** The keys of a project locked for a change, and where that comes from. */
export interface LockedKeySet {
  ledger: LockedLedger
  keySet: KeySet
  origin: Origin
}

/** Locks the project, so that its keys do not change before the transaction ends. */
export async function lockKeySet(db: Db, projectId: string, origin: Origin): Promise<LockedKeySet> {
  const ledger = await lockProjectLedger(db, projectId, origin)
  const keySet = await readKeySet(db, projectId)
  if (keySet === undefined) throw notFound('project_not_found')
  return { ledger, keySet, origin }
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
    .deleteFrom('exchanged_key')
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
