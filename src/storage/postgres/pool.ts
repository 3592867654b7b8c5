import { Socket } from 'node:net'
import pg from 'pg'
import { withTimeout } from '../../async/with-timeout.ts'
import type { PostgresAddress, PostgresHost } from './address.ts'
import { responseTimeout, sqlState } from './errors.ts'

/** What a server says of itself and of the session when a connection is opened. */
export interface ServerInfo {
  standby: boolean
  readOnly: boolean
  /** Whether the time-outs that were asked for at connecting hold; a pooler may drop them. */
  timeoutsHold: boolean
  /** Whether a commit waits for the disk without being told so. */
  durable: boolean
  version: number
  encoding: string
}

/** Connections to one host. */
export interface HostPool {
  host: PostgresHost
  /** Of the connection that was opened first. */
  serverInfo: ServerInfo
  connect(): Promise<pg.PoolClient>
  serverInfoOf(client: pg.ClientBase): ServerInfo
  /** Calls back when an idle connection was lost. */
  onLost(listener: () => void): void
  /** Closes idle connections now and others when they are released, the latest after a second. */
  end(): Promise<void>
}

/** How a host is spoken to; found out by trying. */
interface ConnectOptions {
  tls: boolean
  /** Whether time-outs are asked for in the start-up message, which pgbouncer may refuse. */
  startupTimeouts: boolean
}

/** Milliseconds between a try of keep-alive probes, and for which idle connections are kept. */
const keepAliveDelay = 5_000
const idleTimeout = 30_000

/** Seconds after which a connection is replaced: changed passwords, addresses and plans count. */
const maxLifetime = 1_800

/** Milliseconds that connections in use get to come back before they are cut. */
const endPatience = 1_000

/** `select` alone, and nothing that another PostgreSQL would not know. */
const inspection = `select pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') as read_only,
  current_setting('statement_timeout') as statement_timeout,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('server_version_num') as version,
  current_setting('server_encoding') as encoding`

/** Counts and revisions are far below 2^53; everything else is text, integers and booleans. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
}

/**
 * Opens a first connection to the host. `fits` decides whether a server is the one that is wanted,
 * and is asked again for every further connection: behind an address that moves there may be another
 * one by then. Rejects where the host does not answer or does not fit.
 */
export async function openHostPool(
  address: PostgresAddress,
  host: PostgresHost,
  accepts: (facts: ServerInfo) => boolean,
): Promise<HostPool> {
  const manner: ConnectOptions = {
    tls: address.tls(host.host) !== undefined,
    startupTimeouts: true,
  }
  for (;;) {
    const pool = createPool(address, host, manner, accepts)
    try {
      const client = await pool.connect()
      const facts = pool.serverInfoOf(client)
      client.release()
      return { ...pool, host, serverInfo: facts }
    } catch (error) {
      await pool.end()
      if (!relax(manner, address, error)) throw error
    }
  }
}

/** Whether another manner may do better, after the error. */
function relax(manner: ConnectOptions, address: PostgresAddress, error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (manner.tls && address.plainAllowed && /does not support SSL/.test(error.message)) {
    manner.tls = false
    return true
  }
  const refused = ['08P01', '0A000', '22023', '42704'].includes(sqlState(error) ?? '')
  if (manner.startupTimeouts && refused && /parameter|option/i.test(error.message)) {
    manner.startupTimeouts = false
    return true
  }
  return false
}

function createPool(
  address: PostgresAddress,
  { host, port }: PostgresHost,
  manner: ConnectOptions,
  accepts: (facts: ServerInfo) => boolean,
) {
  const sockets = new Set<Socket>()
  const known = new WeakMap<pg.ClientBase, ServerInfo>()
  const inspect = async (client: pg.ClientBase) => {
    const facts = await withConnectionTimeout(
      readServerInfo(client, address),
      address.connectTimeout,
    )
    if (!accepts(facts)) throw Object.assign(new Error('not the primary'), { code: '25006' })
    known.set(client, facts)
  }
  const tls = manner.tls ? address.tls(host) : undefined
  const pool = new pg.Pool({
    host,
    port,
    user: address.user,
    // An empty one keeps pg from looking for a password file; servers that ask for none ignore it.
    password: address.password ?? '',
    database: address.database,
    application_name: address.applicationName,
    max: address.poolSize,
    connectionTimeoutMillis: address.connectTimeout,
    idleTimeoutMillis: idleTimeout,
    maxLifetimeSeconds: maxLifetime,
    // What does not wait for one another is sent without waiting.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelay,
    types,
    stream: () => tracked(sockets),
    onConnect: inspect,
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(manner.startupTimeouts
      ? {
          statement_timeout: address.statementTimeout,
          idle_in_transaction_session_timeout: idleInTransaction(address.statementTimeout),
        }
      : {}),
  })
  // Without a listener the loss of an idle connection would end the process.
  const listeners: (() => void)[] = []
  pool.on('error', () => {
    for (const listener of listeners) listener()
  })
  return {
    connect: () => pool.connect(),
    serverInfoOf: (client: pg.ClientBase) => known.get(client) ?? assumed,
    onLost: (listener: () => void) => void listeners.push(listener),
    end: () => endPool(pool, sockets),
  }
}

/** What holds for a connection that was not asked: nothing that must be relied on. */
const assumed: ServerInfo = {
  standby: false,
  readOnly: false,
  timeoutsHold: false,
  durable: false,
  version: 0,
  encoding: '',
}

/** Milliseconds for which a transaction of ours may stand still before the server ends it. */
export function idleInTransaction(statementTimeout: number): number {
  return statementTimeout + 3_000
}

async function readServerInfo(
  client: pg.ClientBase,
  address: PostgresAddress,
): Promise<ServerInfo> {
  const { rows } = await client.query<Record<string, unknown>>(inspection)
  const [row = {}] = rows
  const { statementTimeout } = address
  // The server writes times in the largest unit that leaves a whole number.
  const wanted = [1, 1_000, 60_000].map((unit, place) => {
    return `${statementTimeout / unit}${['ms', 's', 'min'][place]}`
  })
  return {
    standby: row.standby === true,
    readOnly: row.read_only === 'on',
    timeoutsHold: wanted.includes(String(row.statement_timeout)),
    durable: row.synchronous_commit !== 'off',
    version: Number(row.version),
    encoding: String(row.encoding),
  }
}

/** A socket that sends what is written in one go of the event loop by one call of the system. */
class GatheringSocket extends Socket {
  override uncork(): void {
    process.nextTick(() => super.uncork())
  }
}

function tracked(sockets: Set<Socket>): Socket {
  const socket = new GatheringSocket()
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  return socket
}

async function endPool(pool: pg.Pool, sockets: Set<Socket>): Promise<void> {
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy()
  }, endPatience)
  await pool.end()
  clearTimeout(cut)
  for (const socket of sockets) socket.destroy()
}

/** Rejects with what counts as a lost connection where the answer takes longer. */
export function withConnectionTimeout<Result>(
  answer: Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  return withTimeout(answer, timeoutMs, responseTimeout)
}
