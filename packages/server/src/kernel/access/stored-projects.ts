import type { Each, ProjectRef } from '../context.ts'
import { contradictedProject } from '../faults.ts'
import { type NewEvent, systemLedgerId } from '../ledger/chain.ts'
import { projectLedger, subject } from '../ledger/subject.ts'
import type { ProjectRecord } from '../records.ts'
import { type Db, type RowOf, rowMapping, table } from '../storage/schema.ts'
import { readTogether, statement } from '../storage/statements.ts'

export const projectTable = table('project', {
  id: 'key text',
  name: 'unique text',
  create_time: 'text',
  update_time: 'text',
})

declare module '../storage/schema.ts' {
  interface Tables {
    project: RowOf<typeof projectTable>
  }
}

/** A row of the table. Its revision is that of its ledger. */
type StoredProject = Omit<ProjectRecord, 'revision'>

const { fromRow } = rowMapping<typeof projectTable, StoredProject>(projectTable, {})

export const projects = subject({
  name: 'project',
  table: projectTable,
  ledger: projectLedger('project.id', ({ id }: StoredProject) => id),
  events: ['created', 'renamed', 'deleted'],
  fromRow,
  members: ({ name }) => ({ name }),
  /** The system ledger records them too. */
  async accept(db: Db, ledgerId: string): Promise<NewEvent[]> {
    const isSystem = ledgerId === systemLedgerId
    const found = await projects.readUnchecked(db, (all) =>
      isSystem ? all : all.where('id', '=', ledgerId),
    )
    if (found.length === 0 && !isSystem) return [projects.event('deleted', ledgerId, {})]
    return found.map((project) => projects.eventOf('recorded', project))
  },
})

/** Projects with the revisions of their ledgers, and with their last events. */
export function projectsWithLastEvents(db: Db) {
  return projects
    .rows(db)
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .select('ledger.revision')
}

type ProjectRow = RowOf<typeof projectTable> & { revision: number; last_event: string | null }

/** The projects of the rows that do not contradict their ledgers. */
export function checkedProjects(db: Db, rows: readonly ProjectRow[]): ProjectRecord[] {
  return rows.flatMap((row) =>
    projects
      .check(db, [row])
      .flatMap(({ contradicted, ...project }) =>
        contradicted ? [] : [{ ...project, revision: row.revision }],
      ),
  )
}

/** Throws `storage_unavailable` for a project that contradicts its ledger. */
export async function findProjectRecord(
  db: Db,
  ref: ProjectRef,
): Promise<ProjectRecord | undefined> {
  const rows =
    'id' in ref ? await projectById(db, ref) : await projectsByName(db, { names: [ref.name] })
  const [project] = checkedProjects(db, rows)
  if (project === undefined && rows.length > 0) throw contradictedProject()
  return project
}

const projectById = statement((db, { id }: { id: string }) =>
  projectsWithLastEvents(db).where('project.id', '=', id),
)
const projectsByName = statement((db, { names }: { names: readonly string[] }) =>
  projectsWithLastEvents(db).where('project.name', 'in', names),
)

/** The projects with these names; in place of one that contradicts its ledger, `storage_unavailable`. */
export async function findProjectsByName(
  db: Db,
  names: readonly string[],
): Promise<Each<ProjectRecord>> {
  const rows = await readTogether(db, names, (some) => projectsByName(db, { names: some }))
  return new Map(
    rows.map((row) => [row.name, checkedProjects(db, [row])[0] ?? contradictedProject()]),
  )
}
