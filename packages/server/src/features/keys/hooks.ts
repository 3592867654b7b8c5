import type { Transaction } from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import type { KeyRecord } from './stored.ts'

/** A key is deactivated or deleted; returns events for the ledger of its project. */
export const keyEnded = hook<
  [tx: Transaction, key: KeyRecord, step: 'disable' | 'delete', time: string],
  Promise<NewEvent[]>
>('key ended')

/** Members of a key change. */
export const keyChanged = hook<[tx: Transaction, key: KeyRecord], Promise<void>>('key changed')
