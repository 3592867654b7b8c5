import type { KidUse } from '../../core/keys/kids.ts'
import type { EventChanges } from '../../core/ledger/chain.ts'
import type { KeyRecord } from '../../core/records.ts'
import type { Db } from '../schema.ts'
import { chunked } from '../statements.ts'

/**
 * For each kid the thumbprints of all keys that ever had it, deleted ones included: as an id, by the
 * ledgers; as a `publishedKid` of the project, by its table.
 */
export async function readKidUse(
  db: Db,
  projectId: string,
  kids: readonly string[],
): Promise<KidUse> {
  const ids = new Map<string, Set<string>>()
  const published = new Map<string, Set<string>>()
  const add = (owners: typeof ids, kid: string, thumbprint: string) =>
    owners.set(kid, (owners.get(kid) ?? new Set()).add(thumbprint))
  for (const chunk of chunked([...new Set(kids)])) {
    const events = await db
      .selectFrom('event')
      .select(['project_id', 'subject_id', 'changes'])
      .where('subject_id', 'in', chunk)
      .where('type', '=', 'key.created')
      .execute()
    for (const { project_id, subject_id, changes } of events) {
      const { thumbprint }: EventChanges = JSON.parse(changes ?? '{}')
      add(ids, subject_id, String(thumbprint?.to))
      if (project_id === projectId) add(published, subject_id, String(thumbprint?.to))
    }
    const rows = await db
      .selectFrom('published_kid')
      .select(['kid', 'thumbprint'])
      .where('project_id', '=', projectId)
      .where('kid', 'in', chunk)
      .execute()
    for (const { kid, thumbprint } of rows) {
      add(ids, kid, thumbprint)
      add(published, kid, thumbprint)
    }
  }
  return { ids, published }
}

/** Keeps the published kids of new keys from ever naming other key material. */
export async function reservePublishedKids(db: Db, keys: readonly KeyRecord[]): Promise<void> {
  const rows = keys.flatMap(({ projectId, publishedKid, thumbprint }) =>
    publishedKid === undefined ? [] : [{ project_id: projectId, kid: publishedKid, thumbprint }],
  )
  for (const chunk of chunked(rows)) {
    await db
      .insertInto('published_kid')
      .values(chunk)
      // The same key again, after it was deleted.
      .onConflict((conflict) => conflict.columns(['project_id', 'kid']).doNothing())
      .execute()
  }
}
