import type { Db } from '../../kernel/storage/schema.ts'
import { statement } from '../../kernel/storage/statements.ts'
import type { Reporter, Use } from './stored.ts'

/** The reporters of a project by name, or the one with this name. */
export function readReporters(
  db: Db,
  { projectId, reporter }: { projectId: string; reporter?: string },
): Promise<Reporter[]> {
  const all = db.selectFrom('key_reporter').selectAll().where('project_id', '=', projectId)
  const found = reporter === undefined ? all : all.where('reporter', '=', reporter)
  return found.orderBy('reporter').execute()
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

/** The last use of each key by any reporter, by the id of the key. */
export async function readLastUses(
  db: Db,
  projectId: string,
): Promise<Map<string, Use & { reporter: string }>> {
  const rows = await lastUses(db, { projectId })
  return new Map(
    rows.flatMap(({ id, time, reporter, exp }) =>
      time === null || reporter === null ? [] : [[id, { time, reporter, exp: exp ?? 0 }] as const],
    ),
  )
}
