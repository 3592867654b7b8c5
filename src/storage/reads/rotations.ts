import type { Store } from '../../core/context.ts'
import type { Actor, LedgerEvent } from '../../core/ledger/chain.ts'
import { eventFromRow } from '../row-mapping.ts'
import { columnsOf, type Db } from '../schema.ts'
import { statement } from '../statements.ts'
import { withNames } from './events.ts'
import { checkedRotation, rotationsWithLastEvents } from './last-events.ts'

/** Rotations of a project that are read. */
const maxRotations = 200

const rotationsOfProject = statement((db, { projectId }: { projectId: string }) =>
  rotationsWithLastEvents(db)
    .where('project_id', '=', projectId)
    .orderBy((order) => order.case().when('outcome', 'is', null).then(0).else(1).end())
    .orderBy('id', 'desc')
    .limit(maxRotations),
)

const dueRotations = statement((db, values: { time: string; limit: number }) =>
  rotationsWithLastEvents(db)
    .where('due_time', '<=', values.time)
    .orderBy('due_time')
    .limit(values.limit),
)

/** For an event that the ledger no longer has. */
const unknown: Actor = { name: '' }

export function createRotationReads(db: Db) {
  return {
    async rotations(projectId) {
      const rotations = (await rotationsOfProject(db, { projectId })).map(checkedRotation)
      const ids = rotations.map(({ id }) => id)
      const events = ids.length === 0 ? [] : await withNames(db, await decisions(projectId, ids))
      return rotations.map((rotation) => {
        const own = events.filter(({ subject }) => subject.id === rotation.id)
        const startedBy = own.find(({ type }) => type === 'rotation.started')?.actor ?? unknown
        return { ...rotation, startedBy, scheduledBy: own.at(-1)?.actor ?? unknown }
      })
    },
    dueRotations: async (time, limit) => {
      return (await dueRotations(db, { time, limit })).map(checkedRotation)
    },
  } satisfies Partial<Store>

  /** The events by which rotations are started and scheduled, in order. */
  async function decisions(projectId: string, ids: string[]): Promise<LedgerEvent[]> {
    const rows = await db
      .selectFrom('event')
      .select(columnsOf('event'))
      .where('project_id', '=', projectId)
      .where('subject_id', 'in', ids)
      .where('type', 'in', ['rotation.started', 'rotation.scheduled'])
      .orderBy('revision')
      .execute()
    return rows.map(eventFromRow)
  }
}
