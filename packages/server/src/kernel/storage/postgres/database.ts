import {
  type DatabaseConnection,
  type DialectAdapter,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import { storageUnavailable } from '../../faults.ts'
import { classify, faultError, type StorageFault, toReadError } from '../errors.ts'
import type { Db, Tables } from '../schema.ts'
import { runDirectly } from '../statements.ts'
import type { PostgresAddress } from './address.ts'
import { breaksConnection, createLeases, type Lease, type Statement } from './leases.ts'
import { idleInTransactionMs } from './pool.ts'
import type { Target } from './primary.ts'

/** A read that has lost its connection is retried, within a time and a number of attempts. */
const retryWindowMs = 1_500
const maxAttempts = 4

interface BeginOptions {
  /** Limit for each statement, and for each pause between two. */
  timeoutMs?: number
  /** Limit for each wait for a lock; absent: none. */
  lockTimeoutMs?: number
  /** Whether all statements read the same snapshot. */
  isSnapshot?: boolean
}

/** A PostgreSQL database, on whichever host its primary is at the moment. */
export type PostgresDatabase = ReturnType<typeof openDatabase>

export function openDatabase(address: PostgresAddress, target: Target) {
  const leases = createLeases(address, target)
  const { statementTimeoutMs } = address

  async function begin({
    timeoutMs = statementTimeoutMs,
    lockTimeoutMs,
    isSnapshot = false,
  }: BeginOptions = {}) {
    const lease = await leases.acquire()
    if (lease.serverInfo.isReadOnly) {
      lease.release(false)
      lease.reportFailure()
      throw faultError('read-only')
    }
    const mode = isSnapshot ? 'repeatable read' : 'read committed'
    const hasTimeout = lease.serverInfo.hasTimeouts && timeoutMs === statementTimeoutMs
    const statement = beginStatement(lease, { mode, timeoutMs, lockTimeoutMs, hasTimeout })
    return createTransaction(lease, statement, timeoutMs)
  }
  return {
    /** Runs one read-only statement, and retries it if the connection is lost. */
    async read<Row>(statement: Statement): Promise<QueryResult<Row>> {
      const deadline = performance.now() + retryWindowMs
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await readOnce<Row>(await leases.acquire(), statement, statementTimeoutMs)
        } catch (error) {
          const canRetry = classify(error) === 'lost' && performance.now() < deadline
          if (!canRetry || attempt >= maxAttempts) throw toReadError(error)
        }
      }
    },
    begin,
    /** Runs the work in a transaction that leaves nothing behind. */
    async inTransaction<Result>(
      options: BeginOptions,
      work: (db: Db) => Promise<Result>,
    ): Promise<Result> {
      const { query, rollback } = await begin(options)
      return work(createKysely(query)).finally(rollback)
    },
    /** Runs a statement in no transaction, on a connection of its own. */
    async runAlone<Row>(statement: Statement, timeoutMs: number): Promise<QueryResult<Row>> {
      const own = createLeases({ ...address, poolSize: 1, statementTimeoutMs: timeoutMs }, target)
      try {
        const lease = await own.acquire()
        return await lease.run<Row>(statement).finally(() => lease.release(true))
      } finally {
        await own.close()
      }
    },
    async serverInfo() {
      const lease = await leases.acquire()
      lease.release(false)
      return lease.serverInfo
    },
    diagnostics: leases.diagnostics,
    close: leases.close,
  }
}

/** Without timeouts of the session, which a pooler may have dropped, a transaction sets its own. */
async function readOnce<Row>(
  lease: Lease,
  statement: Statement,
  timeoutMs: number,
): Promise<QueryResult<Row>> {
  const { hasTimeouts } = lease.serverInfo
  let isBroken = false
  try {
    if (hasTimeouts) return await lease.run<Row>(statement)
    const mode = 'read committed read only'
    const [, result] = await Promise.all([
      lease.run(beginStatement(lease, { mode, timeoutMs, hasTimeout: false })),
      lease.run<Row>(statement),
      lease.run({ sql: 'commit', parameters: [] }),
    ])
    return result
  } catch (error) {
    isBroken = !hasTimeouts || breaksConnection(error)
    throw error
  } finally {
    lease.release(isBroken)
  }
}

/** A commit has failed, and the change may or may not have been made. */
export class UnconfirmedCommit extends Error {
  override readonly name = 'UnconfirmedCommit'
}

