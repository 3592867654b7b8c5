import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { checkedProjects, projectsWithLastEvents } from '../../kernel/access/stored-projects.ts'
import type { ProjectRecord } from '../../kernel/records.ts'
import { type Db, parseStored } from '../../kernel/storage/schema.ts'
import { damagedJwk, type KeyRecord, keys } from '../keys/stored.ts'
import { isInLabel, mayBeInMiddle, type Needle } from './needle.ts'
import { sshFingerprint } from './ssh.ts'

/*
 * Searches by indexes. What is found may match in other ways than were asked for, so the caller
 * compares it; each call returns at most `limit` candidates of each way to match.
 */

export async function findKeys(db: Db, needle: Needle, limit: number): Promise<KeyRecord[]> {
  const queries = keyQueries(db, needle, limit).map((query) => query.execute())
  const found = (await Promise.all(queries)).flat()
  const isNamed = found.some(({ thumbprint }) => thumbprint === needle.prefix)
  const mayBeScanned = needle.ssh !== undefined || (mayBeInMiddle(needle) && !isNamed)
  const isShort = new Set(found.map(({ id }) => id)).size < limit
  const ids = mayBeScanned && isShort ? await scanKeys(db, needle, limit) : []
  const scanned =
    ids.length === 0 ? [] : await keys.rows(db).where('jwt_key.id', 'in', ids).execute()
  return keys.check(db, [...found, ...scanned])
}

/** The newest keys, through which a search goes for what no index has. */
const maxScanned = 20_000
const scanPage = 1_000

/** The ids of keys with the text in their labels, or its fingerprint; others are served between pages. */
async function scanKeys(db: Db, { folded, ssh }: Needle, limit: number): Promise<string[]> {
  const ids: string[] = []
  const isWanted = (key: { label: string; jwk?: string }) =>
    ssh === undefined
      ? isInLabel(folded, key.label)
      : sshFingerprint(parseStored(key.jwk ?? '', damagedJwk)) === ssh
  const newest = db.selectFrom('jwt_key').select(['id', 'label']).orderBy('id', 'desc')
  const scan = ssh === undefined ? newest : newest.select('jwk')
  let before = '\u{10ffff}'
  for (let scanned = 0; scanned < maxScanned && ids.length < limit; scanned += scanPage) {
    const page = await scan.where('id', '<', before).limit(scanPage).execute()
    ids.push(...page.filter(isWanted).map(({ id }) => id))
    if (page.length < scanPage) break
    before = page.at(-1)?.id ?? ''
    await setImmediate()
  }
  return ids.slice(0, limit)
}

export async function findProjects(
  db: Db,
  { id, end, folded }: Needle,
  limit: number,
): Promise<ProjectRecord[]> {
  const all = projectsWithLastEvents(db).limit(limit)
  const queries = [
    ...(id === undefined ? [] : [all.where(begins('project.id', id)).orderBy('project.id')]),
    all.where(begins('project.name', folded)).orderBy('project.name'),
    ...(end === undefined ? [] : [all.where(ends('project.id', end))]),
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

/** The index has the last four characters. */
const ends = (column: 'jwt_key.id' | 'project.id', end: string) =>
  sql<boolean>`(substr(${sql.ref(column)}, 33) = ${end.slice(-4)} and ${sql.ref(column)} like ${`%${end}`})`

/** One query for each way to find a key that exists. */
function keyQueries(db: Db, { id, end, hex, prefix, text, folded }: Needle, limit: number) {
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
    ...(end === undefined ? [] : [all.where(ends('jwt_key.id', end))]),
  ]
}

/** A published kid, of which short ones are only found whole. */
function isKid(text: string, prefix: string | undefined) {
  return prefix === undefined
    ? sql<boolean>`published_kid.kid = ${text}`
    : begins('published_kid.kid', prefix)
}
