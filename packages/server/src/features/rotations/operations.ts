import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import { collectFaults, type Submitted } from '../../kernel/faults.ts'
import type { Actor } from '../../kernel/ledger/chain.ts'
import { changeOf, requireId } from '../../kernel/managed-records.ts'
import type { RecordReference } from '../../kernel/records.ts'
import { newId } from '../../kernel/values/ids.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { requireKeySet } from '../keys/operations.ts'
import { hasEnded, type KeySituation, takeoverTime } from '../keys/states.ts'
import { rotationChanges } from './changes.ts'
import type { Rotation, RotationCreate, RotationUpdate } from './contract.ts'
import { readRotations, readStarters, requireRotation } from './reads.ts'
import type { RotationRecord } from './stored.ts'

/** The rotations under way first, the newest first. */
export async function listRotations(
  context: Context,
  _principal: unknown,
  projectId: string,
): Promise<Rotation[]> {
  const found = await readRotations(context.store.reader, projectId)
  const view = await readView(context, projectId, found)
  return found.map((rotation) => toRotation(rotation, view))
}

/** What a response shows of rotations beside their records. */
interface View extends KeySituation {
  starters: ReadonlyMap<string, Actor>
}

async function readView(
  context: Context,
  projectId: string,
  found: readonly RotationRecord[],
): Promise<View> {
  const starters = await readStarters(context.store.reader, projectId, found)
  const { keys } = await requireKeySet(context, projectId)
  const { jwksMaxAge } = context.config
  return { starters, keys, time: now(context.clock), jwksMaxAge }
}

/** Throws `rotation_not_found`. */
export async function getRotation(
  context: Context,
  _principal: unknown,
  id: string,
  projectId: string,
): Promise<Rotation> {
  const known = requireId(id, 'rotation_not_found')
  const found = await requireRotation(context.store.reader, projectId, known)
  return toRotation(found, await readView(context, projectId, [found]))
}

/** Throws `key_not_found`, `key_inactive` or `rotation_exists`. */
export async function startRotation(
  context: RequestContext,
  { fields, malformed }: Submitted<RotationCreate>,
  projectId: string,
): Promise<Rotation> {
  const { from = '', to = '', tokenLifetime = 0 } = fields
  const texts = { '/from': from, '/to': to, '': malformed?.text }
  await rejectPrivateKeys(context, texts, projectId)
  collectFaults(malformed?.faults).throwAny()
  const id = newId()
  const change = changeOfRotation(context, { id }, projectId)
  await context.store.commit(rotationChanges.startRotation, { ...change, from, to, tokenLifetime })
  return getRotation(context, undefined, id, projectId)
}

/** Throws `rotation_not_found` or `rotation_ended`. */
export async function updateRotation(
  context: RequestContext,
  rotation: RecordReference,
  { fields, malformed }: Submitted<RotationUpdate>,
  projectId: string,
): Promise<Rotation> {
  await rejectPrivateKeys(context, { '': malformed?.text }, projectId)
  collectFaults(malformed?.faults).throwAny()
  const change = changeOfRotation(context, rotation, projectId)
  await context.store.commit(rotationChanges.updateRotation, { ...change, patch: fields })
  return getRotation(context, undefined, rotation.id, projectId)
}

/**
 * Lets the old key expire once the last token that it signed until now has. Throws
 * `rotation_not_found`, `rotation_ended`, `rotation_not_ready` or `recent_sign_in_required`.
 */
export async function finishRotation(
  context: RequestContext,
  projectId: string,
  id: string,
): Promise<Rotation> {
  const change = changeOfRotation(context, { id }, projectId)
  await context.store.commit(rotationChanges.finishRotation, change)
  return getRotation(context, undefined, id, projectId)
}

/** Changes no key. Throws `rotation_not_found` or `rotation_ended`. */
export async function abandonRotation(
  context: RequestContext,
  rotation: RecordReference,
  projectId: string,
): Promise<void> {
  const change = changeOfRotation(context, rotation, projectId)
  await context.store.commit(rotationChanges.abandonRotation, change)
}

function changeOfRotation(context: RequestContext, rotation: RecordReference, projectId: string) {
  const { jwksMaxAge } = context.config
  return { ...changeOf(context, rotation, 'rotation_not_found'), projectId, jwksMaxAge }
}

function toRotation(rotation: RotationRecord, view: View): Rotation {
  const { id, projectId, fromKid: from, toKid: to, tokenLifetime } = rotation
  const { createTime, updateTime, outcome, endTime } = rotation
  const isOver = hasEnded(rotation, view)
  const convergedTime = takeoverTime(rotation, view)
  const isReady = convergedTime !== undefined && convergedTime <= view.time
  const expireTime = view.keys.find((key) => key.id === from)?.expireTime
  return {
    id,
    projectId,
    from,
    to,
    tokenLifetime,
    state: isOver ? (outcome ?? 'finished') : isReady ? 'overlapping' : 'spreading',
    createTime,
    updateTime,
    // The ledger may have lost the event.
    startedBy: view.starters.get(id) ?? { name: '' },
    // It also ends when the old key expires, which is not stored.
    ...present({
      convergedTime,
      expireTime,
      endTime: endTime ?? (isOver ? expireTime : undefined),
    }),
  }
}
