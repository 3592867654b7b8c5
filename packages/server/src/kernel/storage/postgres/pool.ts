import { Socket } from 'node:net'
import pg from 'pg'
import { sqlState } from '../errors.ts'
import type { PostgresAddress, PostgresHost } from './address.ts'
import { withConnectionTimeout } from './errors.ts'

/** The properties of a server and the session, read when a connection opens. */
export interface ServerInfo {
  isStandby: boolean
  isReadOnly: boolean
  /** Whether the requested timeouts are in effect; a pooler may drop them. */
  hasTimeouts: boolean
  /** Whether a commit waits for the disk by default. */
  commitsDurably: boolean
  /** Whether the session is that of the connection, and not one that a pooler shares. */
  isDirect: boolean
  version: number
  encoding: string
}

/** Where a primary stands in the history of its cluster: each promotion starts a new timeline. */
export interface Timeline {
  cluster: string
  number: number
}

/** Connections to one host. */
export interface HostPool extends ReturnType<typeof createPool> {
  host: PostgresHost
  /** Reported on the first connection. */
  serverInfo: ServerInfo
  /** Unknown for a standby, and where the server does not tell. */
  timeline: Timeline | undefined
}

/** Options that the server may not support; each is dropped after a failed attempt. */
interface ConnectOptions {
  tls: boolean
  /** Whether to send the timeouts in the startup message, which pgbouncer may reject. */
  startupTimeouts: boolean
}

const keepAliveDelayMs = 5_000
const idleTimeoutMs = 30_000

/** Replaces connections regularly, so that changed passwords and addresses take effect. */
const maxLifetimeSeconds = 1_800

/** Time for connections in use to be released before the pool destroys them. */
const endGraceMs = 1_000

/** Only what other databases with PostgreSQL's protocol support too. */
const serverInfoQuery = `select pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') as read_only,
  current_setting('statement_timeout') as statement_timeout,
  current_setting('synchronous_commit') as synchronous_commit,
  pg_backend_pid() as pid,
  current_setting('server_version_num') as version,
  current_setting('server_encoding') as encoding`

/** Not in `serverInfoQuery`, as other databases and some managed services lack these functions. */
const timelineQuery = `select pg_walfile_name(pg_current_wal_lsn()) as segment,
  (select system_identifier::text from pg_control_system()) as cluster`

/** Counts and revisions stay far below 2^53; other columns are text, integers and booleans. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
}

/** For a connection that has not reported: relies on nothing. */
const unknownServer: ServerInfo = {
  isStandby: false,
  isReadOnly: false,
  hasTimeouts: false,
  commitsDurably: false,
  isDirect: false,
  version: 0,
  encoding: '',
}

interface HostChecks {
  /** Checks the server on every connection, since an address can move to another server. */
  accepts(info: ServerInfo): boolean
  /** Called when the host takes a connection, before the server responds. */
  onReached(): void
}

/** Opens the first connection to a host. Rejects if it does not respond or is not accepted. */
export async function openHostPool(
  address: PostgresAddress,
  host: PostgresHost,
  checks: HostChecks,
): Promise<HostPool> {
  const options = { tls: address.tls(host.host) !== undefined, startupTimeouts: true }
  for (;;) {
    const pool = createPool(address, host, options, checks)
    try {
      const client = await pool.connect()
      const serverInfo = pool.serverInfoOf(client)
      const timeline = await readTimeline(client, address.connectTimeoutMs)
      client.release()
      return { ...pool, host, serverInfo, timeline }
    } catch (error) {
      await pool.end()
      if (!relax(options, address, error)) throw error
    }
  }
}

/** Drops the option that caused the error. Returns whether another attempt may succeed. */
function relax(options: ConnectOptions, address: PostgresAddress, error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (options.tls && address.allowsPlaintext && /does not support SSL/.test(error.message)) {
    options.tls = false
    return true
  }
  const isRejected = ['08P01', '0A000', '22023', '42704'].includes(sqlState(error) ?? '')
  if (options.startupTimeouts && isRejected && /parameter|option/i.test(error.message)) {
    options.startupTimeouts = false
    return true
  }
  return false
}

