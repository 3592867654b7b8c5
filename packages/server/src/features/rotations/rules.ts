import { PubringError } from '../../errors.ts'
import type { Transaction } from '../../kernel/changes.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { recordWriter } from '../../kernel/ledger/record-writer.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { earliest, isoTime, latest } from '../../kernel/values/times.ts'
import { hasEnded, type KeySituation, takeoverTime } from '../keys/states.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { type RotationRecord, rotations, rotationTable, rotationToRow } from './stored.ts'

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
  return earliest(isoTime(Date.parse(time) + tokenLifetime * 1_000), expireTime)
}

/** The tag of a rotation: covers what its changes change, and not what changes with time. */
export function rotationEntityTag({
  id,
  updateTime,
  tokenLifetime,
}: Pick<RotationRecord, 'id' | 'updateTime' | 'tokenLifetime'>): string {
  return entityTag(JSON.stringify([id, updateTime, tokenLifetime]))
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
export function endOf(
  before: RotationRecord,
  outcome: 'finished' | 'abandoned',
  endTime: string,
): RotationChange {
  const updateTime = latest(endTime, before.updateTime)
  return { verb: outcome, before, after: { ...before, outcome, endTime, updateTime } }
}

/** The rotations under way, without those that contradict the ledger, which stay as they are. */
export async function readRotationsUnderWay(db: Db, projectId: string): Promise<RotationRecord[]> {
  const found = await rotations.read(db, (all) =>
    all.where('project_id', '=', projectId).where('outcome', 'is', null),
  )
  return found.filter(({ contradicted }) => !contradicted)
}

export interface RotationChange {
  verb: 'started' | 'updated' | 'finished' | 'abandoned'
  before: RotationRecord | undefined
  after: RotationRecord
}

/** Stores the rotation and returns its event. */
export const writeRotation = recordWriter(rotationTable, rotations, rotationToRow)
