import { findByDigest } from '../../kernel/access/callers.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists, inChunks } from '../../kernel/storage/statements.ts'
import { type LinkRecord, links } from './stored.ts'

/** The most links that are listed, besides open ones. */
const maxListed = 200

/** The links of a project that nobody has opened yet, at the time (ISO 8601); the newest first. */
export function readOpenLinks(db: Db, projectId: string, time: string): Promise<LinkRecord[]> {
  return links.read(db, (all) =>
    all
      .where('project_id', '=', projectId)
      .where('session_digest', 'is', null)
      .where('revoke_time', 'is', null)
      .where('expire_time', '>', time)
      .orderBy('id', 'desc'),
  )
}

/** The open links of a project, and the newest of the others; the newest first. */
export async function readLinks(db: Db, projectId: string, time: string): Promise<LinkRecord[]> {
  const newest = await links.read(db, (all) =>
    all.where('project_id', '=', projectId).orderBy('id', 'desc').limit(maxListed),
  )
  const oldest = newest.at(-1)?.id ?? ''
  return [...newest, ...(await readOpenLinks(db, projectId, time)).filter(({ id }) => id < oldest)]
}

/** The links of existing projects that have one of these values. */
function readBy(db: Db, column: 'id' | 'digest' | 'session_digest', values: readonly string[]) {
  return links.read(db, (all) =>
    all
      .where(column, 'in', values)
      .where('project_id', 'in', ({ selectFrom }) => selectFrom('project').select('id')),
  )
}

/** Throws `link_not_found`. */
export async function findLink(db: Db, projectId: string, id: string): Promise<LinkRecord> {
  const [found] = await readBy(db, 'id', [id])
  if (found?.projectId !== projectId) throw notFound('link_not_found')
  return found
}

/** The link with the secret of this digest. */
export const findBySecret = findByDigest((db, digests) => readBy(db, 'digest', digests))

/** The link that the browser with the secret of this digest opened. */
export const findBySession = findByDigest(async (db, digests) => {
  const found = await readBy(db, 'session_digest', digests)
  return found.map((link) => ({ ...link, digest: link.sessionDigest ?? '' }))
})

/** Whether the link has the event of a valid token of the key. */
export function isProven(db: Db, id: string, kid: string): Promise<boolean> {
  const events = db.selectFrom('event').select('revision').where('subject_id', '=', id)
  const checked = events.where('type', '=', 'registration_link.token_checked')
  return exists(checked.where('changes', 'like', `%"kid":{"to":"${kid}"}%`))
}

/** The notes of the links with these ids, which are names in events. */
export async function readNotes(db: Db, ids: readonly string[]) {
  return inChunks(ids, (some) => links.readUnchecked(db, (all) => all.where('id', 'in', some)))
}
