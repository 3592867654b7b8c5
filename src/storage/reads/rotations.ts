import type { Store } from '../../core/context.ts'
import type { Actor, LedgerEvent } from '../../core/ledger/chain.ts'
import type { RotationWithActors } from '../../core/records.ts'
import { eventFromRow, rotationPartFromRow } from '../row-mapping.ts'
import { columnsOf, type Db } from '../schema.ts'
import { inChunks, statement } from '../statements.ts'
import { withNames } from './events.ts'
import { type CheckedTables, rotations } from './last-events.ts'

/** Rotations of a project that are read. */
const maxRotations = 200

const rotationsOfProject = statement((db, { projectId }: { projectId: string }) =>
  rotations
    .rows(db)
    .where('project_id', '=', projectId)
    .orderBy((order) => order.case().when('outcome', 'is', null).then(0).else(1).end())
    .orderBy('id', 'desc')
    .limit(maxRotations),
)

const oneRotation = statement((db, values: { projectId: string; id: string }) =>
  rotations.rows(db).where('project_id', '=', values.projectId).where('id', '=', values.id),
)

const dueRotations = statement(
  (db, values: { time: string; dueTime: string; id: string; limit: number }) =>
    rotations
      .rows(db)
      .where('due_time', '<=', values.time)
      .where((where) =>
        where.or([
          where('due_time', '>', values.dueTime),
          where.and([where('due_time', '=', values.dueTime), where('id', '>', values.id)]),
        ]),
      )
      .orderBy('due_time')
      .orderBy('id')
      .limit(values.limit),
)

/** The rotations of all projects that have not ended. */
export function openRotations(db: Db) {
  return db
    .selectFrom('rotation')
    .select(['rotation.project_id', 'rotation.from_kid', 'rotation.waiting_reason'])
    .where('rotation.outcome', 'is', null)
}

/** For an event that the ledger no longer has. */
const unknown: Actor = { name: '' }

export function createRotationReads(db: Db, { rotations: { check } }: CheckedTables) {
  return {
    async rotations(projectId) {
      const found = await withActors(db, check, await rotationsOfProject(db, { projectId }))
      // One that contradicts its ledger changes no role.
      return found.filter(({ contradicted }) => !contradicted)
    },
    async findRotation(projectId, id) {
      return (await withActors(db, check, await oneRotation(db, { projectId, id })))[0]
    },
    async openRotations(projectIds) {
      const rows = await inChunks(projectIds, (some) =>
        openRotations(db).where('rotation.project_id', 'in', some).execute(),
      )
      return rows.map(rotationPartFromRow)
    },
    async dueRotations(time, limit, { dueTime = '', id } = { id: '' }) {
      return withActors(db, check, await dueRotations(db, { time, limit, dueTime, id }))
    },
  } satisfies Partial<Store>
}

async function withActors(
  db: Db,
  check: typeof rotations.check,
  rows: Awaited<ReturnType<typeof dueRotations>>,
): Promise<RotationWithActors[]> {
  const events = rows.length === 0 ? [] : await readDecisions(db, rows)
  return rows.map(check).map((rotation) => {
    const { id, projectId } = rotation
    const own = events.filter((event) => event.subject.id === id && event.ledgerId === projectId)
    const startedBy = own.find(({ type }) => type === 'rotation.started')?.actor ?? unknown
    return { ...rotation, startedBy, scheduledBy: own.at(-1)?.actor ?? unknown }
  })
}

/** The events by which the rotations were started and scheduled, in order. */
async function readDecisions(db: Db, rows: readonly { id: string }[]): Promise<LedgerEvent[]> {
  const ids = rows.map(({ id }) => id)
  const events = await db
    .selectFrom('event')
    .select(columnsOf('event'))
    .where('subject_id', 'in', ids)
    .where('type', 'in', ['rotation.started', 'rotation.scheduled'])
    .orderBy('revision')
    .execute()
  // Their changes may have been damaged, and are not needed.
  return withNames(
    db,
    events.map((row) => eventFromRow({ ...row, changes: null })),
  )
}
