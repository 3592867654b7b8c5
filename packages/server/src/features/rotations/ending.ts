import type { Transaction } from '../../kernel/changes.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { insertion } from '../../kernel/storage/statements.ts'
import { latest } from '../../kernel/values/times.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { type RotationRecord, rotations, rotationToRow } from './stored.ts'

const insertRotations = insertion('rotation')

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
  for (const before of await readOpenRotations(db, projectId)) {
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
export async function readOpenRotations(db: Db, projectId: string): Promise<RotationRecord[]> {
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
export async function writeRotation(
  db: Db,
  { verb, before, after }: RotationChange,
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
  return rotations.event(verb, after.id, rotations.changes(before, after))
}
