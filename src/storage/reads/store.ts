import type { Selectable } from 'kysely'
import { createBatchLoader } from '../../async/batch-loader.ts'
import type { Algorithm } from '../../contract/algorithms.ts'
import type { Store } from '../../core/context.ts'
import { damagedJwk, parseStored } from '../../core/damaged-keys.ts'
import type { LedgerEvent } from '../../core/ledger/chain.ts'
import { contradictedProject } from '../../core/ledger/contradictions.ts'
import type { KeyCount, KeySet, PersonRecord } from '../../core/records.ts'
import { nameOf } from '../../core/sign-in/people.ts'
import { eventFromRow, hasKey, keyColumns, personFromRow, projectFromRow } from '../row-mapping.ts'
import { columnsOf, type Db, type Tables, tableNames } from '../schema.ts'
import { chunked, statement } from '../statements.ts'
import {
  apiKeysWithLastEvents,
  checkedApiKey,
  checkedExchangedKey,
  checkedKey,
  checkedProject,
  checkedSession,
  checkedSignInRule,
  checkedTrustPolicy,
  exchangedKeysWithLastEvents,
  lastKeyEvent,
  lastProjectEvent,
  sessionsWithLastEvents,
  signInRulesWithLastEvents,
  trustPoliciesWithLastEvents,
} from './last-events.ts'
import { createLogReads } from './log.ts'

/** The store's queries, on any engine. Each is one statement, and so reads one snapshot. */
export type StoreReads = Omit<
  Store,
  | 'commit'
  | 'countKeys'
  | 'heads'
  | 'headsMatch'
  | 'isWritable'
  | 'diagnostics'
  | 'published'
  | 'close'
>

export function createStoreReads(db: Db): StoreReads {
  return {
    ...createProjectReads(db),
    ...createApiKeyReads(db),
    ...createKeyReads(db),
    log: createLogReads(db),
    async ping() {
      await db
        .selectNoFrom(({ exists, lit, selectFrom }) =>
          tableNames.map((table) => exists(selectFrom(table).select(lit(1).as('one'))).as(table)),
        )
        .execute()
    },
  }
}

function createProjectReads(db: Db) {
  return {
    async findProject(ref) {
      const [row] = 'id' in ref ? await projectById(db, ref) : await projectByName(db, ref)
      const project = row && checkedProject(row)
      if (row !== undefined && project === undefined) throw contradictedProject()
      return project
    },
    async listProjects({ after, limit }) {
      const rows = await projectsWithHeads(db)
        .where('project.id', '>', after ?? '')
        .orderBy('project.id')
        .limit(limit)
        .execute()
      return rows.flatMap((row) => (checkedProject(row) === undefined ? [] : [projectFromRow(row)]))
    },
    async events(ledgerId, page) {
      const rows = await readEventRows(db, ledgerId, page)
      return withNames(db, rows.map(eventFromRow))
    },
  } satisfies Partial<StoreReads>
}

/** Names the people among the actors of a page, by one query. */
async function withNames(db: Db, events: LedgerEvent[]): Promise<LedgerEvent[]> {
  const subjects = new Set(events.flatMap(({ actor }) => actor.user?.subject ?? []))
  if (subjects.size === 0) return events
  const people = new Map<string, PersonRecord>()
  for (const some of chunked([...subjects])) {
    const query = db.selectFrom('person').select(columnsOf('person')).where('subject', 'in', some)
    for (const row of await query.execute()) {
      people.set(JSON.stringify([row.issuer, row.subject]), personFromRow(row))
    }
  }
  return events.map((event) => {
    const { user } = event.actor
    if (user === undefined) return event
    const person = people.get(JSON.stringify([user.issuer, user.subject]))
    return { ...event, actor: { ...event.actor, name: nameOf(person, user.subject) } }
  })
}

