import type { RotationUpdate } from '../../../contract/rotations.ts'
import { requireIfMatch, rotationEntityTag } from '../../../core/entity-tags.ts'
import { isActive } from '../../../core/expiry.ts'
import { notFound } from '../../../core/faults.ts'
import { convergedTime } from '../../../core/keys/jwks.ts'
import { patchKey } from '../../../core/keys/patches.ts'
import type { ChangeOf, Origin } from '../../../core/ledger/changes.ts'
import type { KeyRecord, RotationRecord } from '../../../core/records.ts'
import {
  patchSchedule,
  type RotationSituation,
  requireReady,
  requireUnderWay,
  withoutSchedule,
} from '../../../core/rotations/schedule.ts'
import { latest } from '../../../core/times.ts'
import { activeDescendants } from '../../../core/trust/descendants.ts'
import { invalidField, PubringError } from '../../../errors.ts'
import { requireUncontradicted, rotations } from '../../reads/last-events.ts'
import type { Db } from '../../schema.ts'
import {
  type Consequences,
  findKey,
  type LockedKeySet,
  lockKeySet,
  orphans,
  removeKey,
  storePatch,
  warnAbout,
} from '../keys.ts'
import { appendEvents } from '../ledger.ts'
import type { Outcome } from '../outcome.ts'
import { authorOf, requireAuthor } from './authors.ts'
import { type RotationChange, readOpenRotations, writeRotation } from './ending.ts'

const nothing: Outcome<undefined> = { result: undefined, changed: false }

/** A rotation and the keys of its project, locked, and what its rules depend on. */
interface LockedRotation extends LockedKeySet {
  rotation: RotationRecord
  situation: RotationSituation
}

/** Only one under way for each old key. */
export async function startRotation(
  db: Db,
  change: ChangeOf<'rotation.start'>,
): Promise<Outcome<undefined>> {
  const { projectId, id, origin, schedule, jwksMaxAge } = change
  const { time } = origin
  const locked = await lockKeySet(db, projectId, origin)
  const { keySet } = locked
  const from = findKey(keySet, change.from)
  const to = findKey(keySet, change.to)
  if (from === to) throw invalidField('/to', 'same_key', 'to must be another key than from.')
  for (const key of [from, to]) requireActive(key, time)
  await requireFree(db, from)
  const times = { createTime: time, updateTime: time }
  const rotation = { projectId, id, fromKid: from.id, toKid: to.id, ...times }
  const situation = { keys: keySet.keys, time, jwksMaxAge }
  const after = await reschedule(db, { ...locked, rotation, situation }, schedule)
  return append(db, locked, { type: 'rotation.started', before: undefined, after })
}

function requireActive(key: KeyRecord, time: string): void {
  requireUncontradicted('key', key)
  if (isActive(key, time)) return
  throw new PubringError(
    'key_inactive',
    `The key “${key.label}” (${key.id}) is inactive, and a rotation replaces an active key by another active one.`,
  )
}

async function requireFree(db: Db, from: KeyRecord): Promise<void> {
  const others = await readOpenRotations(db, from.projectId)
  const other = others.find(({ fromKid, outcome }) => fromKid === from.id && outcome === undefined)
  if (other === undefined) return
  throw new PubringError(
    'rotation_exists',
    `The rotation ${other.id} already replaces this key. Go on with that one, or abandon it.`,
  )
}

export async function scheduleRotation(
  db: Db,
  change: ChangeOf<'rotation.schedule'>,
): Promise<Outcome<undefined>> {
  const locked = await lockRotation(db, change)
  const { rotation: before } = locked
  requireIfMatch(change.ifMatch, rotationEntityTag(before), 'rotation')
  const after = await reschedule(db, locked, change.patch)
  if (after === before) return nothing
  const type = after.author === undefined ? 'rotation.unscheduled' : 'rotation.scheduled'
  return append(db, locked, { type, before, after })
}

/** What needs a recent sign-in by hand needs one to be scheduled. */
async function reschedule(
  db: Db,
  locked: LockedRotation,
  patch: RotationUpdate,
): Promise<RotationRecord> {
  const { rotation, situation, keySet, origin } = locked
  const author = await authorOf(db, locked, rotation.projectId)
  const after = patchSchedule(rotation, patch, author, situation)
  const from = keySet.keys.find(({ id }) => id === rotation.fromKid)
  if (after.disableTime !== undefined && after !== rotation && from !== undefined) {
    warnAbout(locked, [[from, patchKey(from, { active: false }, origin.time)]])
  }
  return after
}

export async function finishRotation(
  db: Db,
  change: ChangeOf<'rotation.finish'>,
): Promise<Outcome<undefined>> {
  const locked = await lockRotation(db, change)
  const decision = change.descendants ?? locked.rotation.descendants
  return disableOldKey(db, locked, { decision })
}

