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

/** The ledgers that the change writes to, the project's first. */
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
    case 'rotation.start':
    case 'rotation.schedule':
    case 'rotation.finish':
    case 'rotation.abandon':
    case 'rotation.step':
    case 'rotation.wait':
      return [change.projectId]
    case 'private_key.refuse':
      return [change.projectId ?? systemLedgerId]
    case 'api_key.create':
    case 'api_key.update':
    case 'api_key.delete':
    case 'ledger.complete':
    case 'log.start':
    case 'session.create':
    case 'session.end':
    case 'sign_in_rule.create':
    case 'sign_in_rule.update':
    case 'sign_in_rule.delete':
    case 'person.delete':
    case 'trust_policy.create':
    case 'trust_policy.update':
    case 'trust_policy.delete':
      return [systemLedgerId]
    case 'ledger.accept':
      return [change.ledgerId, systemLedgerId]
    case 'token.exchange':
      return [change.apiKey.projectId ?? exchangeLedgerId]
    case 'key.pass_audit':
    case 'credential.touch':
    case 'log.append':
    case 'log.publish':
    case 'token.forget':
    case 'storage.try':
      return []
  }
}
