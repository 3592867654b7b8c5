import { invalidField, PubringError } from '../../errors.ts'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { requireIfMatch } from '../../kernel/entity-tags.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { requireUncontradicted } from '../../kernel/ledger/contradictions.ts'
import { appendChange } from '../../kernel/ledger/locked-ledger.ts'
import { recordWriter } from '../../kernel/ledger/record-writer.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { earliest, isActive, isoTime, latest } from '../../kernel/values/times.ts'
import { findKey, type LockedKeySet, lockKeySet, patchEvents, withKey } from '../keys/apply.ts'
import { patchKey } from '../keys/patches.ts'
import { appendKeyEvents } from '../keys/published/stored.ts'
import { hasEnded, type KeySituation, takeoverTime } from '../keys/states.ts'
import type { KeyRecord } from '../keys/stored.ts'
import type {
  RotationAbandonment,
  RotationFinish,
  RotationPatch,
  RotationStart,
} from './changes.ts'
import { requireRotation } from './reads.ts'
import {
  type RotationRecord,
  rotationEntityTag,
  rotations,
  rotationTable,
  rotationToRow,
} from './stored.ts'

/** A rotation and the keys of its project, locked, and what its rules depend on. */
interface LockedRotation extends LockedKeySet {
  rotation: RotationRecord
  situation: KeySituation
}

/** Only one can be under way for each old key. */
export async function startRotation(
  tx: Transaction,
  change: RotationStart,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const { projectId, id, origin, tokenLifetime } = change
  const { time } = origin
  const locked = await lockKeySet(tx, projectId, origin)
  const from = findKey(locked.keySet, change.from)
  const to = findKey(locked.keySet, change.to)
  if (from === to) throw invalidField('/to', 'same_key', 'to must be another key than from.')
  for (const key of [from, to]) requireActive(key, time)
  if (to.endReason === 'compromised') {
    const detail =
      'The private key of the new key is known to others. Register a key of a new pair, and replace the old key by that one.'
    throw invalidField('/to', 'key_known_compromised', detail, 'compromised_key')
  }
  if (to.endReason !== undefined) {
    const detail =
      'The new key ends as superseded itself. Clear its expireTime, or replace the old key by another one.'
    throw invalidField('/to', 'key_superseded', detail)
  }
  await requireFree(db, from)
  const times = { createTime: time, updateTime: time }
  const after = { projectId, id, fromKid: from.id, toKid: to.id, tokenLifetime, ...times }
  return append(db, locked, { verb: 'started', before: undefined, after })
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
  const others = await readRotationsUnderWay(db, from.projectId)
  const other = others.find(({ fromKid }) => fromKid === from.id)
  if (other === undefined) return
  throw new PubringError(
    'rotation_exists',
    `The rotation ${other.id} already replaces this key. Go on with that one, or abandon it.`,
  )
}

export async function updateRotation(
  tx: Transaction,
  change: RotationPatch,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const locked = await lockRotation(tx, change)
  const { rotation: before, situation } = locked
  requireIfMatch(change.ifMatch, rotationEntityTag(before), 'rotation')
  requireUnderWay(before, situation)
  const { tokenLifetime = before.tokenLifetime } = change.patch
  if (tokenLifetime === before.tokenLifetime) return { result: undefined, changed: false }
  const updateTime = latest(situation.time, before.updateTime)
  const after = { ...before, tokenLifetime, updateTime }
  return append(db, locked, { verb: 'updated', before, after })
}

/** Sets the end of the old key by the rules of a change by hand. */
export async function finishRotation(
  tx: Transaction,
  change: RotationFinish,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const locked = await lockRotation(tx, change)
  const { rotation, situation, keySet } = locked
  requireUnderWay(rotation, situation)
  requireReady(rotation, situation)
  const { time } = situation
  const key = findKey(keySet, rotation.fromKid)
  // When the last token that it signed until now has expired.
  const lastExp = isoTime(Date.parse(time) + rotation.tokenLifetime * 1_000)
  const expireTime = earliest(lastExp, key.expireTime)
  const patched = patchKey(key, { expireTime, reason: 'superseded' }, time)
  const { events } = await patchEvents(tx, locked, [key, patched])
  // At the time of the last change of the key, so that later ones can be told from it.
  const end = endOf(rotation, 'finished', latest(time, patched.updateTime))
  const keys = withKey(keySet, patched)
  await appendKeyEvents(tx, locked.ledger, keys, [...events, await writeRotation(db, end)])
  return { result: undefined, changed: true }
}

