import { findByDigest } from '../../kernel/access/callers.ts'
import type { ObservedHead } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists, inChunks, locked } from '../../kernel/storage/statements.ts'
import { introducedByLink } from '../keys/introduction.ts'
import { type LinkRecord, links } from './stored.ts'

/** Ended and used links that are listed beside the open ones. */
const maxListed = 200

/** The links of a project that nobody has opened yet, at the time (ISO 8601), in no order. */
export function readOpenLinks(db: Db, projectId: string, time: string): Promise<LinkRecord[]> {
  return links.read(db, (all) =>
    all
      .where('project_id', '=', projectId)
      .where('open_time', 'is', null)
      .where('revoke_time', 'is', null)
      .where('expire_time', '>', time),
  )
}

/** The open links of a project, and the newest of the others; the newest first. */
export async function readLinks(db: Db, projectId: string, time: string): Promise<LinkRecord[]> {
  const newest = await links.read(db, (all) =>
    all.where('project_id', '=', projectId).orderBy('id', 'desc').limit(maxListed),
  )
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

/** The link with the secret of this digest. */
export const findLinkBySecret = findByDigest((db, digests) =>
  links.read(db, (all) => all.where('digest', 'in', digests)),
)

/** A link that a browser has opened, with the head of its project from the same snapshot. */
interface OpenedLink {
  /** SHA-256 over the secret in the cookie. */
  digest: string
  link: LinkRecord
  head: ObservedHead
}

/** The opened links of existing projects in the rows. */
async function toOpened(db: Db, query: ReturnType<typeof withHeads>): Promise<OpenedLink[]> {
  return (await query.execute()).flatMap((row) =>
    links.check(db, [row]).flatMap((link) => {
      const { sessionDigest: digest, projectId: ledgerId } = link
      return digest === undefined ? [] : [{ digest, link, head: { ledgerId, hash: row.hash } }]
    }),
  )
}

function withHeads(db: Db) {
  return links
    .rows(db)
    .innerJoin('project', 'project.id', 'registration_link.project_id')
    .innerJoin('ledger', 'ledger.project_id', 'registration_link.project_id')
    .select('ledger.hash')
}

/** The link that the browser with the secret of this digest opened. */
export const findBySession = findByDigest((db, digests) =>
  toOpened(db, withHeads(db).where('session_digest', 'in', digests)),
)

const byId = (db: Db, id: string) => withHeads(db).where('registration_link.id', '=', id)

/** The opened link with this id. */
export const openedLinks = {
  find: async (db: Db, id: string) => (await toOpened(db, byId(db, id)))[0],
  lock: async (db: Db, id: string) => (await toOpened(db, locked(db, byId(db, id))))[0],
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
