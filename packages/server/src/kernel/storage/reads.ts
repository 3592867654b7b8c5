import { sql } from 'kysely'
import { checkedProjects, projectsWithLastEvents } from '../access/stored-projects.ts'
import type { ProjectRef } from '../context.ts'
import type { ProjectRecord } from '../records.ts'
import { contradictedProject } from '../storage-faults.ts'
import type { Db, Table } from './schema.ts'
import { statement } from './statements.ts'

/** Rejects unless all tables can be read. */
export async function ping(db: Db, tables: readonly Table[]): Promise<void> {
  const each = tables.map(({ name }) => sql`exists (select 1 from ${sql.table(name)})`)
  await sql`select ${sql.join(each)}`.execute(db)
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

const projectById = statement((db, { id }: { id: string }) =>
  projectsWithLastEvents(db).where('project.id', '=', id),
)
const projectByName = statement((db, { name }: { name: string }) =>
  projectsWithLastEvents(db).where('project.name', '=', name),
)
