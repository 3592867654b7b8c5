import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Transaction } from '../../kernel/changes.ts'
import { hook } from '../../kernel/hooks.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import type { Replacement } from './roles.ts'
import type { KeyRecord } from './stored.ts'

/** A key is deactivated or deleted; returns events for the ledger of its project. */
export const keyEnded = hook<
  [tx: Transaction, key: KeyRecord, step: 'disable' | 'delete', time: string],
  Promise<NewEvent[]>
>('key ended')

/** Members of a key change. */
export const keyChanged = hook<[tx: Transaction, key: KeyRecord], Promise<void>>('key changed')

/** Reads the replacements of keys of a project, for the roles of the keys. */
export const replacements = hook<[db: Db, projectId: string], Promise<Replacement[]>>(
  'replacements',
)

/** A request submits a key that was accepted, with a proof that it belongs to the caller. */
export const keySubmitted = hook<
  [context: RequestContext, key: KeyRecord, proof: string | undefined],
  Promise<void>
>('key submitted')
