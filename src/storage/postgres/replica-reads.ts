import type { Store, StoreReads } from '../../core/context.ts'
import type { KeySet, LedgerHead } from '../../core/records.ts'
import { isStorageUnavailable } from '../../core/storage-faults.ts'

/**
 * Reads published key sets from a standby. The current revision comes from the primary, in one query
 * for all projects, so a standby that lags behind never serves a revoked key: while it is behind or
 * unavailable the key set is read from the primary. While the primary is unavailable, the standby
 * alone is read.
 */
export function withReplicaReads(
  store: Store,
  standby: Pick<StoreReads, 'keySet' | 'events'>,
): Store {
  return {
    ...store,
    published: {
      heads: (ids) => store.heads(ids),
      async keySet(projectId) {
        const heads = await store.heads([projectId]).catch(ifUnavailable('unknown' as const))
        const head = heads === 'unknown' ? heads : heads.get(projectId)
        const keySet = await standby.keySet(projectId).catch(ifUnavailable(undefined))
        return keySet !== undefined && isCurrent(keySet, head)
          ? keySet
          : store.published.keySet(projectId)
      },
      async events(ledgerId, page) {
        const events = await store.events(ledgerId, page).catch(ifUnavailable(undefined))
        return events ?? standby.events(ledgerId, page)
      },
    },
  }
}

/**
 * A higher revision is current: the standby has a change that was made after the head was read. The
 * same revision with another hash belongs to a history that a fail-over has discarded.
 */
function isCurrent(keySet: KeySet, head: LedgerHead | 'unknown' | undefined): boolean {
  if (head === 'unknown') return true
  if (head === undefined) return false
  return keySet.revision > head.revision || keySet.head === head.hash
}

function ifUnavailable<Substitute>(substitute: Substitute) {
  return (error: unknown): Substitute => {
    if (isStorageUnavailable(error)) return substitute
    throw error
  }
}
