import type { ProjectRef } from '../context.ts'
import { checkedProjects, projectsWithLastEvents } from '../ledger/last-events.ts'
import type { ProjectRecord } from '../records.ts'
import { contradictedProject } from '../storage-faults.ts'
import { type Db, tableNames } from './schema.ts'
import { statement } from './statements.ts'

/** Rejects unless all tables can be read. */
export async function ping(db: Db): Promise<void> {
  await db
    .selectNoFrom(({ exists, lit, selectFrom }) =>
      tableNames.map((table) => exists(selectFrom(table).select(lit(1).as('one'))).as(table)),
    )
    .execute()
}

/** Throws `storage_unavailable` for a project that contradicts its ledger. */
export async function findProjectRecord(
  db: Db,
  ref: ProjectRef,
): Promise<ProjectRecord | undefined> {
  const rows = 'id' in ref ? await projectById(db, ref) : await projectByName(db, ref)
  const [project] = checkedProjects(db, rows)
  if (project === undefined && rows.length > 0) throw contradictedProject()
  return project
}

export const projectById = statement((db, { id }: { id: string }) =>
  projectsWithLastEvents(db).where('project.id', '=', id),
)
const projectByName = statement((db, { name }: { name: string }) =>
  projectsWithLastEvents(db).where('project.name', '=', name),
)
