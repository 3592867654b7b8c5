import type { QueryResult } from 'kysely'
import type { PostgresAddress } from './address.ts'
import { classify, readOnly, toStorageError } from './errors.ts'
import { breaksConnection, createLeases, type Lease, type Statement } from './leases.ts'
import type { Target } from './primary.ts'
import { beginStatement, createTransaction } from './transaction.ts'

/** A read that has lost its connection is retried, within a time and a number of attempts. */
const retryWindowMs = 1_500
const maxAttempts = 4

interface BeginOptions {
  /** Limit for each statement, and for each pause between two. */
  timeoutMs?: number
  /** Whether all statements read the same snapshot. */
  isSnapshot?: boolean
}

/** A PostgreSQL database, on whichever host its primary is at the moment. */
export type PostgresDatabase = ReturnType<typeof openDatabase>

export function openDatabase(address: PostgresAddress, target: Target) {
  const leases = createLeases(address, target)
  const { statementTimeoutMs } = address
  return {
    /** Runs one read-only statement, and retries it if the connection is lost. */
    async read<Row>(statement: Statement): Promise<QueryResult<Row>> {
      const deadline = performance.now() + retryWindowMs
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await readOnce<Row>(await leases.acquire(), statement, statementTimeoutMs)
        } catch (error) {
          const canRetry = classify(error) === 'lost' && performance.now() < deadline
          if (!canRetry || attempt >= maxAttempts) throw toStorageError(error)
        }
      }
    },
    async begin({ timeoutMs = statementTimeoutMs, isSnapshot = false }: BeginOptions = {}) {
      const lease = await leases.acquire()
      if (lease.serverInfo.isReadOnly) {
        lease.release(false)
        lease.reportFailure()
        throw readOnly()
      }
      const mode = isSnapshot ? 'repeatable read' : 'read committed'
      const hasTimeout = lease.serverInfo.hasTimeouts && timeoutMs === statementTimeoutMs
      const statement = beginStatement(lease, { mode, timeoutMs, hasTimeout })
      return createTransaction(lease, statement, timeoutMs)
    },
    /** Runs a statement that PostgreSQL allows in no transaction, on a connection of its own. */
    async runAlone(text: string, timeoutMs: number): Promise<void> {
      const own = createLeases({ ...address, poolSize: 1, statementTimeoutMs: timeoutMs }, target)
      try {
        const lease = await own.acquire()
        await lease.run({ sql: text, parameters: [] }).finally(() => lease.release(true))
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