export async function abandonRotation(
  db: Db,
  change: ChangeOf<'rotation.abandon'>,
): Promise<Outcome<undefined>> {
  const locked = await lockRotation(db, change)
  const { rotation: before, situation } = locked
  requireIfMatch(change.ifMatch, rotationEntityTag(before), 'rotation')
  requireUnderWay(before, situation)
  const endTime = situation.time
  const updateTime = latest(endTime, before.updateTime)
  const end = { outcome: 'abandoned', endTime, updateTime } as const
  const after = { ...withoutSchedule(before), ...end }
  return append(db, locked, { type: 'rotation.abandoned', before, after })
}

/** Does nothing if another server has taken the step, or a caller has changed it, meanwhile. */
export async function takeStep(
  db: Db,
  change: ChangeOf<'rotation.step'>,
): Promise<Outcome<undefined>> {
  const { projectId, origin, jwksMaxAge } = change
  const { time } = origin
  const locked = await lockRotation(db, change)
  const { rotation, keySet } = locked
  const { author } = rotation
  if (!isDue(rotation, change) || author === undefined) return nothing
  await requireAuthor(db, author, projectId, time)
  const decided = { decision: rotation.descendants, scheduledBy: author }
  if (rotation.disableTime !== undefined) return disableOldKey(db, locked, decided)
  const key = findKey(keySet, rotation.fromKid)
  const dueTime = convergedTime(key, time, jwksMaxAge)
  if (!isActive(key, time) && dueTime > time) {
    // It was activated again, and has not been off for long.
    const after = { ...rotation, dueTime, updateTime: latest(time, rotation.updateTime) }
    return append(db, locked, { type: 'rotation.scheduled', before: rotation, after })
  }
  const descendants = spared(locked, orphans(locked, key))
  return removeKey(db, locked, key, { ...decided, descendants })
}

/** As `takeStep`. */
export async function waitForCaller(
  db: Db,
  change: ChangeOf<'rotation.wait'>,
): Promise<Outcome<undefined>> {
  const locked = await lockRotation(db, change)
  const { rotation: before, origin } = locked
  if (!isDue(before, change)) return nothing
  const { dueTime: _dueTime, ...rest } = before
  const updateTime = latest(origin.time, before.updateTime)
  const after = { ...rest, waitingReason: change.reason, updateTime }
  return append(db, locked, { type: 'rotation.waiting', before, after })
}

function isDue(
  { dueTime, author }: RotationRecord,
  { origin, authorId }: { origin: Origin; authorId: string },
): boolean {
  return dueTime !== undefined && dueTime <= origin.time && author?.id === authorId
}

/** By the rules of a deactivation by hand; the event of the rotation is that of its end. */
async function disableOldKey(
  db: Db,
  locked: LockedRotation,
  decided: Omit<Consequences, 'descendants'>,
): Promise<Outcome<undefined>> {
  const { rotation, situation, keySet, origin } = locked
  const key = findKey(keySet, rotation.fromKid)
  // A schedule goes on with a key that has expired meanwhile.
  const isDone = !key.enabled || key.contradicted === true
  if (isDone || decided.scheduledBy === undefined) requireUnderWay(rotation, situation)
  requireReady(rotation, situation)
  const descendants = spared(locked, activeDescendants(keySet.keys, key, origin.time))
  const patched = patchKey(key, { active: false }, origin.time)
  await storePatch(db, locked, [key, patched], { ...decided, descendants })
  return { result: undefined, changed: true }
}

/** Without the new key, which stays by the decision to rotate, and the keys that it vouched for. */
function spared(
  { rotation, keySet: { keys }, origin }: LockedRotation,
  descendants: readonly KeyRecord[],
): KeyRecord[] {
  const to = keys.find(({ id }) => id === rotation.toKid)
  const kept = to === undefined ? [] : [to, ...activeDescendants(keys, to, origin.time)]
  return descendants.filter((key) => !kept.includes(key))
}

async function lockRotation(
  db: Db,
  change: Pick<ChangeOf<'rotation.step'>, 'projectId' | 'id' | 'origin' | 'jwksMaxAge'>,
): Promise<LockedRotation> {
  const { projectId, id, origin, jwksMaxAge } = change
  const locked = await lockKeySet(db, projectId, origin)
  const [rotation] = await rotations.read(db, (all) =>
    all.where('project_id', '=', projectId).where('id', '=', id),
  )
  if (rotation === undefined || rotation.contradicted) throw notFound('rotation_not_found')
  const situation = { keys: locked.keySet.keys, time: origin.time, jwksMaxAge }
  return { ...locked, rotation, situation }
}

async function append(
  db: Db,
  { ledger, origin }: LockedKeySet,
  change: RotationChange,
): Promise<Outcome<undefined>> {
  await appendEvents(db, ledger, origin, [await writeRotation(db, change)])
  return { result: undefined, changed: true }
}
