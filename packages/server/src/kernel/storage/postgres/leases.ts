import { hash } from 'node:crypto'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { CompiledQuery, QueryResult } from 'kysely'
import type pg from 'pg'
import { createSemaphore } from '../../../async/semaphore.ts'
import { present } from '../../../runtime/present.ts'
import type { StoreDiagnostics } from '../../context.ts'
import { classify, queueFull, toStorageError } from '../errors.ts'
import { nameOf, type PostgresAddress } from './address.ts'
import { databaseBusy, hasNoFreeConnection, withConnectionTimeout } from './errors.ts'
import type { HostPool, ServerInfo } from './pool.ts'
import {
  createPrimaryFinder,
  fullServerPauseMs,
  type PrimaryFinder,
  type Target,
} from './primary.ts'

/** A query that Kysely has compiled, or SQL text without parameters. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>

/** A connection that one caller uses until it releases it. */
export interface Lease {
  client: pg.PoolClient
  serverInfo: ServerInfo
  /**
   * Runs a statement after the earlier ones. It has `timeoutMs` from the time when those are done.
   * Reports the server's failure if the error is one that `breaksConnection`.
   */
  run<Row>(statement: Statement, timeoutMs?: number): Promise<QueryResult<Row>>
  /** Starts a new search for the primary. */
  reportFailure(): void
  /** Returns the connection to the pool, or closes it if it is broken. */
  release(isBroken: boolean): void
}

/** How long to wait for a response after the server's own timeout, whose error says more. */
const responseGraceMs = 500

const maxWaiting = 10_000

export function createLeases(address: PostgresAddress, target: Target) {
  const finder = createPrimaryFinder(address, target)
  const connections = createSemaphore({
    permits: address.poolSize,
    maxWaiting,
    fullError: queueFull,
    timeoutError: databaseBusy,
  })
  return {
    /** Rejects with `storage_unavailable` if no connection is available in time. */
    async acquire(): Promise<Lease> {
      const deadline = performance.now() + address.connectTimeoutMs
      const releasePermit = await connections.acquire(address.connectTimeoutMs)
      try {
        const { pool, client } = await connect(finder, deadline)
        return createLease({
          client,
          address,
          serverInfo: pool.serverInfoOf(client),
          reportFailure: () => finder.reportFailure(pool),
          releasePermit,
        })
      } catch (error) {
        releasePermit()
        throw toStorageError(error)
      }
    },
    diagnostics(): StoreDiagnostics {
      const pool = finder.inUse()
      const { open, idle } = pool?.counts() ?? { open: 0, idle: 0 }
      const primary = pool && nameOf(pool.host)
      const counts = { used: open - idle, idle, waiting: connections.waiting() }
      return { engine: 'PostgreSQL', ...present({ primary }), connections: counts }
    },
    close: () => finder.close(),
  }
}

async function connect(
  finder: PrimaryFinder,
  deadline: number,
): Promise<{ pool: HostPool; client: pg.PoolClient }> {
  for (;;) {
    let pool: HostPool | undefined
    try {
      pool = await finder.current(Math.max(1, deadline - performance.now()))
      return { pool, client: await pool.connect() }
    } catch (error) {
      if (performance.now() >= deadline) throw error
      if (hasNoFreeConnection(error)) {
        await delay(fullServerPauseMs)
        continue
      }
      const isLasting = ['unavailable', 'misconfigured'].includes(classify(error))
      if (pool === undefined || isLasting) throw error
      finder.reportFailure(pool)
    }
  }
}

interface LeaseOptions extends Pick<Lease, 'client' | 'serverInfo' | 'reportFailure'> {
  address: PostgresAddress
  releasePermit(): void
}

function createLease({ client, address, releasePermit, ...rest }: LeaseOptions): Lease {
  const ignore = () => undefined
  // The pool does not listen to a client in use. Its queries report the loss of the connection.
  client.on('error', ignore)
  const isPrepared = address.prepared ?? rest.serverInfo.isDirect
  let previous: Promise<unknown> = Promise.resolve()
  return {
    ...rest,
    client,
    async run<Row>(statement: Statement, timeoutMs = address.statementTimeoutMs) {
      writeTogether(client.connection.stream)
      const response = send<Row>(client, statement, isPrepared)
      const result = previous.then(() =>
        withConnectionTimeout(response, timeoutMs + responseGraceMs),
      )
      // Until `previous` settles nothing awaits the response; an early rejection is not unhandled.
      response.catch(ignore)
      // Wait for the result, not the response, which may never arrive.
      previous = result.then(ignore, ignore)
      try {
        return await result
      } catch (error) {
        if (breaksConnection(error)) rest.reportFailure()
        throw error
      }
    },
    release(isBroken) {
      if (!isBroken) client.off('error', ignore)
      client.release(isBroken)
      releasePermit()
    },
  }
}

/** Has the statements that are sent until the next tick written by one system call. */
function writeTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** Whether the session cannot be used after the error; other errors leave it intact. */
export function breaksConnection(error: unknown): boolean {
  return ['lost', 'read-only'].includes(classify(error))
}

async function send<Row>(
  client: pg.PoolClient,
  { sql, parameters }: Statement,
  isPrepared: boolean,
): Promise<QueryResult<Row>> {
  const name = isPrepared ? statementName(sql, parameters.length) : undefined
  const response: pg.QueryResult | pg.QueryResult[] = await client.query({
    text: sql,
    ...(parameters.length === 0 ? {} : { values: [...parameters] }),
    ...present({ name }),
  })
  // A text of several statements gets an array.
  if (Array.isArray(response)) return { rows: [] }
  const { command, rowCount, rows } = response
  if (command === 'COMMIT' || command === 'ROLLBACK') return { rows: [{ command }] as Row[] }
  const isChange = ['INSERT', 'UPDATE', 'DELETE'].includes(command)
  return { rows: rows ?? [], ...(isChange ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) }
}

/** Lists of any length would otherwise prepare a statement per length. */
const maxPreparedParameters = 32

/** Far more than there are distinct statements. */
const maxNames = 1_000

const names = new Map<string, string>()

/** The name of a prepared statement, the same on every connection. Undefined: not to be prepared. */
function statementName(sql: string, parameters: number): string | undefined {
  if (parameters === 0 || parameters > maxPreparedParameters) return undefined
  const known = names.get(sql)
  if (known !== undefined) return known
  if (names.size >= maxNames) names.clear()
  const name = `pubring_${hash('sha256', sql, 'hex').slice(0, 24)}`
  names.set(sql, name)
  return name
}
