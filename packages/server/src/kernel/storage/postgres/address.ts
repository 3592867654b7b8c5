import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { followFile, readBounded, readFirstLine } from '../../../runtime/files.ts'

/** A host name, an IP address, or the directory of a Unix socket. */
export interface PostgresHost {
  host: string
  port: number
}

export function nameOf({ host, port }: PostgresHost): string {
  return `${host}:${port}`
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type SslMode = (typeof sslModes)[number]

export interface PostgresAddress {
  hosts: PostgresHost[]
  user: string
  /** The password of the user at this host. Reads its file anew at each call, if it is in one. */
  password(host: PostgresHost): string | undefined
  database: string
  applicationName: string
  /** Maximum number of connections per process. */
  poolSize: number
  /** Whether to prepare statements by name. Undefined: unless a pooler may share the session. */
  prepared: boolean | undefined
  connectTimeoutMs: number
  statementTimeoutMs: number
  /** Whether to connect to a server without TLS in plaintext. */
  allowsPlaintext: boolean
  /** TLS options for this host; reading them reads their files anew. Undefined: no TLS. */
  tls(host: string): ConnectionOptions | undefined
  /** Whether the password is proven for this TLS connection alone (RFC 5802 section 6). */
  channelBinding: ChannelBinding
}

const channelBindings = ['disable', 'prefer', 'require'] as const
type ChannelBinding = (typeof channelBindings)[number]

const parameters = [
  'application_name',
  'channel_binding',
  'connect_timeout',
  'host',
  'passfile',
  'password_file',
  'pool_size',
  'port',
  'prepared',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'statement_timeout',
]

/** Parameters of other clients, with what they are here. */
const foreignParameters: Readonly<Record<string, string>> = {
  ssl: 'write sslmode=verify-full or sslmode=require',
  pgbouncer:
    'leave it out: poolers are recognized; prepared=off is for those that keep no statements',
  connection_limit: 'write pool_size',
  pool_timeout: 'write connect_timeout',
  schema: "leave it out: the tables are in the first schema of the user's search_path",
  search_path: 'leave it out, and set the search_path of the user (alter role … set search_path)',
  options: 'leave it out, and set what it sets for the user (alter role … set …)',
  target_session_attrs: 'leave it out: the primary is found',
  load_balance_hosts: 'leave it out: the primary is found',
}

/** The format of libpq's URIs: `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE`. */
const format = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/

/**
 * Parses a `postgres://` address with parameters of libpq (PostgreSQL 18, section 34.1.2) and
 * `password_file`, `pool_size`, `prepared`, `statement_timeout` (milliseconds). Throws an Error with one line for a
 * person, which quotes nothing of the address that may be a password.
 */
export function parsePostgresAddress(url: string): PostgresAddress {
  const match = format.exec(url)
  if (match === null) {
    throw invalid(
      'must look like postgres://USER@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full; in user and password write @ as %40, / as %2F, ? as %3F, # as %23',
    )
  }
  const [, credentials = '', authority = '', path = '', search = ''] = match
  const [name = '', ...secret] = credentials.split(':')
  const query = parseParameters(search)
  const user = decode(name) || 'postgres'
  const database = decode(path) || user
  return {
    hosts: parseHosts(authority, query),
    user,
    password: parsePassword(secret, query, [database, user]),
    database,
    applicationName: query.get('application_name') ?? 'pubring',
    poolSize: parseInteger(query, 'pool_size', 10, { min: 2, max: 1_000 }),
    prepared: parseSwitch(query, 'prepared'),
    connectTimeoutMs: 1_000 * parseInteger(query, 'connect_timeout', 2, { min: 1, max: 60 }),
    statementTimeoutMs: parseInteger(query, 'statement_timeout', 2_000, { min: 100, max: 60_000 }),
    ...parseTls(query),
    channelBinding: parseOneOf(query, 'channel_binding', channelBindings, 'disable'),
  }
}

function invalid(problem: string): Error {
  return new Error(`The address of the database ${problem}.`)
}

function parseParameters(search: string): Map<string, string> {
  const query = new Map(new URLSearchParams(search))
  for (const key of query.keys()) {
    if (parameters.includes(key)) continue
    // A password with an unescaped ? would stand here, before the @ of the host.
    const named = search.includes('@') || !/^\w{1,30}$/.test(key) ? '' : ` “${key}”`
    const advice = foreignParameters[key] ?? `the known ones are ${parameters.join(', ')}`
    throw invalid(`has an unknown parameter${named}; ${advice}`)
  }
  return query
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('has an incomplete percent-encoding; write % itself as %25')
  }
}

