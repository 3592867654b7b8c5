import type { Each, Snapshot, Store } from '../context.ts'
import { isStorageUnavailable } from '../faults.ts'
import { classify } from './errors.ts'
import type { Db } from './schema.ts'

/**
 * Reads the projects together. If a row cannot be read, as on a damaged page, reads halves of them, so that
 * only its own project has the error.
 */
export async function readEach<Found>(
  projectIds: readonly string[],
  read: (projectIds: readonly string[]) => Promise<Each<Found>>,
): Promise<Each<Found>> {
  try {
    return await read(projectIds)
  } catch (error) {
    const isDamage = isStorageUnavailable(error) && classify(error.cause) === 'unreadable'
    if (!isDamage) throw error
    if (projectIds.length === 1) return failed(projectIds, error)
    const half = Math.ceil(projectIds.length / 2)
    const first = await readEach(projectIds.slice(0, half), read)
    return new Map([...first, ...(await readEach(projectIds.slice(half), read))])
  }
}

export function failed(projectIds: readonly string[], error: Error): Each<never> {
  return new Map(projectIds.map((id) => [id, error]))
}

/** Reads one project by itself. */
export async function readNewest<Found extends Snapshot>(
  { newest }: Pick<Store['published'], 'newest'>,
  projectId: string,
  read: (db: Db, projectId: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const all = await newest([projectId], async (db) => {
    const found = await read(db, projectId)
    return new Map(found && [[projectId, found]])
  })
  const found = all.get(projectId)
  if (found instanceof Error) throw found
  return found
}
