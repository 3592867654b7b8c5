import type { QueryResult } from 'kysely'
import type { PostgresAddress } from './address.ts'
import { classify, toStorageError, unavailable } from './errors.ts'
import { breaksConnection, createLeases, type Lease, type Statement } from './leases.ts'
import type { ServerInfo } from './pool.ts'
import type { Wanted } from './primary.ts'
import { beginStatement, type PostgresTransaction, transactionOn } from './transaction.ts'

/** Milliseconds within which a read that lost its connection is begun again, and how often. */
const retryWindow = 1_500
const maxTries = 4

export interface BeginOptions {
  /** Milliseconds that each statement, and a pause between two, may take. */
  timeout?: number
  /** All statements see one moment. */
  snapshot?: boolean
}

/** What is done with a PostgreSQL database, wherever its primary is at the moment. */
export interface PostgresDatabase {
  /** Runs one statement that changes nothing, on any connection, and again where that was lost. */
  read<Row>(statement: Statement): Promise<QueryResult<Row>>
  begin(options?: BeginOptions): Promise<PostgresTransaction>
  /** What the server said of itself at last. */
  serverInfo(): Promise<ServerInfo>
  close(): Promise<void>
}

export function openDatabase(address: PostgresAddress, wanted: Wanted): PostgresDatabase {
  const leases = createLeases(address, wanted)
  const usual = address.statementTimeout

  /** One statement alone; where the session has no time-out of its own, within a transaction. */
  async function readOnce<Row>(statement: Statement): Promise<QueryResult<Row>> {
    const lease = await leases.acquire()
    if (!lease.serverInfo.timeoutsHold) return readWithin(lease, statement)
    let broken = false
    try {
      return await lease.run<Row>(statement)
    } catch (error) {
      broken = breaksConnection(error)
      throw error
    } finally {
      lease.release(broken)
    }
  }
  async function readWithin<Row>(lease: Lease, statement: Statement): Promise<QueryResult<Row>> {
    const mode = 'read committed read only'
    let broken = true
    try {
      await lease.run(beginStatement(lease, { mode, timeout: usual, hasTimeout: false }))
      const result = await lease.run<Row>(statement)
      await lease.run({ sql: 'commit', parameters: [] })
      broken = false
      return result
    } finally {
      lease.release(broken)
    }
  }
  return {
    async read<Row>(statement: Statement) {
      const deadline = performance.now() + retryWindow
      for (let tries = 1; ; tries += 1) {
        try {
          return await readOnce<Row>(statement)
        } catch (error) {
          const again = classify(error) === 'lost' && performance.now() < deadline
          if (!again || tries >= maxTries) throw toStorageError(error)
        }
      }
    },
    async begin({ timeout = usual, snapshot = false } = {}) {
      const lease = await leases.acquire()
      if (lease.serverInfo.readOnly) {
        lease.release(false)
        lease.reportFailure()
        throw unavailable('The database is read-only at the moment. Nothing was changed.')
      }
      const mode = snapshot ? 'repeatable read' : 'read committed'
      const hasTimeout = lease.serverInfo.timeoutsHold && timeout === usual
      try {
        await lease.run(beginStatement(lease, { mode, timeout, hasTimeout }))
      } catch (error) {
        lease.release(true)
        throw error
      }
      return transactionOn(lease, timeout)
    },
    async serverInfo() {
      const lease = await leases.acquire()
      lease.release(false)
      return lease.serverInfo
    },
    close: () => leases.close(),
  }
}
