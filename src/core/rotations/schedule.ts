import type { RotationUpdate } from '../../contract/rotations.ts'
import { invalidField, PubringError } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import { isActive } from '../expiry.ts'
import { activationConvergedTime, convergedTime, convergence } from '../keys/jwks.ts'
import type { KeyRecord, RotationAuthor, RotationRecord, RotationSchedule } from '../records.ts'
import { latest } from '../times.ts'

/** What the rules of a rotation depend on. */
export interface RotationSituation {
  /** All keys of the project. */
  keys: readonly KeyRecord[]
  /** ISO 8601. */
  time: string
  jwksMaxAge: number
}

/** Whether the old key is inactive or deleted, or the rotation was abandoned. */
export function hasEnded(
  { outcome, fromKid }: RotationRecord,
  { keys, time }: RotationSituation,
): boolean {
  const from = keys.find(({ id }) => id === fromKid)
  return outcome !== undefined || from === undefined || !isActive(from, time)
}

/** From when on every verifier knows the new key; undefined if it is not active. */
export function takeoverTime(
  { toKid }: Pick<RotationRecord, 'toKid'>,
  { keys, time, jwksMaxAge }: RotationSituation,
): string | undefined {
  const to = keys.find(({ id }) => id === toKid)
  return to && isActive(to, time) ? activationConvergedTime(to, jwksMaxAge) : undefined
}

/** Throws `rotation_ended`. */
export function requireUnderWay(rotation: RotationRecord, situation: RotationSituation): void {
  if (!hasEnded(rotation, situation)) return
  throw new PubringError(
    'rotation_ended',
    rotation.outcome === 'abandoned'
      ? 'The rotation was abandoned. Start another one.'
      : 'The rotation is finished: the old key is off, or deleted.',
  )
}

/** Throws `rotation_not_ready` unless every verifier knows the new key. */
export function requireReady(rotation: RotationRecord, situation: RotationSituation): void {
  const ready = takeoverTime(rotation, situation)
  if (ready !== undefined && ready <= situation.time) return
  throw new PubringError(
    'rotation_not_ready',
    ready === undefined
      ? 'The new key is deactivated, expired or deleted: without the old one, no token would verify. Activate it, or abandon the rotation.'
      : `Not every verifier knows the new key before ${ready}. Deactivate the old key after that.`,
  )
}

/**
 * The rotation with the schedule of the patch, decided by this caller; the same record if the patch
 * changes neither it nor its author. `descendants` means nothing without a time. The times are in ISO
 * 8601. Throws `invalid_request`, `rotation_ended` or `rotation_not_ready`.
 */
export function patchSchedule(
  before: RotationRecord,
  patch: RotationUpdate,
  author: RotationAuthor | undefined,
  situation: RotationSituation,
): RotationRecord {
  const disableTime = patch.disableTime === undefined ? before.disableTime : patch.disableTime
  const deleteTime = patch.deleteTime === undefined ? before.deleteTime : patch.deleteTime
  const times = { ...(disableTime && { disableTime }), ...(deleteTime && { deleteTime }) }
  const isScheduled = Object.keys(times).length > 0
  const descendants = isScheduled ? (patch.descendants ?? before.descendants) : undefined
  const isSame =
    times.disableTime === before.disableTime &&
    times.deleteTime === before.deleteTime &&
    descendants === before.descendants &&
    (!isScheduled || isSameAuthor(author, before.author))
  if (isSame && before.waitingReason === undefined) return before
  const { time } = situation
  const rest = { ...withoutSchedule(before), updateTime: latest(time, before.updateTime) }
  if (!isScheduled) return rest
  if (author === undefined) throw new Error('a schedule needs an author')
  requireTimes(before, times, situation)
  return withSchedule(rest, { ...times, ...present({ descendants }), author })
}

function isSameAuthor(author: RotationAuthor | undefined, before: RotationAuthor | undefined) {
  return (
    author?.type === before?.type &&
    author?.id === before?.id &&
    author?.lacksRecentSignIn === before?.lacksRecentSignIn
  )
}

/** Earlier times would reject tokens of the new key, or take the trace of a key still in use. */
function requireTimes(
  rotation: RotationRecord,
  { disableTime, deleteTime }: RotationSchedule,
  situation: RotationSituation,
): void {
  const { keys, time, jwksMaxAge } = situation
  const from = keys.find(({ id }) => id === rotation.fromKid)
  const isOff = hasEnded(rotation, situation)
  if (disableTime !== undefined || from === undefined || rotation.outcome === 'abandoned') {
    requireUnderWay(rotation, situation)
  }
  if (disableTime !== undefined) {
    const ready = takeoverTime(rotation, situation)
    if (ready === undefined) requireReady(rotation, situation)
    requireNotBefore('disableTime', disableTime, latest(time, ready ?? ''))
  }
  if (deleteTime === undefined || from === undefined) return
  if (disableTime === undefined && !isOff) {
    throw invalidField(
      '/deleteTime',
      'disable_time_missing',
      'An active key cannot be deleted: send a disableTime as well.',
    )
  }
  const off =
    disableTime === undefined
      ? convergedTime(from, time, jwksMaxAge)
      : convergence(disableTime, jwksMaxAge)
  requireNotBefore('deleteTime', deleteTime, latest(time, off))
}

function requireNotBefore(field: string, value: string, earliest: string): void {
  if (value >= earliest) return
  throw invalidField(
    `/${field}`,
    'time_too_early',
    `${field} must not be before ${earliest}: until then, verifiers may not know of the change before it.`,
  )
}

export function withoutSchedule({
  disableTime: _disableTime,
  deleteTime: _deleteTime,
  descendants: _descendants,
  author: _author,
  waitingReason: _waitingReason,
  dueTime: _dueTime,
  ...rest
}: RotationRecord): RotationRecord {
  return rest
}

/** `dueTime` follows from the rest. */
function withSchedule(
  rotation: RotationRecord,
  { dueTime: _dueTime, ...schedule }: RotationSchedule,
): RotationRecord {
  const { disableTime, deleteTime, waitingReason } = schedule
  const next = waitingReason === undefined ? (disableTime ?? deleteTime) : undefined
  return { ...rotation, ...schedule, ...present({ dueTime: next }) }
}
