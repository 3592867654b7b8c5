import { type Caller, type CallerReads, readCaller } from '../../core/access/callers.ts'
import { requireAccess } from '../../core/access/grants.ts'
import type { Origin } from '../../core/ledger/changes.ts'
import { isoTime } from '../../core/times.ts'
import {
  apiKeysWithLastEvents,
  checkedApiKey,
  checkedExchangedKey,
  checkedSession,
  checkedSignInRule,
  exchangedKeysWithLastEvents,
  sessionsWithLastEvents,
  signInRulesWithLastEvents,
} from '../reads/last-events.ts'
import { readKeySet } from '../reads/store.ts'
import type { Db } from '../schema.ts'
import { hasOtherWriters, statement } from '../statements.ts'

/**
 * `FOR SHARE` makes a revocation wait until this transaction has ended, and this transaction wait for
 * a revocation in progress. SQLite has one writer, so it needs no lock.
 */
export function locked<Query extends { forShare(): Query }>(db: Db, query: Query): Query {
  return hasOtherWriters(db) ? query.forShare() : query
}

const readApiKey = statement((db, { id }: { id: string }) =>
  locked(db, apiKeysWithLastEvents(db).where('id', '=', id)),
)
const readExchangedKey = statement((db, { id }: { id: string }) =>
  locked(db, exchangedKeysWithLastEvents(db).where('id', '=', id)),
)
const readSession = statement((db, { id }: { id: string }) =>
  locked(db, sessionsWithLastEvents(db).where('id', '=', id)),
)
const readSignInRules = statement((db) => locked(db, signInRulesWithLastEvents(db)))

export const lockedReads = (db: Db): CallerReads => ({
  async findApiKey(id) {
    const [row] = await readApiKey(db, { id })
    return row && checkedApiKey(row)
  },
  async findExchangedKey(id) {
    const [row] = await readExchangedKey(db, { id })
    return row && checkedExchangedKey(row)
  },
  async findSession(id) {
    const [row] = await readSession(db, { id })
    return row && checkedSession(row)
  },
  keySet: (projectId) => readKeySet(db, projectId),
  signInRules: async () => (await readSignInRules(db, {})).map(checkedSignInRule),
})

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after the revocation of its API key, the
 * end of its session or the removal of a sign-in rule was answered. Returns the caller; a change by the
 * system has none. Throws `invalid_api_key`, `invalid_session` or `insufficient_role`.
 */
export async function requireAuthorization(
  db: Db,
  { authorization }: Origin,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const { credential, access, projectId } = authorization
  const caller = await readCaller(lockedReads(db), credential, isoTime(Date.now()))
  requireAccess(caller.grants, access, projectId)
  return caller
}
