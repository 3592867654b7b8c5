import type { Rotation, RotationCreate, RotationUpdate } from '../../contract/rotations.ts'
import { type ErrorCode, errorTable } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import type { RequestContext } from '../access/principal.ts'
import type { Context } from '../context.ts'
import { collectFaults, notFound, type Submitted } from '../faults.ts'
import { newId } from '../ids.ts'
import { rejectPrivateKeys } from '../keys/intake.ts'
import { requireKeySet } from '../keys/operations.ts'
import { changeOf, requireId } from '../managed-records.ts'
import type { RecordReference, RotationRecord, RotationWithActors } from '../records.ts'
import { now, parseTime } from '../times.ts'
import { hasEnded, type RotationSituation, takeoverTime } from './schedule.ts'

/** Those under way first, the newest first. */
export async function listRotations(
  context: Context,
  _principal: unknown,
  projectId: string,
): Promise<Rotation[]> {
  const situation = await readSituation(context, projectId)
  const rotations = await context.store.rotations(projectId)
  return rotations.map((rotation) => toRotation(rotation, situation))
}

async function readSituation(context: Context, projectId: string): Promise<RotationSituation> {
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
  const found = await context.store.findRotation(projectId, known)
  if (found === undefined || found.contradicted) throw notFound('rotation_not_found')
  return toRotation(found, situation)
}

/** Throws `key_not_found`, `key_inactive`, `rotation_exists`, and as `patchSchedule`. */
export async function startRotation(
  context: RequestContext,
  submission: Submitted<RotationCreate>,
  projectId: string,
): Promise<Rotation> {
  const { from = '', to = '' } = submission.fields
  const schedule = await parseSchedule(context, projectId, submission, { from, to })
  const id = newId()
  const change = changeOfRotation(context, { id }, projectId)
  await context.store.commit({ type: 'rotation.start', ...change, from, to, schedule })
  return getRotation(context, undefined, id, projectId)
}

/** Changes what is scheduled. Throws `rotation_not_found`, and as `patchSchedule`. */
export async function scheduleRotation(
  context: RequestContext,
  rotation: RecordReference,
  submission: Submitted<RotationUpdate>,
  projectId: string,
): Promise<Rotation> {
  const patch = await parseSchedule(context, projectId, submission)
  const change = changeOfRotation(context, rotation, projectId)
  await context.store.commit({ type: 'rotation.schedule', ...change, patch })
  return getRotation(context, undefined, rotation.id, projectId)
}

/**
 * Deactivates the old key now. Throws `rotation_not_found`, `rotation_ended`, `rotation_not_ready`, and
 * as a deactivation by hand.
 */
export async function finishRotation(
  context: RequestContext,
  projectId: string,
  id: string,
  descendants: boolean | undefined,
): Promise<Rotation> {
  const change = changeOfRotation(context, { id }, projectId)
  await context.store.commit({ type: 'rotation.finish', ...change, ...present({ descendants }) })
  return getRotation(context, undefined, id, projectId)
}

/** Changes no key. Throws `rotation_not_found` or `rotation_ended`. */
export async function abandonRotation(
  context: RequestContext,
  rotation: RecordReference,
  projectId: string,
): Promise<void> {
  const change = changeOfRotation(context, rotation, projectId)
  await context.store.commit({ type: 'rotation.abandon', ...change })
}

function changeOfRotation(context: RequestContext, rotation: RecordReference, projectId: string) {
  const { jwksMaxAge } = context.config
  return { ...changeOf(context, rotation, 'rotation_not_found'), projectId, jwksMaxAge }
}

/** The schedule of a body, with all its faults, and those of the rest. */
async function parseSchedule(
  context: RequestContext,
  projectId: string,
  { fields, malformed }: Submitted<RotationUpdate>,
  kids: { from?: string; to?: string } = {},
): Promise<RotationUpdate> {
  const { disableTime, deleteTime, descendants } = fields
  const texts = { '/from': kids.from, '/to': kids.to, '': malformed?.text }
  await rejectPrivateKeys(context, texts, projectId)
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const patch = {
    ...attempt(() => parsePatch('disableTime', disableTime)),
    ...attempt(() => parsePatch('deleteTime', deleteTime)),
    ...present({ descendants }),
  }
  throwAny()
  return patch
}

function parsePatch(field: string, value: string | null | undefined): RotationUpdate {
  return value === undefined ? {} : { [field]: value && parseTime(value, field) }
}

function toRotation(rotation: RotationWithActors, situation: RotationSituation): Rotation {
  const { id, projectId, fromKid: from, toKid: to, createTime, updateTime } = rotation
  return {
    id,
    projectId,
    from,
    to,
    state: stateOf(rotation, situation),
    createTime,
    updateTime,
    startedBy: rotation.startedBy,
    ...present({
      convergedTime: takeoverTime(rotation, situation),
      schedule: scheduleOf(rotation),
      endTime: endTimeOf(rotation, situation),
    }),
  }
}

function stateOf(rotation: RotationRecord, situation: RotationSituation): Rotation['state'] {
  if (hasEnded(rotation, situation)) return rotation.outcome ?? 'finished'
  const ready = takeoverTime(rotation, situation)
  return ready !== undefined && ready <= situation.time ? 'overlapping' : 'spreading'
}

/** It also ends when the old key expires, which is not stored. */
function endTimeOf(rotation: RotationRecord, situation: RotationSituation): string | undefined {
  if (rotation.endTime !== undefined || !hasEnded(rotation, situation)) return rotation.endTime
  return situation.keys.find(({ id }) => id === rotation.fromKid)?.expireTime
}

function scheduleOf(rotation: RotationWithActors): Rotation['schedule'] {
  const { disableTime, deleteTime, descendants, scheduledBy, waitingReason } = rotation
  if (disableTime === undefined && deleteTime === undefined) return undefined
  const waitingDetail = waitingReason && waitingDetailOf(waitingReason)
  return {
    ...present({ disableTime, deleteTime, descendants }),
    scheduledBy,
    ...present({ waitingReason, waitingDetail }),
  }
}

/** Addressed to the callers who read it; the message of the error addresses the author. */
function waitingDetailOf(reason: ErrorCode): string {
  const cause =
    reason === 'invalid_api_key' || reason === 'invalid_session'
      ? 'The author of the step has lost access since they scheduled it.'
      : reason === 'insufficient_role'
        ? 'The author of the step no longer has the role writer in the project, or has it by another rule.'
        : `${errorTable[reason].title}.`
  return `${cause} Finish the rotation, schedule it anew, or abandon it.`
}
