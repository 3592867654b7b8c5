import { createBatchLoader } from '../../async/batch-loader.ts'
import { isForPeople, isForWorkloads } from '../../features/access-rules/operations.ts'
import type { Store } from '../context.ts'
import { accessRules, apiKeys, isManaged, peopleRuleRows, sessions } from '../ledger/last-events.ts'
import { personFromRow } from '../storage/row-mapping.ts'
import { columnsOf, type Db } from '../storage/schema.ts'
import { inChunks, statement } from '../storage/statements.ts'

type Digests = { digests: string[] }

const apiKeysByDigest = statement((db, { digests }: Digests) =>
  apiKeys.rows(db).where('digest', 'in', digests),
)
const sessionsByDigest = statement((db, { digests }: Digests) =>
  sessions.rows(db).where('digest', 'in', digests),
)
const allPeopleRules = statement((db) => peopleRuleRows(db).orderBy('id'))

/** The queries of what identifies callers, and of the rules that give them roles. */
export function createCredentialReads(db: Db) {
  const apiKey = createDigestLoader(async (digests) =>
    apiKeys.check(db, await apiKeysByDigest(db, { digests })),
  )
  const session = createDigestLoader(async (digests) =>
    sessions.check(db, await sessionsByDigest(db, { digests })),
  )
  return {
    accessRules: () => accessRules.read(db, (all) => all.orderBy('id')),
    peopleRules: async () =>
      accessRules.check(db, await allPeopleRules(db, {})).filter(isForPeople),
    async workloadRules() {
      const read = await accessRules.read(db, (all) =>
        all.where('for', '=', 'workloads').orderBy('id'),
      )
      return read.filter(isForWorkloads)
    },
    findApiKeyByDigest: apiKey,
    findApiKey: (id) => apiKeys.find(db, id),
    listApiKeys: (projects, { exchanged = false } = {}) =>
      apiKeys.read(db, (all) => {
        const ordered = (
          exchanged ? all.where('rule_id', 'is not', null) : all.where(isManaged)
        ).orderBy('id')
        return projects === 'all' ? ordered : ordered.where('project_id', 'in', projects)
      }),
    findSessionByDigest: session,
    findSession: (id) => sessions.find(db, id),
    listSessions: (owner) =>
      sessions.read(db, (all) => {
        const ordered = all.orderBy('id')
        if (owner === 'all') return ordered
        return 'personId' in owner
          ? ordered.where('person_id', '=', owner.personId)
          : ordered.where('api_key_id', '=', owner.apiKeyId)
      }),
    async listPeople(ids) {
      const all = db.selectFrom('person').select(columnsOf('person')).orderBy('id')
      return (await (ids === undefined ? all : all.where('id', 'in', ids)).execute()).map(
        personFromRow,
      )
    },
    async countApiKeys() {
      const row = await db
        .selectFrom('api_key')
        .where(isManaged)
        .select((select) => select.fn.countAll<number | string>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },
  } satisfies Partial<Store>
}

/** Concurrent callers share a query: a flood of unknown secrets costs less than one each. */
function createDigestLoader<Record extends { digest: string }>(
  read: (digests: string[]) => Promise<Record[]>,
) {
  const load = createBatchLoader(async (digests: readonly string[]) => {
    const found = await inChunks(digests, read)
    return new Map(found.map((record) => [record.digest, record]))
  })
  return async (digest: string) => (await load([digest])).get(digest)
}
