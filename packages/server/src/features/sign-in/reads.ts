import { findByDigest } from '../../kernel/access/callers.ts'
import type { Holder } from '../../kernel/access/principal.ts'
import type { SeenPerson } from '../../kernel/access/seen-people.ts'
import type { People } from '../../kernel/ledger/event-reads.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import {
  isSamePerson,
  nameOf,
  type PersonRecord,
  people,
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
    return 'subject' in owner
      ? ordered.where('subject', '=', owner.subject).where('issuer', '=', owner.issuer)
      : ordered.where('api_key_id', '=', 'apiKeyId' in owner ? owner.apiKeyId : '')
  })
}

/**
 * The sessions of the person with this id, by issuer and subject. If the row of the person is missing or was
 * altered, also those that began with this id and whose person has no row.
 */
export async function readSessionsOf(db: Db, personId: string): Promise<SessionRecord[]> {
  const person = await people.find(db, personId)
  const own = person === undefined ? [] : await readSessions(db, person)
  if (person !== undefined && !person.contradicted) return own
  const all = await readSessions(db, 'all')
  const known = await readPeople(db)
  const began = all.filter(({ person: one }) => one?.id === personId)
  return [
    ...own,
    ...began.filter(({ person: one }) => !known.some((each) => isSamePerson(each, one))),
  ]
}

/** Sessions that have ended by themselves, and whose end is not recorded yet. */
export async function readEnded(
  db: Db,
  { now, idleSince, limit }: { now: string; idleSince: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('session')
    .select('id')
    .where((where) =>
      where.or([where('expire_time', '<=', now), where('last_use_time', '<', idleSince)]),
    )
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** People: all, by their first sign-in, or those with these subjects, in no order. */
export async function readPeople(db: Db, subjects?: readonly string[]): Promise<PersonRecord[]> {
  return subjects === undefined
    ? people.read(db, (all) => all.orderBy('id'))
    : inChunks(subjects, (some) => people.read(db, (all) => all.where('subject', 'in', some)))
}

/** People who have signed in since the time, by their first sign-in, without altered rows. */
export async function readPeopleSince(db: Db, since: string): Promise<SeenPerson[]> {
  const found = await people.read(db, (all) =>
    all.where('last_sign_in_time', '>=', since).orderBy('id'),
  )
  return found.flatMap(({ claims = {}, contradicted, ...person }) =>
    contradicted ? [] : [{ ...person, name: nameOf(person, person.subject), claims }],
  )
}

/** People of one name whose subjects are found. */
const maxNamesakes = 20

/**
 * The people in events: their names, by one query, and the subjects of those who are called so. Altered rows
 * name nobody.
 */
export const peopleInEvents: People = {
  async readNames(db, subjects) {
    return (await readPeople(db, subjects)).flatMap((person) => {
      const { issuer, subject, contradicted } = person
      return contradicted ? [] : [{ issuer, subject, name: nameOf(person, subject) }]
    })
  },
  async findSubjects(db, person, { byEmail = false }) {
    const found = await people.read(db, (all) =>
      all
        .where(({ or, eb }) =>
          or([
            eb('name', '=', person),
            eb('id', '=', person),
            ...(byEmail ? [eb('email', '=', person)] : []),
          ]),
        )
        .limit(maxNamesakes),
    )
    return found.flatMap(({ subject, contradicted }) => (contradicted ? [] : [subject]))
  },
}
