import { sql } from 'kysely'
import type { DeletedKey, Needle, SearchReads } from '../../core/finding/reads.ts'
import type { EventChanges } from '../../core/ledger/chain.ts'
import { projectFromRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { inChunks } from '../statements.ts'
import { readEventsOfRequest } from './events.ts'
import { apiKeys, checkedProject, isManaged, keys, projectsWithLastEvents } from './last-events.ts'

/** Entries of the index of subjects that are read for the beginning of an id. */
const maxSubjectEntries = 1_000

/** Deletions of a project among which a published kid is looked for, of the newest keys first. */
const maxDeletions = 200

export function createSearchReads(db: Db): SearchReads {
  return {
    async keys(needle, limit) {
      const found = keyQueries(db, needle, limit).map((query) => query.execute())
      return (await Promise.all(found)).flat().map(keys.check)
    },
    hasMoreKids: ({ id }) => (id === undefined ? Promise.resolve(false) : hasMoreSubjects(db, id)),
    deletedKeys: (needle, projectId, limit) => readDeletedKeys(db, needle, { projectId, limit }),
    async apiKeys({ id, text, folded }, limit) {
      const all = apiKeys.rows(db).where(isManaged).limit(limit)
      const queries = [
        ...(id === undefined ? [] : [all.where(begins('id', id)).orderBy('id')]),
        all.where('prefix', '=', text).orderBy('id'),
        all.where(begins(lowerName, folded)).orderBy(lowerName),
      ]
      return (await Promise.all(queries.map((query) => query.execute()))).flat().map(apiKeys.check)
    },
    async projects({ id, folded }, limit) {
      const all = projectsWithLastEvents(db).limit(limit)
      const queries = [
        ...(id === undefined ? [] : [all.where(begins('project.id', id)).orderBy('project.id')]),
        all.where(begins('project.name', folded)).orderBy('project.name'),
      ]
      return projectsOf((await Promise.all(queries.map((query) => query.execute()))).flat())
    },
    async projectsById(ids) {
      const all = projectsWithLastEvents(db)
      const rows = await inChunks(ids, (some) => all.where('project.id', 'in', some).execute())
      return projectsOf(rows)
    },
    events: (requestId, projects, limit) => readEventsOfRequest(db, { requestId, projects, limit }),
  }
}

const lowerName = sql<string>`lower(name)`
const lowerLabel = sql<string>`lower(jwt_key.label)`

/** As a range of an index: whether LIKE uses one depends on the engine, and it has wildcards. */
function begins(column: string | typeof lowerName, beginning: string) {
  const value = typeof column === 'string' ? sql.ref(column) : column
  // The last code point: every longer text with this beginning sorts before it.
  return sql<boolean>`(${value} >= ${beginning} and ${value} < ${`${beginning}\u{10ffff}`})`
}

function projectsOf(rows: Parameters<typeof checkedProject>[0][]) {
  return rows.filter((row) => checkedProject(row) !== undefined).map(projectFromRow)
}

/** One query for each way to find a key that exists. */
function keyQueries(db: Db, { id, hex, prefix, text, folded }: Needle, limit: number) {
  const all = keys.rows(db).limit(limit)
  return [
    ...(id === undefined
      ? []
      : [
          all
            .innerJoin(kidsOf(db, id, limit).as('subject'), (join) =>
              join
                .onRef('subject.project_id', '=', 'jwt_key.project_id')
                .onRef('subject.subject_id', '=', 'jwt_key.id'),
            )
            .orderBy('jwt_key.id'),
        ]),
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

/**
 * The keys that exist whose kids begin like this. They are found by the index of subjects, which all
 * events have anyway, and not by another index of all keys.
 */
function kidsOf(db: Db, id: string, limit: number) {
  return (
    db
      .selectFrom(subjectEntries(db, id).limit(maxSubjectEntries).as('entry'))
      .select(['subject_id', 'project_id'])
      // Of an EXISTS, PostgreSQL may make a join that reads all keys.
      .where(
        ({ selectFrom }) =>
          selectFrom('jwt_key')
            .select('jwt_key.id')
            .whereRef('jwt_key.project_id', '=', 'entry.project_id')
            .whereRef('jwt_key.id', '=', 'entry.subject_id'),
        'is not',
        null,
      )
      .distinct()
      .limit(limit)
  )
}

function subjectEntries(db: Db, id: string) {
  return db
    .selectFrom('event')
    .select(['subject_id', 'project_id'])
    .where(begins('subject_id', id))
    .orderBy('subject_id')
    .orderBy('project_id')
    .orderBy('revision')
}

/** Whether other subjects follow the entries that `kidsOf` reads. */
async function hasMoreSubjects(db: Db, id: string): Promise<boolean> {
  const entry = subjectEntries(db, id).limit(1)
  const last = await entry.offset(maxSubjectEntries - 1).executeTakeFirst()
  if (last === undefined) return false
  const isLater = sql<boolean>`(subject_id, project_id) > (${last.subject_id}, ${last.project_id})`
  return (await entry.where(isLater).executeTakeFirst()) !== undefined
}

/** A published kid, of which short ones are only found whole. */
function isKid(text: string, prefix: string | undefined) {
  return prefix === undefined
    ? sql<boolean>`published_kid.kid = ${text}`
    : begins('published_kid.kid', prefix)
}

interface Extent {
  projectId: string | undefined
  limit: number
}

async function readDeletedKeys(
  db: Db,
  { id, text, prefix }: Needle,
  { projectId, limit }: Extent,
): Promise<DeletedKey[]> {
  const byId = deletions(db, projectId).limit(limit).orderBy('subject_id')
  const found = id === undefined ? [] : await byId.where(begins('subject_id', id)).execute()
  const kids = db
    .selectFrom('published_kid')
    .select(['project_id', 'kid'])
    .where(isKid(text, prefix))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('jwt_key')
            .select('jwt_key.id')
            .whereRef('jwt_key.project_id', '=', 'published_kid.project_id')
            .whereRef('jwt_key.thumbprint', '=', 'published_kid.thumbprint'),
        ),
      ),
    )
    .limit(limit)
  const own = projectId === undefined ? kids : kids.where('project_id', '=', projectId)
  const projects = Map.groupBy(await own.execute(), ({ project_id }) => project_id)
  for (const project of projects.keys()) {
    const newest = deletions(db, project).orderBy('subject_id', 'desc').limit(maxDeletions)
    found.push(...(await newest.execute()))
  }
  return found.map(deletedKeyOf)
}

/** The literal type lets both engines use the index of deletions, which costs a registration nothing. */
function deletions(db: Db, projectId: string | undefined) {
  const all = db
    .selectFrom('event')
    .select(['project_id', 'subject_id', 'time', 'changes'])
    .where('type', '=', sql.lit('key.deleted'))
  return projectId === undefined ? all : all.where('project_id', '=', projectId)
}

function deletedKeyOf(row: {
  project_id: string
  subject_id: string
  time: string
  changes: string | null
}): DeletedKey {
  const { label, publishedKid }: EventChanges = JSON.parse(row.changes ?? '{}')
  return {
    id: row.subject_id,
    projectId: row.project_id,
    label: String(label?.from ?? ''),
    ...(publishedKid?.from === undefined ? {} : { publishedKid: String(publishedKid.from) }),
    deleteTime: row.time,
  }
}
