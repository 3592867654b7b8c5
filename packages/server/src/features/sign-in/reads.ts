import { findByDigest } from '../../kernel/access/digests.ts'
import type { SessionOwner } from '../../kernel/context.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import {
  type PersonRecord,
  personFromRow,
  personTable,
  type SessionRecord,
  sessions,
} from './stored.ts'

const sessionsByDigest = statement((db, { digests }: { digests: string[] }) =>
  sessions.rows(db).where('digest', 'in', digests),
)

export const findSessionByDigest = findByDigest(async (db, digests) =>
  sessions.check(db, await sessionsByDigest(db, { digests })),
)

/** Sessions by creation, ended ones included: all, or those of a person or an API key. */
export function readSessions(db: Db, owner: SessionOwner | 'all'): Promise<SessionRecord[]> {
  return sessions.read(db, (all) => {
    const ordered = all.orderBy('id')
    if (owner === 'all') return ordered
    return 'personId' in owner
      ? ordered.where('person_id', '=', owner.personId)
      : ordered.where('api_key_id', '=', owner.apiKeyId)
  })
}

/** People: all, by their first sign-in, or those with these ids, in no order. */
export async function readPeople(db: Db, ids?: readonly string[]): Promise<PersonRecord[]> {
  const all = db.selectFrom('person').select(columnsOf(personTable)).orderBy('id')
  const rows =
    ids === undefined
      ? await all.execute()
      : await inChunks(ids, (some) => all.where('id', 'in', some).execute())
  return rows.map(personFromRow)
}
