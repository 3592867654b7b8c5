import type { Snapshot, Store } from '../../../packages/server/src/kernel/context.ts'
import type { Db } from '../../../packages/server/src/kernel/storage/schema.ts'

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
