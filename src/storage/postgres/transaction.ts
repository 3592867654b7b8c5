import type { QueryResult } from 'kysely'
import { classify, unavailable } from './errors.ts'
import type { Lease, Statement } from './leases.ts'
import { idleInTransactionMs } from './pool.ts'

/** A transaction on its own connection, which is released when it ends. */
export interface PostgresTransaction {
  query<Row>(statement: Statement): Promise<QueryResult<Row>>
  /** Resolves once the change is durable. Rejects with `UnconfirmedCommit` if that is unknown. */
  commit(): Promise<void>
  /** Never rejects: if the rollback fails the connection is closed, which rolls back too. */
  rollback(): Promise<void>
}

/** The connection was lost during a commit: the change may or may not have been made. */
export class UnconfirmedCommit extends Error {
  override readonly name = 'UnconfirmedCommit'
}

interface TransactionOptions {
  mode: 'read committed' | 'read committed read only' | 'repeatable read'
  /** Limit for each statement, and for each pause between two. */
  timeoutMs: number
  /** Whether the session has this timeout already. */
  hasTimeout: boolean
}

/**
 * Begins a transaction with the timeouts that the session lacks, and a commit that waits for the
 * disk. Never sets `read write`, which would override an operator who made the database read-only.
 */
export function beginStatement(lease: Lease, options: TransactionOptions): Statement {
  const { mode, timeoutMs, hasTimeout } = options
  const statements = [`begin isolation level ${mode}`]
  if (!hasTimeout) {
    statements.push(
      `set local statement_timeout = ${timeoutMs}`,
      `set local idle_in_transaction_session_timeout = ${idleInTransactionMs(timeoutMs)}`,
    )
  }
  if (!lease.serverInfo.commitsDurably && !mode.endsWith('read only')) {
    statements.push('set local synchronous_commit = on')
  }
  return { sql: statements.join('; '), parameters: [] }
}

/**
 * A transaction on the lease. Its first statements are sent without waiting for the response to
 * `begin`, which fails only with the connection or leaves a transaction that rejects them.
 */
export function createTransaction(lease: Lease, begin: Statement, timeoutMs: number) {
  const begun = lease.run(begin)
  const transaction: PostgresTransaction = {
    async query<Row>(statement: Statement) {
      const [, result] = await Promise.all([begun, lease.run<Row>(statement, timeoutMs)])
      return result
    },
    async commit() {
      let isBroken = true
      try {
        await begun
        await commit(lease, timeoutMs)
        isBroken = false
      } finally {
        lease.release(isBroken)
      }
    },
    async rollback() {
      const isBroken = await lease.run({ sql: 'rollback', parameters: [] }).then(
        () => false,
        () => true,
      )
      lease.release(isBroken)
    },
  }
  // Reported by each use.
  begun.catch(() => undefined)
  return transaction
}

async function commit(lease: Lease, timeoutMs: number): Promise<void> {
  let isReplicationUnconfirmed = false
  const onNotice = ({ code }: { code?: string | undefined }) => {
    // "The transaction has already committed locally, but might not have been replicated."
    if (code === '01000') isReplicationUnconfirmed = true
  }
  lease.client.on('notice', onNotice)
  try {
    const statement = { sql: 'commit', parameters: [] }
    const { rows } = await lease.run<{ command?: string }>(statement, timeoutMs)
    if (rows[0]?.command === 'ROLLBACK') throw unavailable('The change was rolled back.')
  } catch (error) {
    if (classify(error) !== 'lost') throw error
    throw new UnconfirmedCommit('the response to a commit was lost', { cause: error })
  } finally {
    lease.client.off('notice', onNotice)
  }
  if (isReplicationUnconfirmed) throw new UnconfirmedCommit('a synchronous standby did not confirm')
}
