import type { Kysely, Selectable } from 'kysely'
import type { Store } from '../../core/context.ts'
import type { KeySet, ProjectRecord } from '../../core/records.ts'
import {
  apiKeyColumns,
  apiKeyFromRow,
  eventColumns,
  eventFromRow,
  keyColumns,
  keyCountFromRow,
  keyFromRow,
  rsaKeyFromRow,
} from '../row-mapping.ts'
import { type Tables, tableNames } from '../schema.ts'
import { statement } from '../statements.ts'

/** Every query that changes nothing, on any engine; each is one statement, hence one snapshot. */
export type StoreReads = Omit<
  Store,
  'commit' | 'heads' | 'headsMatch' | 'isWritable' | 'published' | 'close'
>

export function createStoreReads(db: Kysely<Tables>): StoreReads {
  return {
    async findProject(ref) {
      const [row] = 'id' in ref ? await projectById(db, ref) : await projectByName(db, ref)
      return row && { ...projectFromRow(row), head: row.hash }
    },
    async listProjects({ after, limit }) {
      const rows = await projects(db)
        .where('project.id', '>', after ?? '')
        .orderBy('project.id')
        .limit(limit)
        .execute()
      return rows.map(projectFromRow)
    },
    async events(ledgerId, page) {
      return (await readEventRows(db, ledgerId, page)).map(eventFromRow)
    },
    keySet: (projectId) => readKeySet(db, projectId),
    async findApiKeyByDigest(digest) {
      const [row] = await apiKeyByDigest(db, { digest })
      return row && apiKeyFromRow(row)
    },
    async findApiKey(id) {
      const [row] = await apiKeyById(db, { id })
      return row && apiKeyFromRow(row)
    },
    async listApiKeys(boundTo) {
      const all = db.selectFrom('api_key').select(apiKeyColumns).orderBy('id')
      const query = boundTo === undefined ? all : all.where('project_id', '=', boundTo)
      return (await query.execute()).map(apiKeyFromRow)
    },
    async countApiKeys() {
      const row = await db
        .selectFrom('api_key')
        .select((select) => select.fn.countAll<number | string>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },
    async isBlocked({ thumbprint, materialSha256 }) {
      const row = await db
        .selectFrom('blocked_fingerprint')
        .select('fingerprint')
        .where('fingerprint', 'in', [thumbprint, materialSha256])
        .executeTakeFirst()
      return row !== undefined
    },
    async rsaKeys(projectId) {
      const rows = await db
        .selectFrom('jwt_key')
        .select(['id', 'thumbprint', 'jwk'])
        .where('project_id', '=', projectId)
        // RSA keys alone have a length.
        .where('bits', 'is not', null)
        .execute()
      return rows.map(rsaKeyFromRow)
    },
    async findKeysByMaterial(materialSha256) {
      return await db
        .selectFrom('jwt_key')
        .select(['project_id as projectId', 'id as kid'])
        .where('material_sha256', '=', materialSha256)
        .orderBy('project_id')
        .orderBy('id')
        .execute()
    },
    async countKeys(time) {
      const rows = await db
        .selectFrom('jwt_key')
        .select(['algorithm', 'enabled'])
        .select(({ fn, case: when }) => [
          when().when('expire_time', '<=', time).then(1).else(0).end().as('expired'),
          fn.countAll<number | string>().as('count'),
          fn.min('expire_time').as('first_expiry'),
        ])
        .groupBy(['algorithm', 'enabled', 'expired'])
        .execute()
      return rows.map(keyCountFromRow)
    },
    async ping() {
      await db
        .selectNoFrom(({ exists, lit, selectFrom }) =>
          tableNames.map((table) => exists(selectFrom(table).select(lit(1).as('one'))).as(table)),
        )
        .execute()
    },
  }
}

/** Projects with the heads of their ledgers. */
export function projects(db: Kysely<Tables>) {
  return db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .select([
      'project.id',
      'project.name',
      'ledger.revision',
      'ledger.hash',
      'project.create_time',
      'project.update_time',
    ])
}

export function projectFromRow(row: {
  id: string
  name: string
  revision: number
  create_time: string
  update_time: string
}): ProjectRecord {
  return {
    id: row.id,
    name: row.name,
    revision: row.revision,
    createTime: row.create_time,
    updateTime: row.update_time,
  }
}

const projectById = statement((db, { id }: { id: string }) =>
  projects(db).where('project.id', '=', id),
)
const projectByName = statement((db, { name }: { name: string }) =>
  projects(db).where('project.name', '=', name),
)
const apiKeyById = statement((db, { id }: { id: string }) =>
  db.selectFrom('api_key').select(apiKeyColumns).where('id', '=', id),
)
const apiKeyByDigest = statement((db, { digest }: { digest: string }) =>
  db.selectFrom('api_key').select(apiKeyColumns).where('digest', '=', digest),
)
const keysOfProject = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .leftJoin('jwt_key', 'jwt_key.project_id', 'project.id')
    .select(['ledger.revision', 'ledger.hash'])
    .select(keyColumns)
    .where('project.id', '=', projectId)
    .orderBy('jwt_key.create_time')
    .orderBy('jwt_key.id'),
)

/** Keys and revision together; also what a change reads once it holds the project's lock. */
export async function readKeySet(
  db: Kysely<Tables>,
  projectId: string,
): Promise<KeySet | undefined> {
  const rows = await keysOfProject(db, { projectId })
  const [first] = rows
  if (first === undefined) return undefined
  return {
    revision: first.revision,
    head: first.hash,
    keys: rows.flatMap((row) => (hasKey(row) ? [keyFromRow(row)] : [])),
  }
}

/** A left join yields one row of nulls for a project without keys. */
function hasKey<Row extends { id: string | null }>(row: Row): row is Row & Tables['jwt_key'] {
  return row.id !== null
}

/** A page of a ledger as it is stored, in order. */
export function readEventRows(
  db: Kysely<Tables>,
  ledgerId: string,
  { after, limit }: { after: number; limit: number },
): Promise<Selectable<Tables['event']>[]> {
  return db
    .selectFrom('event')
    .select(eventColumns)
    .where('project_id', '=', ledgerId)
    .where('revision', '>', after)
    .orderBy('revision')
    .limit(limit)
    .execute()
}
