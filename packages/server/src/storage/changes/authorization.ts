import { type Caller, type CallerReads, readCaller } from '../../core/access/callers.ts'
import { requireAccess } from '../../core/access/grants.ts'
import { isForPeople } from '../../core/access-rules/rules.ts'
import type { Origin } from '../../core/ledger/changes.ts'
import { isoTime } from '../../core/times.ts'
import { accessRules, apiKeys, peopleRuleRows, sessions } from '../reads/last-events.ts'
import { readKeySet } from '../reads/store.ts'
import type { Db } from '../schema.ts'
import { locked, statement } from '../statements.ts'

/** Leaves the rules for workloads unlocked: their exchanges would wait. */
const lockPeopleRules = statement((db) => locked(db, peopleRuleRows(db)))

const lockedReads = (db: Db): CallerReads => ({
  findApiKey: (id) => apiKeys.lock(db, id),
  findSession: (id) => sessions.lock(db, id),
  keySet: (projectId) => readKeySet(db, projectId),
  peopleRules: async () =>
    (await lockPeopleRules(db, {})).map(accessRules.check).filter(isForPeople),
})

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after the revocation of its API key, the
 * end of its session or the removal of an access rule was answered. Returns the caller; a change by the
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
