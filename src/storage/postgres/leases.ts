import type { CompiledQuery, QueryResult } from 'kysely'
import type pg from 'pg'
import { createSemaphore } from '../../async/semaphore.ts'
import type { PostgresAddress } from './address.ts'
import { classify, databaseBusy, queueFull, toStorageError } from './errors.ts'
import { type HostPool, type ServerInfo, withConnectionTimeout } from './pool.ts'
import { createPrimaryFinder, type Wanted } from './primary.ts'
import { statementName } from './statements.ts'

/** What is run: Kysely's compiled query, or a text without parameters. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>

/** A connection that is taken; `release(true)` cuts it. */
export interface Lease {
  serverInfo: ServerInfo
  client: pg.PoolClient
  /**
   * Runs a statement for `timeout` milliseconds at most. Where its error tells of a lost or read-only
   * server, that is looked after, and the lease should be released as broken.
   */
  run<Row>(statement: Statement, timeout?: number): Promise<QueryResult<Row>>
  /** The server is not what it was: find out where the primary is now. */
  reportFailure(): void
  release(broken: boolean): void
}

export interface Leases {
  /** Rejects with `storage_unavailable` where no connection is to be had in time. */
  acquire(): Promise<Lease>
  close(): Promise<void>
}

/** Milliseconds that an answer may be later than the server's own time-out, which is more precise. */
const grace = 500

/** Milliseconds that a caller waits for a connection, and how many may. */
const acquireTimeoutMs = 2_000
const maxWaiting = 10_000

export function createLeases(address: PostgresAddress, wanted: Wanted): Leases {
  const finder = createPrimaryFinder(address, wanted)
  const connections = createSemaphore({
    permits: address.poolSize,
    maxWaiting,
    fullError: queueFull,
    timeoutError: databaseBusy,
  })

  async function connect(deadline: number): Promise<{ pool: HostPool; client: pg.PoolClient }> {
    for (;;) {
      const pool = await finder.current(Math.max(1, deadline - performance.now()))
      try {
        return { pool, client: await pool.connect() }
      } catch (error) {
        if (classify(error) === 'refused') throw error
        finder.reportFailure(pool)
        if (performance.now() >= deadline) throw error
      }
    }
  }
  function lease(pool: HostPool, client: pg.PoolClient, done: () => void): Lease {
    // While it is taken the pool does not listen: whoever uses it learns of the loss by the query.
    const ignore = () => undefined
    client.on('error', ignore)
    let ahead: Promise<unknown> = Promise.resolve()
    const suspect = () => finder.reportFailure(pool)
    return {
      client,
      serverInfo: pool.serverInfoOf(client),
      reportFailure: suspect,
      async run<Row>(statement: Statement, timeout = address.statementTimeout) {
        const answer = send<Row>(client, statement, address.prepared)
        // The server takes one after the other: its time with this one begins when those before are done.
        const timed = ahead.then(() => withConnectionTimeout(answer, timeout + grace))
        // An error that comes before its time is told then; an answer that never comes holds up nobody.
        answer.catch(ignore)
        ahead = timed.then(ignore, ignore)
        try {
          return await timed
        } catch (error) {
          if (breaksConnection(error)) suspect()
          throw error
        }
      },
      release(broken) {
        if (!broken) client.off('error', ignore)
        client.release(broken)
        done()
      },
    }
  }
  return {
    async acquire() {
      const deadline = performance.now() + acquireTimeoutMs
      const done = await connections.acquire(acquireTimeoutMs)
      try {
        const { pool, client } = await connect(deadline)
        return lease(pool, client, done)
      } catch (error) {
        done()
        throw toStorageError(error)
      }
    },
    close: () => finder.close(),
  }
}

/** After an answer of the server the session is as good as before, unless it is about the session. */
export function breaksConnection(error: unknown): boolean {
  const meaning = classify(error)
  return meaning === 'lost' || meaning === 'read-only'
}

async function send<Row>(
  client: pg.PoolClient,
  { sql, parameters }: Statement,
  prepared: boolean,
): Promise<QueryResult<Row>> {
  const name = prepared ? statementName(sql, parameters.length) : undefined
  const answer: pg.QueryResult | pg.QueryResult[] = await client.query({
    text: sql,
    ...(parameters.length === 0 ? {} : { values: [...parameters] }),
    ...(name === undefined ? {} : { name }),
  })
  // A text of several statements has several answers.
  if (Array.isArray(answer)) return { rows: [] }
  const { command, rowCount, rows } = answer
  if (command === 'COMMIT' || command === 'ROLLBACK') return { rows: [{ command }] as Row[] }
  const changes = ['INSERT', 'UPDATE', 'DELETE'].includes(command)
  return { rows: rows ?? [], ...(changes ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) }
}
