import type { QueryResult } from 'kysely'
import { classify, unavailable } from './errors.ts'
import { breaksConnection, type Lease, type Statement } from './leases.ts'
import { idleInTransaction } from './pool.ts'

/** A transaction on a connection of its own, which goes back when it ends, however it ends. */
export interface PostgresTransaction {
  query<Row>(statement: Statement): Promise<QueryResult<Row>>
  /** Resolves when the change is durable. Rejects with `UnconfirmedCommit` where nobody said so. */
  commit(): Promise<void>
  /** Never rejects: where it cannot be said, the connection is cut, which says the same. */
  rollback(): Promise<void>
}

/** The connection was lost while a commit was under way: it may have taken place or not. */
export class UnconfirmedCommit extends Error {
  override readonly name = 'UnconfirmedCommit'
}

interface Beginning {
  mode: 'read committed' | 'read committed read only' | 'repeatable read'
  /** Milliseconds that each statement, and a pause between two, may take. */
  timeout: number
  /** Whether the session has just that time-out already. */
  hasTimeout: boolean
}

/**
 * Begins, with the time-outs that the session lacks and a commit that waits for the disk. Never asks
 * for `read write`, which would overrule an operator who has made the database read-only.
 */
export function beginStatement(lease: Lease, beginning: Beginning): Statement {
  const { mode, timeout, hasTimeout } = beginning
  const settings = [
    ...(hasTimeout
      ? []
      : [
          `statement_timeout = ${timeout}`,
          `idle_in_transaction_session_timeout = ${idleInTransaction(timeout)}`,
        ]),
    ...(lease.serverInfo.durable || mode.endsWith('read only') ? [] : ['synchronous_commit = on']),
  ]
  const statements = [
    `begin isolation level ${mode}`,
    ...settings.map((setting) => `set local ${setting}`),
  ]
  return { sql: statements.join('; '), parameters: [] }
}

/** The transaction that has begun on the lease. */
export function transactionOn(lease: Lease, timeout: number): PostgresTransaction {
  return {
    query: (statement) => lease.run(statement, timeout),
    async commit() {
      let broken = true
      try {
        await commit(lease, timeout)
        broken = false
      } finally {
        lease.release(broken)
      }
    },
    async rollback() {
      // The server rolls back what a cut connection leaves open.
      const broken = await lease.run({ sql: 'rollback', parameters: [] }).then(
        () => false,
        () => true,
      )
      lease.release(broken)
    },
  }
}

async function commit(lease: Lease, timeout: number): Promise<void> {
  let warned = false
  const listen = ({ code }: { code?: string | undefined }) => {
    // "The transaction has already committed locally, but might not have been replicated."
    if (code === '01000') warned = true
  }
  lease.client.on('notice', listen)
  try {
    const { rows } = await lease.run<{ command?: string }>(
      { sql: 'commit', parameters: [] },
      timeout,
    )
    if (rows[0]?.command === 'ROLLBACK') throw unavailable('The change was rolled back.')
  } catch (error) {
    if (!breaksConnection(error) || classify(error) !== 'lost') throw error
    throw new UnconfirmedCommit('the answer to a commit was lost', { cause: error })
  } finally {
    lease.client.off('notice', listen)
  }
  if (warned) throw new UnconfirmedCommit('a synchronous standby did not confirm')
}
