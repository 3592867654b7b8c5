import { PubringError } from '../../errors.ts'
import { entityTag } from '../entity-tags.ts'
import type { RotationRecord, RotationSchedule } from '../records.ts'

export function rotationNotFound(): PubringError {
  return new PubringError(
    'rotation_not_found',
    'The project has no rotation with this id. GET …/rotations lists its rotations.',
  )
}

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
