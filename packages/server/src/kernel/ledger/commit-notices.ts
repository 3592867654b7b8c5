import type { Store } from '../context.ts'

/**
 * The store, with a notice of every commit before it resolves, so that the process never serves a
 * copy that is older than a change it acknowledged. A failed commit also sends a notice, because it
 * may have taken place.
 */
export function withCommitNotices(store: Store, notify: (ledgerId: string) => void): Store {
  return {
    ...store,
    async commit(kind, change) {
      try {
        return await store.commit(kind, change)
      } finally {
        for (const ledgerId of kind.ledgers(change)) notify(ledgerId)
      }
    },
  }
}
