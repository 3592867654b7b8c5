import { sql } from 'kysely'
import { checkedProjects, projectsWithLastEvents } from '../../kernel/access/stored-projects.ts'
import type { ProjectRecord } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { type KeyRecord, keys } from '../keys/stored.ts'
import type { Needle } from './needle.ts'

/*
 * Searches by indexes. What is found may match in other ways than were asked for, so the caller
 * compares it; each call returns at most `limit` candidates of each way to match.
 */

export async function findKeys(db: Db, needle: Needle, limit: number): Promise<KeyRecord[]> {
  const found = keyQueries(db, needle, limit).map((query) => query.execute())
  return keys.check(db, (await Promise.all(found)).flat())
}

export async function findProjects(
  db: Db,
  { id, folded }: Needle,
  limit: number,
): Promise<ProjectRecord[]> {
  const all = projectsWithLastEvents(db).limit(limit)
  const queries = [
    ...(id === undefined ? [] : [all.where(begins('project.id', id)).orderBy('project.id')]),
    all.where(begins('project.name', folded)).orderBy('project.name'),
  ]
  const found = await Promise.all(queries.map((query) => query.execute()))
  return checkedProjects(db, found.flat())
}

const lowerLabel = sql<string>`lower(jwt_key.label)`

/** Compares with a range of an index: LIKE uses one on some engines only, and it has wildcards. */
function begins(column: string | typeof lowerLabel, beginning: string) {
  const value = typeof column === 'string' ? sql.ref(column) : column
  // The last code point: every longer text with this beginning sorts before it.
  return sql<boolean>`(${value} >= ${beginning} and ${value} < ${`${beginning}\u{10ffff}`})`
}

/** One query for each way to find a key that exists. */
function keyQueries(db: Db, { id, hex, prefix, text, folded }: Needle, limit: number) {
  const all = keys.rows(db).limit(limit)
  return [
    ...(id === undefined ? [] : [all.where(begins('jwt_key.id', id)).orderBy('jwt_key.id')]),
    all
      .innerJoin('published_kid', (join) =>
        join
          .onRef('published_kid.project_id', '=', 'jwt_key.project_id')
          .onRef('published_kid.thumbprint', '=', 'jwt_key.thumbprint'),
      )
      .where(isKid(text, prefix))
      .orderBy('published_kid.kid'),
    ...(prefix === undefined
      ? []
      : [all.where(begins('jwt_key.thumbprint', prefix)).orderBy('jwt_key.thumbprint')]),
    ...(hex === undefined
      ? []
      : [all.where(begins('jwt_key.spki_sha256', hex)).orderBy('jwt_key.spki_sha256')]),
    all.where(begins(lowerLabel, folded)).orderBy(lowerLabel),
  ]
}

/** A published kid, of which short ones are only found whole. */
function isKid(text: string, prefix: string | undefined) {
  return prefix === undefined
    ? sql<boolean>`published_kid.kid = ${text}`
    : begins('published_kid.kid', prefix)
}
