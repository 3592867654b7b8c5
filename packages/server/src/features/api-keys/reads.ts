import { findByDigest } from '../../kernel/access/callers.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import { type ApiKeyRecord, apiKeys, isManaged } from './stored.ts'

const apiKeysByDigest = statement((db, { digests }: { digests: string[] }) =>
  apiKeys.rows(db).where('digest', 'in', digests),
)

export const findApiKeyByDigest = findByDigest(async (db, digests) =>
  apiKeys.check(db, await apiKeysByDigest(db, { digests })),
)

/**
 * API keys by creation: all, or those bound to one of the projects. Without those that tokens were
 * exchanged for, or with `exchanged` only those.
 */
export function readApiKeys(
  db: Db,
  projects: 'all' | readonly string[],
  { exchanged = false }: { exchanged?: boolean } = {},
): Promise<ApiKeyRecord[]> {
  return apiKeys.read(db, (all) => {
    const wanted = exchanged ? all.where('rule_id', 'is not', null) : all.where(isManaged)
    const ordered = wanted.orderBy('id')
    return projects === 'all' ? ordered : ordered.where('project_id', 'in', projects)
  })
}

/** The API keys with these ids, in no order. */
export function readApiKeysById(db: Db, ids: readonly string[]): Promise<ApiKeyRecord[]> {
  return inChunks(ids, (some) => apiKeys.read(db, (all) => all.where('id', 'in', some)))
}

/** The number of API keys, without those that tokens were exchanged for: of all, or those bound to the project. */
export async function countApiKeys(db: Db, projectId?: string): Promise<number> {
  const row = await db
    .selectFrom('api_key')
    .where(isManaged)
    .$if(projectId !== undefined, (all) => all.where('project_id', '=', projectId ?? ''))
    .select((select) => select.fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}
