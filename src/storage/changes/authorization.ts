import { type Caller, callerOf } from '../../core/access/callers.ts'
import { requireAccess } from '../../core/access/grants.ts'
import type { Origin } from '../../core/ledger/changes.ts'
import { isoTime } from '../../core/times.ts'
import { apiKeysWithLastEvents, checkedApiKey } from '../reads/last-events.ts'
import type { Db } from '../schema.ts'
import { statement } from '../statements.ts'

/**
 * `FOR SHARE` makes a revocation wait until this transaction has ended, and this transaction wait for
 * a revocation in progress. SQLite has one writer, so it needs no lock.
 */
const readForShare = statement((db, { id }: { id: string }) => {
  const query = apiKeysWithLastEvents(db).where('id', '=', id)
  const { supportsMultipleConnections: isServer } = db.getExecutor().adapter
  return isServer ? query.forShare() : query
})

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after its API key's revocation was
 * answered. Returns the caller; a change by the system has none. Throws `invalid_api_key` or
 * `insufficient_role`.
 */
export async function requireAuthorization(
  db: Db,
  { authorization }: Origin,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const { credential, access, projectId } = authorization
  const [row] = await readForShare(db, { id: credential.id })
  const caller = callerOf(row && checkedApiKey(row), isoTime(Date.now()))
  requireAccess(caller.grants, access, projectId)
  return caller
}
