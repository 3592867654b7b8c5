import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context } from '../../kernel/context.ts'
import { collectFaults, notFound, type Submitted } from '../../kernel/faults.ts'
import { changeOf, requireId } from '../../kernel/managed-records.ts'
import type { RecordReference } from '../../kernel/records.ts'
import { newId } from '../../kernel/values/ids.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { requireKeySet } from '../keys/operations.ts'
import { hasEnded, type KeySituation, takeoverTime } from '../keys/states.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { rotationChanges } from './changes.ts'
import type { Rotation, RotationCreate, RotationUpdate } from './contract.ts'
import { findRotation, readRotations } from './reads.ts'
import type { RotationRecord, RotationWithActor } from './stored.ts'

/** The rotations under way first, the newest first. */
export async function listRotations(
  context: Context,
  _principal: unknown,
  projectId: string,
): Promise<Rotation[]> {
  const situation = await readSituation(context, projectId)
  const rotations = await readRotations(context.store.reader, projectId)
  return rotations.map((rotation) => toRotation(rotation, situation))
}

async function readSituation(context: Context, projectId: string): Promise<KeySituation> {
  const { keys } = await requireKeySet(context, projectId)
  return { keys, time: now(context.clock), jwksMaxAge: context.config.jwksMaxAge }
}

/** Throws `rotation_not_found`. */
export async function getRotation(
  context: Context,
  _principal: unknown,
  id: string,
  projectId: string,
): Promise<Rotation> {
  const known = requireId(id, 'rotation_not_found')
  const situation = await readSituation(context, projectId)
  const found = await findRotation(context.store.reader, projectId, known)
  if (found === undefined || found.contradicted) throw notFound('rotation_not_found')
  return toRotation(found, situation)
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

function toRotation(rotation: RotationWithActor, situation: KeySituation): Rotation {
  const { id, projectId, fromKid: from, toKid: to, tokenLifetime } = rotation
  const { createTime, updateTime, startedBy } = rotation
  const oldKey = situation.keys.find((key) => key.id === from)
  return {
    id,
    projectId,
    from,
    to,
    tokenLifetime,
    state: stateOf(rotation, situation),
    createTime,
    updateTime,
    startedBy,
    ...present({
      convergedTime: takeoverTime(rotation, situation),
      expireTime: oldKey?.expireTime,
      endTime: endTimeOf(rotation, oldKey, situation),
    }),
  }
}

function stateOf(rotation: RotationRecord, situation: KeySituation): Rotation['state'] {
  if (hasEnded(rotation, situation)) return rotation.outcome ?? 'finished'
  const ready = takeoverTime(rotation, situation)
  return ready !== undefined && ready <= situation.time ? 'overlapping' : 'spreading'
}

/** It also ends when the old key expires, which is not stored. */
function endTimeOf(
  rotation: RotationRecord,
  oldKey: KeyRecord | undefined,
  situation: KeySituation,
): string | undefined {
  return rotation.endTime ?? (hasEnded(rotation, situation) ? oldKey?.expireTime : undefined)
}
