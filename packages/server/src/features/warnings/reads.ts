import type { Db } from '../../kernel/storage/schema.ts'
import { readKeySummaries } from '../keys/reads.ts'
import { readReplacedKeys } from '../rotations/reads.ts'
import type { ProjectKeys } from './rules.ts'

/** Reads what the warnings about the keys of projects depend on, by the id of the project. */
export async function readProjectKeys(
  db: Db,
  projectIds: readonly string[],
): Promise<(projectId: string) => ProjectKeys> {
  const byProject = ({ projectId }: { projectId: string }) => projectId
  const keys = Map.groupBy(await readKeySummaries(db, projectIds), byProject)
  const replacements = Map.groupBy(await readReplacedKeys(db, projectIds), byProject)
  return (id) => ({ keys: keys.get(id) ?? [], replacements: replacements.get(id) ?? [] })
}
