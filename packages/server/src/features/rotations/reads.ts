import { notFound } from '../../kernel/faults.ts'
import type { Actor } from '../../kernel/ledger/chain.ts'
import { withNames } from '../../kernel/ledger/event-reads.ts'
import { eventFromRow, eventTable } from '../../kernel/ledger/stored.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import { type RotationRecord, rotationPartFromRow, rotations } from './stored.ts'

/** Rotations of a project that are read. */
const maxRotations = 200

const rotationsOfProject = statement((db, { projectId }: { projectId: string }) =>
  rotations
    .rows(db)
    .where('project_id', '=', projectId)
    .orderBy((order) => order.case().when('outcome', 'is', null).then(0).else(1).end())
    .orderBy('create_time', 'desc')
    .orderBy('id', 'desc')
    .limit(maxRotations),
)

/**
 * The project's rotations: those under way first, and the newest first; at most 200. One that contradicts
 * its ledger is none.
 */
export async function readRotations(db: Db, projectId: string): Promise<RotationRecord[]> {
  const found = rotations.check(db, await rotationsOfProject(db, { projectId }))
  return found.filter(({ contradicted }) => !contradicted)
}

/** Throws `rotation_not_found`, also for a rotation that contradicts its ledger. */
export async function requireRotation(
  db: Db,
  projectId: string,
  id: string,
): Promise<RotationRecord> {
  const [found] = await rotations.read(db, (all) =>
    all.where('project_id', '=', projectId).where('id', '=', id),
  )
  if (found === undefined || found.contradicted) throw notFound('rotation_not_found')
  return found
}

/** The replacement of an existing key, as far as warnings depend on it. */
export type ReplacedKey = Pick<RotationRecord, 'projectId' | 'id' | 'fromKid' | 'toKid' | 'outcome'>

/** The rotations of projects that replace existing keys and were not abandoned, in no order. */
export async function readReplacedKeys(
  db: Db,
  projectIds: readonly string[],
): Promise<ReplacedKey[]> {
  const rows = await inChunks(projectIds, (some) =>
    db
      .selectFrom('rotation')
      .innerJoin('jwt_key', (join) =>
        join
          .onRef('jwt_key.project_id', '=', 'rotation.project_id')
          .onRef('jwt_key.id', '=', 'rotation.from_kid'),
      )
      .select([
        'rotation.project_id',
        'rotation.id',
        'rotation.from_kid',
        'rotation.to_kid',
        'rotation.outcome',
      ])
      .where('rotation.project_id', 'in', some)
      .where((by) => by.or([by('outcome', 'is', null), by('outcome', '=', 'finished')]))
      .execute(),
  )
  return rows.map(rotationPartFromRow)
}

/** Who started the rotations of a project, by their ids: the actors of the events. */
export async function readStarters(
  db: Db,
  projectId: string,
  found: readonly RotationRecord[],
): Promise<Map<string, Actor>> {
  const ids = found.map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('event')
    .select(columnsOf(eventTable))
    .where('project_id', '=', projectId)
    .where('subject_id', 'in', ids)
    .where('type', '=', 'rotation.started')
    .execute()
  // The changes of the events may have been damaged, and are not needed.
  const events = await withNames(
    db,
    rows.map((row) => eventFromRow({ ...row, changes: null })),
  )
  return new Map(events.map(({ subject, actor }) => [subject.id, actor]))
}
