import { setImmediate } from 'node:timers/promises'
import { projects } from '../../kernel/access/stored-projects.ts'
import { contradictedProject } from '../../kernel/faults.ts'
import { type Db, parseStored } from '../../kernel/storage/schema.ts'
import { inChunks, statement } from '../../kernel/storage/statements.ts'
import {
  damagedJwk,
  hasKey,
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
  return keySet && oldestFirst(keySet)
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
  return oldestFirst({ ...first, keys })
}

function oldestFirst({ keys: found, ...rest }: KeySet): KeySet {
  return {
    ...rest,
    keys: found.sort((a, b) => compare(a.createTime, b.createTime) || compare(a.id, b.id)),
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

async function readPage(db: Db, page: Page): Promise<KeySet | undefined> {
  const { projectId } = page
  const rows = await keysOfProject(db, page)
  const [first] = rows
  if (first === undefined) return undefined
  const { name, revision, hash, project_event: last_event } = first
  const times = { create_time: first.project_time, update_time: first.project_update_time }
  const [project] = projects.check(db, [{ id: projectId, name, ...times, last_event }])
  if (project?.contradicted) throw contradictedProject()
  return { name, revision, head: hash, keys: keys.check(db, rows.filter(hasKey)) }
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
export function findKeysByMaterial(
  db: Db,
  materialSha256: string,
): Promise<{ projectId: string; kid: string }[]> {
  return db
    .selectFrom('jwt_key')
    .select(['project_id as projectId', 'id as kid'])
    .where('material_sha256', '=', materialSha256)
    .orderBy('project_id')
    .orderBy('id')
    .execute()
}
