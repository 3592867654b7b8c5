import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'

/** A server to try: a name, an address, or the folder of a Unix socket. */
export interface PostgresHost {
  host: string
  port: number
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type SslMode = (typeof sslModes)[number]

/** All that `postgres://…` says, read once. */
export interface PostgresAddress {
  hosts: PostgresHost[]
  user: string
  password: string | undefined
  database: string
  applicationName: string
  /** Connections that one process opens at most. */
  poolSize: number
  /** Whether statements are prepared by name: quicker, and not for every pooler. */
  prepared: boolean
  /** Milliseconds. */
  connectTimeout: number
  statementTimeout: number
  /** Whether a server that has no TLS is spoken to without. */
  plainAllowed: boolean
  /** What TLS asks of this host; undefined: no TLS. */
  tls(host: string): ConnectionOptions | undefined
}

const parameters = [
  'application_name',
  'connect_timeout',
  'host',
  'pool_size',
  'port',
  'prepared',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'statement_timeout',
]

/** The form of libpq's URIs: `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE`. */
const form = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/

/**
 * Reads a `postgres://` address; the parameters are those of libpq (PostgreSQL 18, section 34.1.2)
 * and `pool_size`, `prepared`, `statement_timeout` (milliseconds). Throws an Error with one line for
 * a person, without any part of the address that may be a password.
 */
export function parsePostgresAddress(url: string): PostgresAddress {
  const match = form.exec(url)
  if (match === null) {
    throw wrong(
      'must look like postgres://USER@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full; in user and password write @ as %40, / as %2F, ? as %3F, # as %23',
    )
  }
  const [, credentials = '', authority = '', path = '', search = ''] = match
  const [name = '', ...secret] = credentials.split(':')
  const query = readParameters(search)
  const user = decoded(name) || 'postgres'
  return {
    hosts: readHosts(authority, query),
    user,
    password: secret.length === 0 ? undefined : decoded(secret.join(':')),
    database: decoded(path) || user,
    applicationName: query.get('application_name') ?? 'pubring',
    poolSize: number(query, 'pool_size', 10, { least: 2, most: 1_000 }),
    prepared: readSwitch(query, 'prepared'),
    connectTimeout: 1_000 * number(query, 'connect_timeout', 2, { least: 1, most: 60 }),
    statementTimeout: number(query, 'statement_timeout', 2_000, { least: 100, most: 60_000 }),
    ...readTls(query),
  }
}

function wrong(complaint: string): Error {
  return new Error(`The address of the database ${complaint}.`)
}

function readParameters(search: string): Map<string, string> {
  const query = new Map(new URLSearchParams(search))
  for (const key of query.keys()) {
    if (!parameters.includes(key)) {
      throw wrong(`has a parameter that is not one of ${parameters.join(', ')}`)
    }
  }
  return query
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong('has a % that begins no character; write % itself as %25')
  }
}

function readHosts(authority: string, query: Map<string, string>): PostgresHost[] {
  const listed = query.get('host') ?? authority
  const ports = query.get('port')
  return listed.split(',').map((one) => {
    const text = decoded(one)
    const [, bracketed, plain = '', port] =
      /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text) ?? []
    const host = bracketed ?? plain
    const chosen = Number(port ?? ports ?? 5432)
    if (host === '' || !(chosen >= 1 && chosen <= 65_535)) {
      throw wrong(
        'must name each host as HOST or HOST:PORT (IPv6 in brackets), commas between them',
      )
    }
    return { host, port: chosen }
  })
}

function number(
  query: Map<string, string>,
  name: string,
  preset: number,
  { least, most }: { least: number; most: number },
): number {
  const text = query.get(name) ?? String(preset)
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) {
    throw wrong(`must have a whole number from ${least} to ${most} as ${name}`)
  }
  return value
}

function readSwitch(query: Map<string, string>, name: string): boolean {
  const text = query.get(name) ?? 'off'
  if (text !== 'on' && text !== 'off') throw wrong(`must have on or off as ${name}`)
  return text === 'on'
}

function readTls(query: Map<string, string>): Pick<PostgresAddress, 'plainAllowed' | 'tls'> {
  const mode = sslModes.find((one) => one === (query.get('sslmode') ?? 'prefer'))
  if (mode === undefined) throw wrong(`must have one of ${sslModes.join(', ')} as sslmode`)
  const root = query.get('sslrootcert')
  const ca = root === undefined || root === 'system' ? {} : { ca: readPem(root, 'sslrootcert') }
  const [cert, key] = [query.get('sslcert'), query.get('sslkey')]
  const own = {
    ...(cert === undefined ? {} : { cert: readPem(cert, 'sslcert') }),
    ...(key === undefined ? {} : { key: readPem(key, 'sslkey') }),
  }
  const verified = effectiveMode(mode, root)
  return {
    plainAllowed: mode === 'prefer',
    tls: (host) =>
      mode === 'disable' ? undefined : { ...ca, ...own, ...identity(verified, host) },
  }
}

/** `require` with a root certificate checks it, as libpq does. */
function effectiveMode(mode: SslMode, root: string | undefined): SslMode {
  return mode === 'require' && root !== undefined ? 'verify-ca' : mode
}

function identity(mode: SslMode, host: string): ConnectionOptions {
  // An IP address is no server name (RFC 6066 section 3), and is compared with the certificate's.
  const named = isIP(host) === 0 ? { servername: host } : { host }
  if (mode === 'verify-full') return { ...named, rejectUnauthorized: true }
  if (mode === 'verify-ca') {
    return { ...named, rejectUnauthorized: true, checkServerIdentity: () => undefined }
  }
  return { ...named, rejectUnauthorized: false }
}

function readPem(file: string, parameter: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw wrong(`names a file as ${parameter} that cannot be read`)
  }
}
