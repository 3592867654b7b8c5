import { entityTag } from '../entity-tags.ts'
import type { RotationRecord, RotationSchedule } from '../records.ts'

/** The tag of a rotation: of what its changes change, and not of what changes with time. */
export function rotationEntityTag({
  id,
  updateTime,
  disableTime = '',
  deleteTime = '',
  waitingReason = '',
}: Pick<RotationRecord, 'id' | 'updateTime'> &
  Pick<RotationSchedule, 'disableTime' | 'deleteTime'> & { waitingReason?: string }): string {
  return entityTag(JSON.stringify([id, updateTime, disableTime, deleteTime, waitingReason]))
}