function createApiKeyReads(db: Db) {
  const byDigest = createDigestLoader(async (digests) =>
    (await apiKeysByDigest(db, { digests })).map(checkedApiKey),
  )
  const exchangedByDigest = createDigestLoader(async (digests) =>
    (await exchangedKeysByDigest(db, { digests })).flatMap((row) => checkedExchangedKey(row) ?? []),
  )
  const sessionByDigest = createDigestLoader(async (digests) =>
    (await sessionsByDigest(db, { digests })).map(checkedSession),
  )
  return {
    findExchangedKeyByDigest: async (digest) => (await exchangedByDigest([digest])).get(digest),
    async findExchangedKey(id) {
      const [row] = await exchangedKeyById(db, { id })
      return row && checkedExchangedKey(row)
    },
    async trustPolicies() {
      const rows = await trustPoliciesWithLastEvents(db).orderBy('id').execute()
      return rows.map(checkedTrustPolicy)
    },
    findApiKeyByDigest: async (digest) => (await byDigest([digest])).get(digest),
    async findApiKey(id) {
      const [row] = await apiKeyById(db, { id })
      return row && checkedApiKey(row)
    },
    async listApiKeys(projects) {
      const all = apiKeysWithLastEvents(db).orderBy('id')
      const query = projects === 'all' ? all : all.where('project_id', 'in', projects)
      return (await query.execute()).map(checkedApiKey)
    },
    findSessionByDigest: async (digest) => (await sessionByDigest([digest])).get(digest),
    async findSession(id) {
      const [row] = await sessionById(db, { id })
      return row && checkedSession(row)
    },
    async listSessions(owner) {
      const all = sessionsWithLastEvents(db).orderBy('id')
      const rows = await (owner === 'all'
        ? all
        : 'personId' in owner
          ? all.where('person_id', '=', owner.personId)
          : all.where('api_key_id', '=', owner.apiKeyId)
      ).execute()
      return rows.map(checkedSession)
    },
    signInRules: async () => (await allSignInRules(db, {})).map(checkedSignInRule),
    async listPeople(ids) {
      const all = db.selectFrom('person').select(columnsOf('person')).orderBy('id')
      return (await (ids === undefined ? all : all.where('id', 'in', ids)).execute()).map(
        personFromRow,
      )
    },
    async countApiKeys() {
      const row = await db
        .selectFrom('api_key')
        .select((select) => select.fn.countAll<number | string>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },
  } satisfies Partial<StoreReads>
}

/** Concurrent callers share a query: a flood of unknown secrets costs less than one each. */
function createDigestLoader<Record extends { digest: string }>(
  read: (digests: string[]) => Promise<Record[]>,
) {
  return createBatchLoader(async (digests: readonly string[]) => {
    const found = new Map<string, Record>()
    for (const some of chunked(digests)) {
      for (const record of await read(some)) found.set(record.digest, record)
    }
    return found
  })
}

function createKeyReads(db: Db) {
  return {
    keySet: (projectId) => readKeySet(db, projectId),
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

/** Reads an index entry for every key. */
export async function countKeys(db: Db, time: string): Promise<KeyCount[]> {
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
  return rows.map((row) => ({
    algorithm: row.algorithm as Algorithm,
    enabled: row.enabled === 1,
    expired: row.expired === 1,
    count: Number(row.count),
    ...(row.first_expiry === null ? {} : { firstExpiry: row.first_expiry }),
  }))
}

function projectsWithHeads(db: Db) {
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
      lastProjectEvent,
    ])
}

export const projectById = statement((db, { id }: { id: string }) =>
  projectsWithHeads(db).where('project.id', '=', id),
)
const projectByName = statement((db, { name }: { name: string }) =>
  projectsWithHeads(db).where('project.name', '=', name),
)
const apiKeyById = statement((db, { id }: { id: string }) =>
  apiKeysWithLastEvents(db).where('id', '=', id),
)
const apiKeysByDigest = statement((db, { digests }: { digests: string[] }) =>
  apiKeysWithLastEvents(db).where('digest', 'in', digests),
)
const exchangedKeyById = statement((db, { id }: { id: string }) =>
  exchangedKeysWithLastEvents(db).where('id', '=', id),
)
const exchangedKeysByDigest = statement((db, { digests }: { digests: string[] }) =>
  exchangedKeysWithLastEvents(db).where('digest', 'in', digests),
)
const sessionById = statement((db, { id }: { id: string }) =>
  sessionsWithLastEvents(db).where('id', '=', id),
)
const sessionsByDigest = statement((db, { digests }: { digests: string[] }) =>
  sessionsWithLastEvents(db).where('digest', 'in', digests),
)
const allSignInRules = statement((db) => signInRulesWithLastEvents(db).orderBy('id'))
const keysOfProject = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .leftJoin('jwt_key', 'jwt_key.project_id', 'project.id')
    .select(['project.name', 'ledger.revision', 'ledger.hash', lastProjectEvent, lastKeyEvent])
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
  if (
    checkedProject({ id: projectId, name, ...times, revision, hash, project_event }) === undefined
  ) {
    throw contradictedProject()
  }
  return { name, revision, head: hash, keys: rows.filter(hasKey).map(checkedKey) }
}

/** A page of a ledger's events in order. */
export function readEventRows(
  db: Db,
  ledgerId: string,
  { after, limit }: { after: number; limit: number },
): Promise<Selectable<Tables['event']>[]> {
  return db
    .selectFrom('event')
    .select(columnsOf('event'))
    .where('project_id', '=', ledgerId)
    .where('revision', '>', after)
    .orderBy('revision')
    .limit(limit)
    .execute()
}
