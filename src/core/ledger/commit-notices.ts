import type { Store } from '../context.ts'
import { systemLedgerId } from './chain.ts'
import type { Change, ChangeOf, ChangeType } from './changes.ts'

/**
 * The same store, which tells of every change made through it before the one who made it hears that
 * it is done: so a process never serves a copy from before a change that it has acknowledged. A
 * change that failed is told too, since it may have taken place all the same.
 */
export function announceCommits(store: Store, announce: (ledgerId: string) => void): Store {
  return {
    ...store,
    async commit<T extends ChangeType>(change: ChangeOf<T>) {
      try {
        return await store.commit<T>(change)
      } finally {
        for (const ledgerId of ledgersOf(change)) announce(ledgerId)
      }
    },
  }
}

/** The ledgers that the change writes to, its own first. */
export function ledgersOf(change: Change): string[] {
  switch (change.type) {
    case 'project.create':
      return [change.id, systemLedgerId]
    case 'project.rename':
    case 'project.delete':
      return [change.projectId, systemLedgerId]
    case 'key.create':
      return [change.key.projectId]
    case 'key.import':
    case 'key.update':
    case 'key.delete':
    case 'key.report_weakness':
      return [change.projectId]
    case 'private_key.refuse':
      return [change.projectId ?? systemLedgerId]
    case 'api_key.create':
    case 'api_key.update':
    case 'api_key.delete':
      return [systemLedgerId]
    case 'key.pass_audit':
    case 'api_key.touch':
      return []
  }
}