function createPool(
  address: PostgresAddress,
  { host, port }: PostgresHost,
  options: ConnectOptions,
  { accepts, onReached }: HostChecks,
) {
  const sockets = new Set<Socket>()
  const reported = new WeakMap<pg.ClientBase, ServerInfo>()
  const pool = new pg.Pool({
    host,
    port,
    ...clientConfig(address, { host, port }),
    ...(options.tls ? { ssl: address.tls(host) } : {}),
    ...(address.channelBinding === 'require' ? { Client: BoundClient } : {}),
    ...(options.startupTimeouts
      ? {
          statement_timeout: address.statementTimeoutMs,
          idle_in_transaction_session_timeout: idleInTransactionMs(address.statementTimeoutMs),
        }
      : {}),
    stream: () => createTrackedSocket(sockets).once('connect', onReached),
    async onConnect(client) {
      const info = await withConnectionTimeout(
        readServerInfo(client, address.statementTimeoutMs),
        address.connectTimeoutMs,
      )
      if (!accepts(info)) throw Object.assign(new Error('it is a standby'), { code: '25006' })
      reported.set(client, info)
    },
  })
  // Without a listener, losing an idle connection would end the process.
  pool.on('error', () => {})
  return {
    connect: () => pool.connect(),
    /** Open connections, and those of them that are idle. */
    counts: () => ({ open: pool.totalCount, idle: pool.idleCount }),
    serverInfoOf: (client: pg.ClientBase) => reported.get(client) ?? unknownServer,
    /** Calls the listener when an idle connection is lost. */
    onLost: (listener: () => void) => void pool.on('error', listener),
    /** Closes idle connections now, and the others on release or after a second. */
    end: () => endPool(pool, sockets),
  }
}

function clientConfig(address: PostgresAddress, host: PostgresHost): pg.PoolConfig {
  return {
    user: address.user,
    // An empty password keeps pg from reading a password file. `trust` servers ignore it.
    password: () => address.password(host) ?? '',
    database: address.database,
    application_name: address.applicationName,
    max: address.poolSize,
    connectionTimeoutMillis: address.connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    maxLifetimeSeconds,
    // Sends a statement without waiting for the responses to earlier ones.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    types,
    enableChannelBinding: address.channelBinding !== 'disable',
  }
}

/** Gives the password to no server that does not prove that this TLS connection is its own. */
class BoundClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    const { connection } = this
    let isBound = false
    const refuse = () => connection.emit('error', new Error(unbound))
    for (const event of ['authenticationCleartextPassword', 'authenticationMD5Password']) {
      connection.removeAllListeners(event).on(event, refuse)
    }
    connection.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
      isBound = mechanisms.includes('SCRAM-SHA-256-PLUS')
      if (!isBound) refuse()
    })
    connection.on('authenticationOk', () => isBound || refuse())
  }
}

const unbound = 'The server offers no channel binding.'

/** How long a transaction may be idle before the server ends it. */
export function idleInTransactionMs(statementTimeoutMs: number): number {
  return statementTimeoutMs + 3_000
}

async function readServerInfo(
  client: pg.ClientBase,
  statementTimeoutMs: number,
): Promise<ServerInfo> {
  const { rows } = await client.query<Record<string, unknown>>(serverInfoQuery)
  const [row = {}] = rows
  // The server writes a duration in the largest unit that leaves a whole number.
  const expected = [
    `${statementTimeoutMs}ms`,
    `${statementTimeoutMs / 1_000}s`,
    `${statementTimeoutMs / 60_000}min`,
  ]
  return {
    isStandby: row.standby === true,
    isReadOnly: row.read_only === 'on',
    hasTimeouts: expected.includes(String(row.statement_timeout)),
    commitsDurably: row.synchronous_commit !== 'off',
    // A pooler gives each client a process id of its own.
    isDirect: row.pid === Reflect.get(client, 'processID'),
    version: Number(row.version),
    encoding: String(row.encoding),
  }
}

/** The name of a WAL segment starts with its timeline, as eight hexadecimal digits. */
async function readTimeline(
  client: pg.ClientBase,
  timeoutMs: number,
): Promise<Timeline | undefined> {
  const query = client.query<{ segment: string; cluster: string }>(timelineQuery)
  const result = await withConnectionTimeout(query, timeoutMs).catch(() => undefined)
  const [row] = result?.rows ?? []
  if (row === undefined) return undefined
  return { cluster: row.cluster, number: Number.parseInt(row.segment.slice(0, 8), 16) }
}

function createTrackedSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  return socket
}

async function endPool(pool: pg.Pool, sockets: Set<Socket>): Promise<void> {
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const timer = setTimeout(destroyAll, endGraceMs)
  await pool.end()
  clearTimeout(timer)
  destroyAll()
}
