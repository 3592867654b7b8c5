import type { Origin, Transaction } from '../changes.ts'
import { isoTime } from '../values/times.ts'
import type { Caller } from './callers.ts'
import { requireAccess } from './grants.ts'

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after the revocation of its API key, the
 * end of its session or the removal of an access rule was answered. Returns the caller; a change by the
 * system has none. Throws `invalid_api_key`, `invalid_session` or `insufficient_role`.
 */
export async function requireAuthorization(
  { db, readCaller }: Transaction,
  { authorization }: Origin,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const { credential, access, projectId } = authorization
  const caller = await readCaller({ db, time: isoTime(Date.now()), isLocked: true }, credential)
  requireAccess(caller.grants, access, projectId)
  return caller
}
