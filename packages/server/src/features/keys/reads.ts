import { setImmediate } from 'node:timers/promises'
import { projects } from '../../kernel/access/stored-projects.ts'
import { contradictedProject } from '../../kernel/faults.ts'
import { type PublishedDigests, parsePublished } from '../../kernel/ledger/chain.ts'
import { type Db, parseStored } from '../../kernel/storage/schema.ts'
import { inChunks, readTogether, statement } from '../../kernel/storage/statements.ts'
import { checkTexts } from './published/stored.ts'
import { digestsOf, type PublishedTexts, publish } from './published/texts.ts'
import {
  damagedJwk,
  hasKey,
  type KeyRecord,
  type KeySet,
  type KeySummary,
  keyColumns,
  keyPartFromRow,
  keys,
  type RsaKey,
} from './stored.ts'

/** Keys of one statement, between which other requests are served. */
const pageSize = 500

/** More keys than a project can have. */
const noLimit = 2 ** 31 - 1

interface Page {
  projectId: string
  /** The id that those of the page follow. */
  after: string
  limit: number
}

const keysOfProject = statement((db, { projectId, after, limit }: Page) =>
  db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .leftJoin('jwt_key', (join) =>
      join.onRef('jwt_key.project_id', '=', 'project.id').on('jwt_key.id', '>', after),
    )
    .select(['project.name', 'ledger.revision', 'ledger.hash'])
    .select([projects.lastEvent.as('project_event'), keys.lastEvent.as('last_event')])
    .select(['project.create_time as project_time', 'project.update_time as project_update_time'])
    .select(keyColumns)
    .where('project.id', '=', projectId)
    .orderBy('jwt_key.id')
    .limit(limit),
)

/** The project's keys, name and revision from one snapshot; undefined if it does not exist. */
export async function readKeySet(db: Db, projectId: string): Promise<KeySet | undefined> {
  const keySet = await readPage(db, { projectId, after: '', limit: noLimit })
  return keySet && { ...keySet, keys: oldestFirst(keySet.keys) }
}

/** The same, but a project with thousands of keys does not hold up the requests of others. */
export async function readKeySetInPages(db: Db, projectId: string): Promise<KeySet | undefined> {
  const first = await readPage(db, { projectId, after: '', limit: pageSize })
  if (first === undefined) return undefined
  const keys = [...first.keys]
  for (let last = first; last.keys.length === pageSize; ) {
    await setImmediate()
    const after = last.keys.at(-1)?.id ?? ''
    const page = await readPage(db, { projectId, after, limit: pageSize })
    // Only pages with the same last event are one snapshot.
    if (page?.head !== first.head) return readKeySet(db, projectId)
    keys.push(...page.keys)
    last = page
  }
  return { ...first, keys: oldestFirst(keys) }
}

/** Sorts the keys in place, in the order of lists. */
export function oldestFirst(found: KeyRecord[]): KeyRecord[] {
  return found.sort(compareAge)
}

