import { requireAccess, requireActiveApiKey } from '../../core/access.ts'
import type { Origin } from '../../core/ledger/changes.ts'
import type { ApiKeyRecord } from '../../core/records.ts'
import { isoTime } from '../../core/times.ts'
import { apiKeyColumns, apiKeyFromRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { statement } from '../statements.ts'

/**
 * `FOR SHARE` makes a revocation wait until this transaction has ended, and this transaction wait for
 * a revocation in progress. SQLite has one writer, so it needs no lock.
 */
const readForShare = statement((db, { id }: { id: string }) => {
  const query = db.selectFrom('api_key').select(apiKeyColumns).where('id', '=', id)
  const { supportsMultipleConnections: isServer } = db.getExecutor().adapter
  return isServer ? query.forShare() : query
})

/**
 * Checks again, inside the transaction, what the request was admitted on: that its API key still
 * exists, is active and has the role. So no change commits after its API key's revocation was
 * answered. Returns the API key; a change without an API key has none. Throws `invalid_api_key` or
 * `insufficient_role`.
 */
export async function requireAuthorization(
  db: Db,
  origin: Origin,
): Promise<ApiKeyRecord | undefined> {
  const { authorization } = origin
  if (authorization === undefined) return undefined
  const [row] = await readForShare(db, { id: authorization.apiKeyId })
  const apiKey = row && apiKeyFromRow(row)
  requireActiveApiKey(apiKey, isoTime(Date.now()))
  requireAccess(apiKey, authorization)
  return apiKey
}
