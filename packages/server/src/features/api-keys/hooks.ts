import type { Transaction } from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'

/** Ends what depends on a deleted API key; returns the events for the ledger of the system. */
export const apiKeyDeleted = hook<[tx: Transaction, id: string], Promise<NewEvent[]>>(
  'API key deleted',
)
