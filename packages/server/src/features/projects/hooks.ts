import type { Transaction } from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'

/** Deletes what is bound to a deleted project; returns the events for the ledger of the system. */
export const projectDeleted = hook<[tx: Transaction, projectId: string], Promise<NewEvent[]>>(
  'project deleted',
)
