import { entityTag } from '../../kernel/entity-tags.ts'
import { projectLedger, subject } from '../../kernel/ledger/subject.ts'
import type { Contradictable } from '../../kernel/records.ts'
import { type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'

/** A stored replacement of the key `fromKid` by the key `toKid`. */
export interface RotationRecord extends Contradictable {
  id: string
  projectId: string
  fromKid: string
  toKid: string
  /** Seconds. */
  tokenLifetime: number
  createTime: string
  updateTime: string
  /** Absent while it is under way; an expired old key ends it too. */
  outcome?: 'finished' | 'abandoned'
  endTime?: string
}

/** Replacements of keys by others. */
export const rotationTable = table('rotation', {
  project_id: 'key text',
  id: 'key text',
  from_kid: 'text',
  to_kid: 'text',
  create_time: 'text',
  update_time: 'text',
  /** Seconds. */
  token_lifetime: 'integer',
  /** Null while it is under way. */
  outcome: 'nullable text',
  end_time: 'nullable text',
})

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    rotation: RowOf<typeof rotationTable>
  }
}

export const {
  fromRow: rotationFromRow,
  partFromRow: rotationPartFromRow,
  toRow: rotationToRow,
} = rowMapping<typeof rotationTable, RotationRecord>(rotationTable, {})

export const rotations = subject({
  name: 'rotation',
  table: rotationTable,
  ledger: projectLedger('rotation.project_id', ({ projectId }: RotationRecord) => projectId),
  events: ['started', 'updated', 'finished', 'abandoned'],
  fromRow: rotationFromRow,
  members: (rotation) => ({
    from: rotation.fromKid,
    to: rotation.toKid,
    tokenLifetime: rotation.tokenLifetime,
    outcome: rotation.outcome,
  }),
})

/** The tag of a rotation: covers what its changes change, and not what changes with time. */
export function rotationEntityTag({
  id,
  updateTime,
  tokenLifetime,
}: Pick<RotationRecord, 'id' | 'updateTime' | 'tokenLifetime'>): string {
  return entityTag(JSON.stringify([id, updateTime, tokenLifetime]))
}