function parseHosts(authority: string, query: Map<string, string>): PostgresHost[] {
  const hosts = query.get('host') ?? authority
  return hosts.split(',').map((one) => {
    const [, bracketed, plain = '', portText = query.get('port') ?? '5432'] =
      /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(decode(one)) ?? []
    const host = bracketed ?? plain
    const port = Number(portText)
    if (host === '' || !(port >= 1 && port <= 65_535)) {
      throw invalid(
        'must list the hosts as HOST or HOST:PORT (IPv6 in brackets), separated by commas',
      )
    }
    return { host, port }
  })
}

function parseInteger(
  query: Map<string, string>,
  name: string,
  fallback: number,
  { min, max }: { min: number; max: number },
): number {
  const text = query.get(name) ?? String(fallback)
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw invalid(`must have an integer from ${min} to ${max} as ${name}`)
  }
  return value
}

function parseOneOf<Name extends string>(
  query: Map<string, string>,
  name: string,
  values: readonly Name[],
  usual: Name,
): Name {
  const value = values.find((one) => one === (query.get(name) ?? usual))
  if (value === undefined) throw invalid(`must have one of ${values.join(', ')} as ${name}`)
  return value
}

function parseSwitch(query: Map<string, string>, name: string): boolean | undefined {
  const text = query.get(name)
  if (text === undefined) return undefined
  if (text !== 'on' && text !== 'off') throw invalid(`must have on or off as ${name}`)
  return text === 'on'
}

function parsePassword(
  secret: string[],
  query: Map<string, string>,
  names: [database: string, user: string],
): PostgresAddress['password'] {
  const [file, passfile] = [query.get('password_file'), query.get('passfile')]
  if (secret.length > 0) {
    const password = decode(secret.join(':'))
    return () => password
  }
  if (file !== undefined) return followParameter('password_file', () => readFirstLine(file))
  if (passfile === undefined) return () => undefined
  const read = followParameter('passfile', () => readBounded(passfile).toString('utf8'))
  return ({ host, port }) => findPassword(read(), [host, String(port), ...names])
}

/**
 * The password in the first line `HOST:PORT:DATABASE:USER:PASSWORD` that matches, where `*` matches
 * everything and `\\` escapes `:` and itself (PostgreSQL 18, section 34.16).
 */
function findPassword(passfile: string, wanted: string[]): string | undefined {
  for (const line of passfile.split(/\r?\n/)) {
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field)
    const [found, pattern] = [fields[4], fields.slice(0, 4)]
    const plain = (field: string) => field.replace(/\\(.)/g, '$1')
    const matches = pattern.every((field, at) => field === '*' || plain(field) === wanted[at])
    if (!line.startsWith('#') && found && matches) return plain(found)
  }
  return undefined
}

function parseTls(query: Map<string, string>): Pick<PostgresAddress, 'allowsPlaintext' | 'tls'> {
  const mode = parseOneOf(query, 'sslmode', sslModes, 'prefer')
  const root = query.get('sslrootcert')
  const files = tlsFiles(query)
  const effective = effectiveMode(mode, root)
  return {
    allowsPlaintext: mode === 'prefer',
    tls: (host) =>
      mode === 'disable'
        ? undefined
        : Object.defineProperties(verification(effective, host), Object.fromEntries(files)),
  }
}

/** Properties that read their file each time. */
function tlsFiles(query: Map<string, string>): [string, PropertyDescriptor][] {
  const options = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' }
  return Object.entries(options).flatMap(([parameter, option]) => {
    const file = query.get(parameter)
    if (file === undefined || (parameter === 'sslrootcert' && file === 'system')) return []
    const get = followParameter(parameter, () => readBounded(file).toString('utf8'))
    return [[option, { get, enumerable: true, configurable: true }]]
  })
}

/** `require` with a root certificate verifies the chain, as in libpq. */
function effectiveMode(mode: SslMode, root: string | undefined): SslMode {
  return mode === 'require' && root !== undefined ? 'verify-ca' : mode
}

function verification(mode: SslMode, host: string): ConnectionOptions {
  // An IP address must not be sent as server name (RFC 6066 section 3); `host` is still verified.
  const name = isIP(host) === 0 ? { servername: host } : { host }
  if (mode === 'verify-full') return { ...name, rejectUnauthorized: true }
  if (mode === 'verify-ca') {
    return { ...name, rejectUnauthorized: true, checkServerIdentity: () => undefined }
  }
  return { ...name, rejectUnauthorized: false }
}

function followParameter(parameter: string, read: () => string): () => string {
  return followFile(() => {
    try {
      const content = read()
      // An empty file is about to be written.
      if (content !== '') return content
    } catch {
      // The name of the parameter says more than the system's error.
    }
    throw invalid(`names a file that is empty or cannot be read as ${parameter}`)
  })
}

/** The files that the address names, by parameter. */
export function filesOfAddress(url: string): [parameter: string, file: string][] {
  const query = new URLSearchParams(url.replace(/^[^?]*/, ''))
  const names = ['passfile', 'password_file', 'sslrootcert', 'sslcert', 'sslkey']
  return [...query].filter(([name, file]) => names.includes(name) && file !== 'system')
}