export async function abandonRotation(
  tx: Transaction,
  change: RotationAbandonment,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const locked = await lockRotation(tx, change)
  const { rotation, situation } = locked
  requireIfMatch(change.ifMatch, rotationEntityTag(rotation), 'rotation')
  requireUnderWay(rotation, situation)
  return append(db, locked, endOf(rotation, 'abandoned', situation.time))
}

async function lockRotation(tx: Transaction, change: RotationFinish): Promise<LockedRotation> {
  const { db } = tx
  const { projectId, id, origin, jwksMaxAge } = change
  const locked = await lockKeySet(tx, projectId, origin)
  const rotation = await requireRotation(db, projectId, id)
  const situation = { keys: locked.keySet.keys, time: origin.time, jwksMaxAge }
  return { ...locked, rotation, situation }
}

async function append(
  db: Db,
  { ledger }: LockedKeySet,
  change: RotationChange,
): Promise<Outcome<undefined>> {
  return appendChange(ledger, await writeRotation(db, change))
}

/** Throws `rotation_ended`. */
function requireUnderWay(rotation: RotationRecord, situation: KeySituation): void {
  if (!hasEnded(rotation, situation)) return
  throw new PubringError(
    'rotation_ended',
    rotation.outcome === 'abandoned'
      ? 'The rotation was abandoned. Start another one.'
      : 'The rotation is finished: the end of the old key is set, or it is off or deleted. To change the end, change the expireTime of that key.',
  )
}

/** Throws `rotation_not_ready` unless every verifier knows the new key. */
function requireReady(rotation: RotationRecord, situation: KeySituation): void {
  const ready = takeoverTime(rotation, situation)
  if (ready !== undefined && ready <= situation.time) return
  throw new PubringError(
    'rotation_not_ready',
    ready === undefined
      ? 'The new key is deactivated, expired or deleted, or ends as superseded or compromised: without the old one, no token would verify. Activate it, or clear its expireTime. If it is compromised, abandon the rotation, and start one to a key of a new pair.'
      : `Not every verifier knows the new key before ${ready}. Let the signers use it, and finish the rotation, after that.`,
  )
}

/**
 * Ends the rotations of a key that is deactivated or deleted, in the transaction of that change: those
 * that replace it are finished, and those to a deleted key abandoned. Returns their events.
 */
export async function endRotations(
  { db }: Transaction,
  { projectId, id }: KeyRecord,
  step: 'disable' | 'delete',
  time: string,
): Promise<NewEvent[]> {
  const events: NewEvent[] = []
  for (const before of await readRotationsUnderWay(db, projectId)) {
    const isAbandoned = before.toKid === id && step === 'delete'
    if (before.fromKid !== id && !isAbandoned) continue
    const outcome = before.fromKid === id ? 'finished' : 'abandoned'
    events.push(await writeRotation(db, endOf(before, outcome, time)))
  }
  return events
}

/** The change that ends a rotation. */
function endOf(
  before: RotationRecord,
  outcome: 'finished' | 'abandoned',
  endTime: string,
): RotationChange {
  const updateTime = latest(endTime, before.updateTime)
  return { verb: outcome, before, after: { ...before, outcome, endTime, updateTime } }
}

/** The rotations under way, without those that contradict the ledger, which stay as they are. */
async function readRotationsUnderWay(db: Db, projectId: string): Promise<RotationRecord[]> {
  const found = await rotations.read(db, (all) =>
    all.where('project_id', '=', projectId).where('outcome', 'is', null),
  )
  return found.filter(({ contradicted }) => !contradicted)
}

interface RotationChange {
  verb: 'started' | 'updated' | 'finished' | 'abandoned'
  before: RotationRecord | undefined
  after: RotationRecord
}

/** Stores the rotation and returns its event. */
const writeRotation = recordWriter(rotationTable, rotations, rotationToRow)
