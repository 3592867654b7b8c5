import { damagedJwk, parseStored } from '../../features/keys/damaged.ts'
import { createCredentialReads } from '../access/credentials.ts'
import type { ProjectRef, StoreReads } from '../context.ts'
import {
  checkedProjects,
  keys,
  lastProjectEvent,
  projectsWithLastEvents,
} from '../ledger/last-events.ts'
import type { KeySet, ProjectRecord } from '../records.ts'
import { contradictedProject } from '../storage-faults.ts'
import { hasKey, keyColumns, keyPartFromRow } from './row-mapping.ts'
import { type Db, tableNames } from './schema.ts'
import { inChunks, statement } from './statements.ts'

/** The store's queries, on any engine. */
export function createStoreReads(db: Db): StoreReads {
  return { ...createCredentialReads(db), ...createKeyReads(db) }
}

/** Rejects unless all tables can be read. */
export async function ping(db: Db): Promise<void> {
  await db
    .selectNoFrom(({ exists, lit, selectFrom }) =>
      tableNames.map((table) => exists(selectFrom(table).select(lit(1).as('one'))).as(table)),
    )
    .execute()
}

/** Throws `storage_unavailable` for a project that contradicts its ledger. */
export async function findProjectRecord(
  db: Db,
  ref: ProjectRef,
): Promise<ProjectRecord | undefined> {
  const rows = 'id' in ref ? await projectById(db, ref) : await projectByName(db, ref)
  const [project] = checkedProjects(db, rows)
  if (project === undefined && rows.length > 0) throw contradictedProject()
  return project
}

function createKeyReads(db: Db) {
  return {
    keySet: (projectId) => readKeySet(db, projectId),
    async keyStates(projectIds) {
      const rows = await inChunks(projectIds, (some) =>
        db
          .selectFrom('jwt_key')
          .select([
            'id',
            'project_id',
            'label',
            'enabled',
            'expire_time',
            'create_time',
            'introduced_by',
          ])
          .where('project_id', 'in', some)
          .execute(),
      )
      return rows.map(keyPartFromRow)
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
        // Only RSA keys have a length in bits.
        .where('bits', 'is not', null)
        .execute()
      return rows.flatMap(({ id, thumbprint, jwk }) => {
        const parsed = parseStored(jwk, damagedJwk)
        return parsed.kty === 'RSA' ? [{ kid: id, thumbprint, n: parsed.n }] : []
      })
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
  } satisfies Partial<StoreReads>
}

export const projectById = statement((db, { id }: { id: string }) =>
  projectsWithLastEvents(db).where('project.id', '=', id),
)
const projectByName = statement((db, { name }: { name: string }) =>
  projectsWithLastEvents(db).where('project.name', '=', name),
)
const keysOfProject = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .leftJoin('jwt_key', 'jwt_key.project_id', 'project.id')
    .select(['project.name', 'ledger.revision', 'ledger.hash', lastProjectEvent, keys.lastEvent])
    .select(['project.create_time as project_time', 'project.update_time as project_update_time'])
    .select(keyColumns)
    .where('project.id', '=', projectId)
    .orderBy('jwt_key.create_time')
    .orderBy('jwt_key.id'),
)

/** The key set in one snapshot. Also used by changes, once they hold the project's lock. */
export async function readKeySet(db: Db, projectId: string): Promise<KeySet | undefined> {
  const rows = await keysOfProject(db, { projectId })
  const [first] = rows
  if (first === undefined) return undefined
  const { name, revision, hash, project_event, project_time, project_update_time } = first
  const times = { create_time: project_time, update_time: project_update_time }
  const [project] = checkedProjects(db, [
    { id: projectId, name, ...times, revision, project_event },
  ])
  if (project === undefined) throw contradictedProject()
  return { name, revision, head: hash, keys: keys.check(db, rows.filter(hasKey)) }
}