export function compareAge(
  one: Pick<KeyRecord, 'createTime' | 'id'>,
  other: Pick<KeyRecord, 'createTime' | 'id'>,
): number {
  return compare(one.createTime, other.createTime) || compare(one.id, other.id)
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

async function readPage(db: Db, page: Page): Promise<KeySet | undefined> {
  const { projectId } = page
  const rows = await keysOfProject(db, page)
  const [first] = rows
  if (first === undefined) return undefined
  const { name, revision, hash, project_event: last_event } = first
  const times = { create_time: first.project_time, update_time: first.project_update_time }
  requireProjectRow(db, { id: projectId, name, ...times, last_event })
  return { name, revision, head: hash, keys: keys.check(db, rows.filter(hasKey)) }
}

const publishedOfProjects = statement((db, { ids }: { ids: readonly string[] }) =>
  db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .leftJoin('event', (join) =>
      join
        .onRef('event.project_id', '=', 'ledger.project_id')
        .onRef('event.revision', '=', 'ledger.revision'),
    )
    .leftJoin('published_key_set', 'published_key_set.project_id', 'project.id')
    .select(['project.id', 'project.name', 'project.create_time', 'project.update_time'])
    .select(['ledger.revision', 'ledger.hash as head', projects.lastEvent.as('last_event')])
    .select(['event.published', 'list', 'jwks', 'jwks_full'])
    .where('project.id', 'in', ids),
)

/**
 * The row of each project that exists, as it is stored, with the last events that account for it and the
 * database that has it.
 */
export async function readPublishedRows(db: Db, ids: readonly string[]) {
  const rows = await readTogether(db, ids, (some) => publishedOfProjects(db, { ids: some }))
  return new Map(rows.map((row) => [row.id, { db, ...row }]))
}

type PublishedRow = Awaited<ReturnType<typeof publishedOfProjects>>[number] & { db: Db }

/** What a project publishes, with its name and its revision. */
export type PublishedKeySet = Omit<KeySet, 'keys'> & {
  texts: PublishedTexts
  digests: PublishedDigests
}

/**
 * What a project with this row publishes. If the stored texts are not those of the last event, they are made
 * of the keys that are as their own events say; undefined if the project does not exist any more.
 */
export async function toPublishedKeySet(
  row: PublishedRow,
  now: string,
): Promise<PublishedKeySet | undefined> {
  const { db, id, name, revision, head } = row
  requireProjectRow(db, row)
  const { texts, digests, hadKeys } = checkTexts(db, id, row, parsePublished(row.published))
  if (texts && digests) return { name, revision, head, texts, digests }
  const keySet = await readKeySetInPages(db, id)
  if (keySet === undefined) return undefined
  // Another standby, further behind, may have taken over since the row was read.
  if (keySet.revision < row.revision) throw contradictedProject()
  const { keys, ...rest } = keySet
  const rendered = publish(keys, now, hadKeys())
  return { ...rest, texts: rendered, digests: digestsOf(rendered) }
}

/** Throws `storage_unavailable` for a row that contradicts its ledger. */
function requireProjectRow(db: Db, row: Parameters<typeof projects.check>[1][number]): void {
  if (projects.check(db, [row])[0]?.contradicted) throw contradictedProject()
}

/** The keys of projects, in no order. */
export async function readKeySummaries(
  db: Db,
  projectIds: readonly string[],
): Promise<KeySummary[]> {
  const rows = await inChunks(projectIds, (some) =>
    db
      .selectFrom('jwt_key')
      .select([
        'id',
        'project_id',
        'label',
        'algorithm',
        'enabled',
        'expire_time',
        'introduced_by',
        'end_reason',
        'end_time',
      ])
      .where('project_id', 'in', some)
      .execute(),
  )
  return rows.map(keyPartFromRow)
}

export async function readRsaKeys(db: Db, projectId: string): Promise<RsaKey[]> {
  const rows = await db
    .selectFrom('jwt_key')
    .select(['id', 'thumbprint', 'jwk'])
    .where('project_id', '=', projectId)
    // Only RSA keys have a length in bits.
    .where('bits', 'is not', null)
    .execute()
  return rows.flatMap(({ id, thumbprint, jwk }) => {
    const parsed = parseStored(jwk, damagedJwk)
    return parsed.kty === 'RSA' ? [{ kid: id, thumbprint, n: parsed.n }] : []
  })
}

/** Keys with this material in all projects, active or not. */
export async function findKeysByMaterial(
  db: Db,
  materialSha256: string,
): Promise<(Pick<KeyRecord, 'projectId' | 'introducedBy'> & { kid: string })[]> {
  const rows = await db
    .selectFrom('jwt_key')
    .select(['project_id', 'id', 'introduced_by'])
    .where('material_sha256', '=', materialSha256)
    .orderBy('project_id')
    .orderBy('id')
    .execute()
  return rows.map(keyPartFromRow).map(({ id: kid, ...key }) => ({ ...key, kid }))
}
