import { findByDigest } from '../../kernel/access/callers.ts'
import type { ObservedHead } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists, inChunks, locked, statement } from '../../kernel/storage/statements.ts'
import { introducedByLink } from '../keys/introduction.ts'
import { type LinkRecord, links } from './stored.ts'

/** Ended and used links that are listed beside the open ones. */
const maxListed = 200

const openLinks = statement((db, { projectId, time }: { projectId: string; time: string }) =>
  links
    .rows(db)
    .where('project_id', '=', projectId)
    .where('open_time', 'is', null)
    .where('revoke_time', 'is', null)
    .where('expire_time', '>', time),
)

/** The links of a project that nobody has opened yet, at the time (ISO 8601), in no order. */
export async function readOpenLinks(
  db: Db,
  projectId: string,
  time: string,
): Promise<LinkRecord[]> {
  return links.check(db, await openLinks(db, { projectId, time }))
}

const newestLinks = statement((db, { projectId }: { projectId: string }) =>
  links.rows(db).where('project_id', '=', projectId).orderBy('id', 'desc').limit(maxListed),
)

/** The open links of a project, and the newest of the others; the newest first. */
export async function readLinks(db: Db, projectId: string, time: string): Promise<LinkRecord[]> {
  const newest = links.check(db, await newestLinks(db, { projectId }))
  const older = (await readOpenLinks(db, projectId, time)).filter(
    ({ id }) => !newest.some((link) => link.id === id),
  )
  return [...newest, ...older.sort((one, other) => (one.id > other.id ? -1 : 1))]
}

export async function findLink(
  db: Db,
  projectId: string,
  id: string,
): Promise<LinkRecord | undefined> {
  const found = await links.find(db, id)
  return found?.projectId === projectId ? found : undefined
}

const bySecret = statement((db, { digests }: { digests: string[] }) =>
  links.rows(db).where('digest', 'in', digests),
)

/** The link with the secret of this digest. */
export const findLinkBySecret = findByDigest(async (db, digests) =>
  links.check(db, await bySecret(db, { digests })),
)

/** Links of existing projects with the heads of their ledgers, from one snapshot. */
function withHeads(db: Db) {
  return links
    .rows(db)
    .innerJoin('project', 'project.id', 'registration_link.project_id')
    .innerJoin('ledger', 'ledger.project_id', 'registration_link.project_id')
    .select('ledger.hash')
}

const bySession = statement((db, { digests }: { digests: string[] }) =>
  withHeads(db).where('session_digest', 'in', digests),
)
const byId = statement((db, { id }: { id: string }) =>
  withHeads(db).where('registration_link.id', '=', id),
)
const lockById = statement((db, { id }: { id: string }) =>
  locked(db, withHeads(db).where('registration_link.id', '=', id)),
)

/** A link that a browser has opened. */
interface OpenedLink {
  /** That of the secret in its cookie. */
  digest: string
  link: LinkRecord
  head: ObservedHead
}

function toOpened(db: Db, rows: Awaited<ReturnType<typeof byId>>): OpenedLink[] {
  return rows.flatMap((row) =>
    links.check(db, [row]).flatMap((link) => {
      const { sessionDigest: digest, projectId: ledgerId } = link
      return digest === undefined ? [] : [{ digest, link, head: { ledgerId, hash: row.hash } }]
    }),
  )
}

/** The link that the browser with the secret of this digest opened. */
export const findBySession = findByDigest(async (db, digests) =>
  toOpened(db, await bySession(db, { digests })),
)

/** The opened link with this id. */
export const openedLinks = {
  find: async (db: Db, id: string) => toOpened(db, await byId(db, { id }))[0],
  lock: async (db: Db, id: string) => toOpened(db, await lockById(db, { id }))[0],
}

/** Whether the link has the event of a valid token of the key. */
export async function isProven(db: Db, id: string, kid: string): Promise<boolean> {
  const query = db
    .selectFrom('event')
    .select('revision')
    .where('subject_id', '=', id)
    .where('type', '=', 'registration_link.token_checked')
    .where('changes', 'like', `%"kid":{"to":"${kid}"}%`)
  return exists(query)
}

/** The notes of the links with these ids, which are names in events. */
export async function readNotes(db: Db, ids: readonly string[]) {
  return inChunks(ids, (some) => links.readUnchecked(db, (all) => all.where('id', 'in', some)))
}

/** The ids of the keys of the project that were registered through each link, oldest first. */
export async function readKeysOfLinks(
  db: Db,
  projectId: string,
  found: readonly LinkRecord[],
): Promise<(link: LinkRecord) => string[]> {
  const rows = await inChunks(found, (some) =>
    db
      .selectFrom('jwt_key')
      .select(['id', 'introduced_by'])
      .where('project_id', '=', projectId)
      .where(
        'introduced_by',
        'in',
        some.map(({ id }) => introducedByLink(id)),
      )
      .orderBy('create_time')
      .orderBy('id')
      .execute(),
  )
  const byLink = Map.groupBy(rows, (row) => row.introduced_by)
  return ({ id }) => byLink.get(introducedByLink(id))?.map((key) => key.id) ?? []
}
