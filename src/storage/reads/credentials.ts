import { createBatchLoader } from '../../async/batch-loader.ts'
import type { Store } from '../../core/context.ts'
import { personFromRow } from '../row-mapping.ts'
import { columnsOf, type Db } from '../schema.ts'
import { inChunks, statement } from '../statements.ts'
import {
  apiKeysWithLastEvents,
  checkedApiKey,
  checkedExchangedKey,
  checkedSession,
  checkedSignInRule,
  checkedTrustPolicy,
  exchangedKeysWithLastEvents,
  sessionsWithLastEvents,
  signInRulesWithLastEvents,
  trustPoliciesWithLastEvents,
} from './last-events.ts'

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

/** The queries of what identifies callers, and of the rules that give them roles. */
export function createCredentialReads(db: Db) {
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
  } satisfies Partial<Store>
}

/** Concurrent callers share a query: a flood of unknown secrets costs less than one each. */
function createDigestLoader<Record extends { digest: string }>(
  read: (digests: string[]) => Promise<Record[]>,
) {
  return createBatchLoader(async (digests: readonly string[]) => {
    const found = await inChunks(digests, read)
    return new Map(found.map((record) => [record.digest, record]))
  })
}
