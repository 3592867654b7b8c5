import { PubringError } from '../../errors.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { hasEnded, type KeySituation, takeoverTime } from '../keys/roles.ts'
import type { KeyRecord } from '../keys/stored.ts'
import type { RotationRecord } from './stored.ts'

/** Throws `rotation_ended`. */
export function requireUnderWay(rotation: RotationRecord, situation: KeySituation): void {
  if (!hasEnded(rotation, situation)) return
  throw new PubringError(
    'rotation_ended',
    rotation.outcome === 'abandoned'
      ? 'The rotation was abandoned. Start another one.'
      : 'The rotation is finished: the end of the old key is set, or it is off or deleted. To change the end, change the expireTime of that key.',
  )
}

/** Throws `rotation_not_ready` unless every verifier knows the new key. */
export function requireReady(rotation: RotationRecord, situation: KeySituation): void {
  const ready = takeoverTime(rotation, situation)
  if (ready !== undefined && ready <= situation.time) return
  throw new PubringError(
    'rotation_not_ready',
    ready === undefined
      ? 'The new key is deactivated, expired or deleted: without the old one, no token would verify. Activate it, or abandon the rotation.'
      : `Not every verifier knows the new key before ${ready}. Let the signers use it, and finish the rotation, after that.`,
  )
}

/**
 * The end of the old key of a rotation that is finished now: when the last token that it signed until
 * now has expired. An earlier `expireTime` stays.
 */
export function endOfOldKey(
  { tokenLifetime }: RotationRecord,
  { expireTime }: KeyRecord,
  time: string,
): string {
  const end = isoTime(Date.parse(time) + tokenLifetime * 1_000)
  return expireTime !== undefined && expireTime < end ? expireTime : end
}

/** The tag of a rotation: covers what its changes change, and not what changes with time. */
export function rotationEntityTag({
  id,
  updateTime,
  tokenLifetime,
}: Pick<RotationRecord, 'id' | 'updateTime' | 'tokenLifetime'>): string {
  return entityTag(JSON.stringify([id, updateTime, tokenLifetime]))
}
