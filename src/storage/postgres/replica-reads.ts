import type { Store } from '../../core/context.ts'
import type { KeySet, LedgerHead } from '../../core/records.ts'
import { isStorageUnavailable } from '../../core/storage-faults.ts'
import type { StoreReads } from '../reads/store.ts'

/**
 * The same store, whose published key sets are read from a server that follows the primary. Which
 * revision is the present one the primary alone says, in one cheap look for all projects, so that a
 * follower that lags never serves a key that was revoked: where it is behind, or away, the primary
 * is read instead. While the primary is away the follower serves what no process has read yet.
 */
export function withReplicaReads(store: Store, follower: Pick<StoreReads, 'keySet'>): Store {
  return {
    ...store,
    published: {
      heads: (ids) => store.heads(ids),
      async keySet(projectId) {
        const present = await store.heads([projectId]).catch(ifAway('unknown' as const))
        const wanted = present === 'unknown' ? present : present.get(projectId)
        const found = await follower.keySet(projectId).catch(ifAway(undefined))
        return found !== undefined && isUpTo(found, wanted)
          ? found
          : store.published.keySet(projectId)
      },
    },
  }
}

/** Ahead is right, since the follower may have heard of later changes; beside is another history. */
function isUpTo({ revision, head }: KeySet, wanted: LedgerHead | 'unknown' | undefined): boolean {
  if (wanted === 'unknown') return true
  if (wanted === undefined) return false
  return revision > wanted.revision || head === wanted.hash
}

function ifAway<Substitute>(substitute: Substitute) {
  return (error: unknown): Substitute => {
    if (isStorageUnavailable(error)) return substitute
    throw error
  }
}
