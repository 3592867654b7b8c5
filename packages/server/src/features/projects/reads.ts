import { checkedProjects, projectsWithLastEvents } from '../../kernel/access/stored-projects.ts'
import type { ProjectRecord } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { inChunks } from '../../kernel/storage/statements.ts'

/** A page by creation; `after` is the last id of the previous page. */
export async function readProjectPage(
  db: Db,
  { after, limit }: { after?: string; limit: number },
): Promise<ProjectRecord[]> {
  const rows = await projectsWithLastEvents(db)
    .where('project.id', '>', after ?? '')
    .orderBy('project.id')
    .limit(limit)
    .execute()
  return checkedProjects(db, rows)
}

/** The projects with these ids that exist and do not contradict their ledgers, in no order. */
export async function readProjects(db: Db, ids: readonly string[]): Promise<ProjectRecord[]> {
  const all = projectsWithLastEvents(db)
  const rows = await inChunks(ids, (some) => all.where('project.id', 'in', some).execute())
  return checkedProjects(db, rows)
}

/** The names of the projects that exist, by id. */
export async function readProjectNames(
  db: Db,
  found: readonly { projectId?: string }[],
): Promise<Map<string, { projectName: string }>> {
  const ids = [...new Set(found.flatMap(({ projectId }) => projectId ?? []))]
  const projects = await readProjects(db, ids)
  return new Map(projects.map(({ id, name }) => [id, { projectName: name }]))
}
