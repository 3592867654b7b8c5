import { createBatchLoader } from '../../async/single-flight.ts'
import { oneFor } from '../../kernel/shared.ts'
import { type Db, parseStored } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import type { Reporter, Use } from './stored.ts'

/** The reporters of a project by name, or the one with this name. */
export async function readReporters(
  db: Db,
  { projectId, reporter }: { projectId: string; reporter?: string },
): Promise<Reporter[]> {
  const all = db.selectFrom('key_reporter').selectAll().where('project_id', '=', projectId)
  const found = reporter === undefined ? all : all.where('reporter', '=', reporter)
  const rows = await found.orderBy('reporter').execute()
  return rows.map((row) => ({ ...row, uses: parseStored<Record<string, Use>>(row.uses, {}) }))
}

const sums = statement((db, { projectIds }: { projectIds: string[] }) =>
  db
    .selectFrom('key_reporter')
    .select(['project_id', ({ fn }) => fn.sum('report_time').as('sum')])
    .where('project_id', 'in', projectIds)
    .groupBy('project_id'),
)

/**
 * A number for each project in which verifiers report: the sum of the times of their last reports. A report
 * raises it, and a removal lowers it by more than the others can raise it. Concurrent callers share one query.
 */
export const versionsOf = oneFor((db: Db) =>
  createBatchLoader(async (projectIds) => {
    const rows = await inChunks(projectIds, (some) => sums(db, { projectIds: some }))
    return new Map(rows.map(({ project_id, sum }) => [project_id, Number(sum)]))
  }),
)
