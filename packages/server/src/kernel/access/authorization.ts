import { isForPeople } from '../../features/access-rules/operations.ts'
import type { Origin } from '../ledger/changes.ts'
import { accessRules, apiKeys, peopleRuleRows, sessions } from '../ledger/last-events.ts'
import { readKeySet } from '../storage/reads.ts'
import type { Db } from '../storage/schema.ts'
import { locked, statement } from '../storage/statements.ts'
import { isoTime } from '../values/times.ts'
import { type Caller, type CallerReads, readCaller } from './callers.ts'
import { requireAccess } from './grants.ts'

/** Leaves the rules for workloads unlocked: their exchanges would wait. */
const lockPeopleRules = statement((db) => locked(db, peopleRuleRows(db)))

const lockedReads = (db: Db): CallerReads => ({
  findApiKey: (id) => apiKeys.lock(db, id),
  findSession: (id) => sessions.lock(db, id),
  keySet: (projectId) => readKeySet(db, projectId),
  peopleRules: async () => accessRules.check(db, await lockPeopleRules(db, {})).filter(isForPeople),
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
