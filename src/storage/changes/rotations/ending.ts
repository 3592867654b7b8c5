import type { EventChanges, EventType } from '../../../core/ledger/chain.ts'
import { recordedChanges, stateChange } from '../../../core/ledger/subjects.ts'
import type { KeyRecord, RotationRecord } from '../../../core/records.ts'
import { withoutSchedule } from '../../../core/rotations/schedule.ts'
import { isoTime, latest } from '../../../core/times.ts'
import { rotations } from '../../reads/last-events.ts'
import { rotationToRow } from '../../row-mapping.ts'
import type { Db } from '../../schema.ts'
import { insertion } from '../../statements.ts'
import type { NewEvent } from '../ledger.ts'

const insertRotations = insertion('rotation')

/** What happens to a key, when, and whether a rotation has scheduled it. */
export interface KeyEnd {
  step: 'disable' | 'delete'
  time: string
  isScheduled: boolean
}

/**
 * Ends the rotations of a key that is deactivated or deleted, in the transaction of that change: those
 * that replace it are finished, and those to a deleted key abandoned. Returns their events.
 */
export async function endRotations(db: Db, key: KeyRecord, end: KeyEnd): Promise<NewEvent[]> {
  const events: NewEvent[] = []
  for (const before of await readOpenRotations(db, key.projectId)) {
    const after = afterEnd(before, key, end)
    if (after === undefined) continue
    const isDeletion = before.outcome === 'finished'
    events.push(
      await writeRotation(db, {
        type: isDeletion ? 'rotation.key_deleted' : `rotation.${after.outcome ?? 'finished'}`,
        before,
        after,
      }),
    )
  }
  return events
}

/** The rotation after the end of the key; undefined if that does not concern it. */
function afterEnd(
  before: RotationRecord,
  { id }: KeyRecord,
  { step, time, isScheduled }: KeyEnd,
): RotationRecord | undefined {
  const { scheduledStep: _last, disableTime, dueTime: _due, ...kept } = before
  const ended = {
    ...kept,
    endTime: before.endTime ?? time,
    updateTime: latest(time, kept.updateTime),
  }
  if (before.fromKid !== id) {
    const isAbandoned = before.toKid === id && step === 'delete' && before.outcome === undefined
    return isAbandoned ? { ...withoutSchedule(ended), outcome: 'abandoned' } : undefined
  }
  if (step === 'disable' && before.outcome !== undefined) return undefined
  const finished: RotationRecord = {
    ...ended,
    outcome: 'finished',
    ...(isScheduled ? { scheduledStep: step } : {}),
  }
  const { deleteTime, waitingReason } = before
  if (step === 'delete' || deleteTime === undefined || waitingReason !== undefined) {
    return withoutSchedule(finished)
  }
  // A key that is deactivated late is not deleted early.
  const gapMs = Date.parse(deleteTime) - Date.parse(disableTime ?? deleteTime)
  const dueTime = latest(deleteTime, isoTime(Date.parse(time) + gapMs))
  return { ...finished, deleteTime, dueTime }
}

/** Those under way, and those with a scheduled step. Those that contradict the ledger stay as they are. */
export async function readOpenRotations(db: Db, projectId: string): Promise<RotationRecord[]> {
  const found = await rotations.read(db, (all) =>
    all
      .where('project_id', '=', projectId)
      .where((where) =>
        where.or([where('outcome', 'is', null), where('delete_time', 'is not', null)]),
      ),
  )
  return found.filter(({ contradicted }) => !contradicted)
}

export interface RotationChange {
  type: EventType
  before: RotationRecord | undefined
  after: RotationRecord
}

/** Stores the rotation and returns its event. */
export async function writeRotation(
  db: Db,
  { type, before, after }: RotationChange,
): Promise<NewEvent> {
  const row = rotationToRow(after)
  if (before === undefined) await insertRotations(db, [row])
  else {
    const { project_id, id, ...columns } = row
    await db
      .updateTable('rotation')
      .set(columns)
      .where('project_id', '=', project_id)
      .where('id', '=', id)
      .execute()
  }
  // A change of the author alone is in no member, and its event must cover the row all the same.
  const changes: EventChanges = {
    ...recordedChanges('rotation', before, after),
    ...stateChange('rotation', after),
  }
  return { type, subject: { type: 'rotation', id: after.id }, changes }
}