interface TransactionOptions {
  mode: 'read committed' | 'read committed read only' | 'repeatable read'
  /** Limit for each statement, and for each pause between two. */
  timeoutMs: number
  lockTimeoutMs?: number | undefined
  /** Whether the session has this timeout already. */
  hasTimeout: boolean
}

/**
 * Begins a transaction with the timeouts that the session lacks, and a commit that waits for the
 * disk. Never sets `read write`, which would override an operator who made the database read-only.
 */
function beginStatement(lease: Lease, options: TransactionOptions): Statement {
  const { mode, timeoutMs, lockTimeoutMs, hasTimeout } = options
  const statements = [`begin isolation level ${mode}`]
  if (!hasTimeout) {
    statements.push(
      `set local statement_timeout = ${timeoutMs}`,
      `set local idle_in_transaction_session_timeout = ${idleInTransactionMs(timeoutMs)}`,
    )
  }
  if (lockTimeoutMs !== undefined) statements.push(`set local lock_timeout = ${lockTimeoutMs}`)
  if (!lease.serverInfo.commitsDurably && !mode.endsWith('read only')) {
    statements.push('set local synchronous_commit = on')
  }
  return { sql: statements.join('; '), parameters: [] }
}

/**
 * A transaction on the lease, which is released when it ends. Its first statements are sent without
 * waiting for the response to `begin`, which fails only with the connection or leaves a transaction that
 * rejects them.
 */
function createTransaction(lease: Lease, begin: Statement, timeoutMs: number) {
  const begun = lease.run(begin)
  // Reported by each use.
  begun.catch(() => undefined)
  return {
    async query<Row>(statement: Statement): Promise<QueryResult<Row>> {
      const [, result] = await Promise.all([begun, lease.run<Row>(statement, timeoutMs)])
      return result
    },
    /** Resolves once the change is durable. Rejects with `UnconfirmedCommit` if that is unknown. */
    async commit(): Promise<void> {
      let isBroken = true
      try {
        await begun
        await commit(lease, timeoutMs)
        isBroken = false
      } finally {
        lease.release(isBroken)
      }
    },
    /** Never rejects: if the rollback fails the connection is closed, which rolls back too. */
    async rollback(): Promise<void> {
      const isBroken = await lease.run({ sql: 'rollback', parameters: [] }).then(
        () => false,
        () => true,
      )
      lease.release(isBroken)
    },
  }
}

/**
 * The meanings of an error of a commit that say that it was rolled back. A server that cannot write its
 * log panics with the state of the disk's error, and its recovery may make the change nevertheless.
 */
const rolledBackFaults: readonly StorageFault[] = ['other', 'conflict', 'read-only', 'unavailable']

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
    if (rows[0]?.command === 'ROLLBACK') throw storageUnavailable('The change was rolled back.')
  } catch (error) {
    if (rolledBackFaults.includes(classify(error))) throw error
    throw new UnconfirmedCommit('a commit was not confirmed', { cause: error })
  } finally {
    lease.client.off('notice', onNotice)
  }
  if (isReplicationUnconfirmed) throw new UnconfirmedCommit('a synchronous standby did not confirm')
}

/** Runs one statement, on a pool or a connection. */
export type Run = <Row>(statement: Statement) => Promise<QueryResult<Row>>

/**
 * Kysely over a function that runs statements. It opens no transactions: only their owner knows
 * whether they can be retried.
 */
export function createKysely(run: Run): Db {
  const connection: DatabaseConnection = {
    executeQuery: (query) => run(query),
    streamQuery() {
      throw unsupported()
    },
  }
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        beginTransaction: async () => Promise.reject(unsupported()),
        commitTransaction: async () => Promise.reject(unsupported()),
        rollbackTransaction: async () => Promise.reject(unsupported()),
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
    },
  })
  runDirectly(db, async (sql, parameters) => (await run({ sql, parameters })).rows)
  return db
}

function unsupported(): Error {
  return new Error('this connection neither streams nor opens transactions')
}

/**
 * Without Kysely's migration lock, which it takes for the session: a pooler in transaction mode
 * would leave it on a shared connection. `migratePostgres` takes one for the transaction.
 */
const adapter: DialectAdapter = Object.assign(new PostgresAdapter(), {
  async acquireMigrationLock() {},
  async releaseMigrationLock() {},
})
