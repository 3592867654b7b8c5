import type { Store } from '../context.ts'
import { exchangeLedgerId, systemLedgerId } from './chain.ts'
import type { Change, ChangeOf, ChangeType } from './changes.ts'

/**
 * The store, with a notice of every commit before it resolves, so that the process never serves a
 * copy that is older than a change it acknowledged. A failed commit also sends a notice, because it
 * may have taken place.
 */
export function withCommitNotices(store: Store, notify: (ledgerId: string) => void): Store {
  return {
    ...store,
    async commit<T extends ChangeType>(change: ChangeOf<T>) {
      try {
        return await store.commit<T>(change)
      } finally {
        for (const ledgerId of ledgersOf(change)) notify(ledgerId)
      }
    },
  }
}

/** The ledgers that the change writes to, the project's first: only changes with an origin have events. */
export function ledgersOf(change: Change): string[] {
  if (!('origin' in change)) return []
  switch (change.type) {
    case 'project.create':
      return [change.id, systemLedgerId]
    case 'project.rename':
    case 'project.delete':
      return [change.projectId, systemLedgerId]
    case 'ledger.accept':
      return [change.ledgerId, systemLedgerId]
    case 'key.create':
      return [change.key.projectId]
    case 'token.exchange':
      return [change.apiKey.projectId ?? exchangeLedgerId]
    default:
      return [('projectId' in change ? change.projectId : undefined) ?? systemLedgerId]
  }
}
