import type { Actor, LedgerEvent } from '../../kernel/ledger/chain.ts'
import { withNames } from '../../kernel/ledger/event-reads.ts'
import { eventFromRow, eventTable } from '../../kernel/ledger/stored.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import {
  type RotationRecord,
  type RotationWithActor,
  rotationPartFromRow,
  rotations,
} from './stored.ts'

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

const oneRotation = statement((db, values: { projectId: string; id: string }) =>
  rotations.rows(db).where('project_id', '=', values.projectId).where('id', '=', values.id),
)

/** The actor of an event that the ledger no longer has. */
const unknown: Actor = { name: '' }

/** The project's rotations: those under way first, and the newest first; at most 200. */
export async function readRotations(db: Db, projectId: string): Promise<RotationWithActor[]> {
  const found = await withActors(db, await rotationsOfProject(db, { projectId }))
  // A rotation that contradicts its ledger changes no role.
  return found.filter(({ contradicted }) => !contradicted)
}

export async function findRotation(
  db: Db,
  projectId: string,
  id: string,
): Promise<RotationWithActor | undefined> {
  return (await withActors(db, await oneRotation(db, { projectId, id })))[0]
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

async function withActors(
  db: Db,
  rows: Awaited<ReturnType<typeof oneRotation>>,
): Promise<RotationWithActor[]> {
  const events = rows.length === 0 ? [] : await readStarts(db, rows)
  return rotations.check(db, rows).map((rotation) => {
    const { id, projectId } = rotation
    const start = events.find((event) => event.subject.id === id && event.ledgerId === projectId)
    return { ...rotation, startedBy: start?.actor ?? unknown }
  })
}

/** The events by which the rotations were started. */
async function readStarts(db: Db, rows: readonly { id: string }[]): Promise<LedgerEvent[]> {
  const ids = rows.map(({ id }) => id)
  const events = await db
    .selectFrom('event')
    .select(columnsOf(eventTable))
    .where('subject_id', 'in', ids)
    .where('type', '=', 'rotation.started')
    .execute()
  // The changes of the events may have been damaged, and are not needed.
  return withNames(
    db,
    events.map((row) => eventFromRow({ ...row, changes: null })),
  )
}
