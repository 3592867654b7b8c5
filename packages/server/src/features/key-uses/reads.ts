import { createBatchLoader } from '../../async/single-flight.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import type { ReporterRow } from './stored.ts'

/** The reporters of a project by name, or the one with this name. */
export function readReporters(
  db: Db,
  { projectId, reporter }: { projectId: string; reporter?: string },
): Promise<ReporterRow[]> {
  const all = db.selectFrom('key_reporter').selectAll().where('project_id', '=', projectId)
  const found = reporter === undefined ? all : all.where('reporter', '=', reporter)
  return found.orderBy('reporter').execute()
}

/** The last use of a key by any reporter. */
export interface LastUse {
  time: string
  reporter: string
  exp: string | null
}

const lastUses = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('jwt_key')
    .select('jwt_key.id')
    .select((key) => {
      const uses = key
        .selectFrom('key_use')
        .whereRef('key_use.project_id', '=', 'jwt_key.project_id')
        .whereRef('key_use.key_id', '=', 'jwt_key.id')
      const last = uses.orderBy('last_time', 'desc').limit(1)
      return [
        last.select('last_time').as('time'),
        last.select('reporter').as('reporter'),
        uses.select(({ fn }) => fn.max('last_exp').as('exp')).as('exp'),
      ]
    })
    .where('jwt_key.project_id', '=', projectId),
)

/** The last uses by the ids of their keys. */
export async function readLastUses(db: Db, projectId: string): Promise<Map<string, LastUse>> {
  const rows = await lastUses(db, { projectId })
  return new Map(
    rows.flatMap(({ id, time, reporter, exp }) =>
      time === null || reporter === null ? [] : [[id, { time, reporter, exp }] as const],
    ),
  )
}

const versions = statement((db, { projectIds }: { projectIds: string[] }) =>
  db.selectFrom('key_use_version').selectAll().where('project_id', 'in', projectIds),
)

/** What each report of a project changes; none before the first. Concurrent callers share one query. */
export const versionsOf = oneFor((db: Db) =>
  createBatchLoader(async (projectIds) => {
    const rows = await inChunks(projectIds, (some) => versions(db, { projectIds: some }))
    return new Map(rows.map(({ project_id, version }) => [project_id, version]))
  }),
)
