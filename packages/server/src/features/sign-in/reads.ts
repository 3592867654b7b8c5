import { findByDigest } from '../../kernel/access/callers.ts'
import type { Holder } from '../../kernel/access/principal.ts'
import type { People } from '../../kernel/ledger/event-reads.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import {
  nameOf,
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
export function readSessions(db: Db, owner: Holder | 'all'): Promise<SessionRecord[]> {
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

/** People of one name whose subjects are found. */
const maxNamesakes = 20

/** The people in events: their names, by one query, and the subjects of those who are called so. */
export const people: People = {
  async readNames(db, subjects) {
    const all = db.selectFrom('person').select(columnsOf(personTable))
    const rows = await inChunks(subjects, (some) => all.where('subject', 'in', some).execute())
    return rows.map(personFromRow).map((person) => {
      const { issuer, subject } = person
      return { issuer, subject, name: nameOf(person, subject) }
    })
  },
  async findSubjects(db, person, { byEmail = false }) {
    const rows = await db
      .selectFrom('person')
      .select('subject')
      .where(({ or, eb }) =>
        or([
          eb('name', '=', person),
          eb('id', '=', person),
          ...(byEmail ? [eb('email', '=', person)] : []),
        ]),
      )
      .limit(maxNamesakes)
      .execute()
    return rows.map(({ subject }) => subject)
  },
}
