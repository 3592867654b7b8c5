import { describeCause } from '../../../errors.ts'

/** Why a host cannot be used. */
export interface HostFailure {
  /** Its fault, the reason and the remedy, as the rest of a sentence that begins with the host. */
  text: string
  kind: Kind
}

/**
 * `settings`: the host rejects what the server brings, and waiting does not help. `address`: the name
 * may be wrong. `away`: it may come back by itself.
 */
type Kind = 'settings' | 'address' | 'away'

type Row = [kind: Kind, pattern: RegExp, does: string, advice: string]

/**
 * The first row decides whose pattern matches the code, the routine and the message of the error. The
 * messages of a server may be in its own language; those of pgbouncer have no SQLSTATE of their own.
 */
const hostFailures: Row[] = [
  ['settings', /^28P01|SASL/, 'rejects this user or password', 'correct them'],
  [
    'settings',
    /^28\w+ ClientAuthentication/,
    'does not admit this user from here to this database, with this sslmode',
    'correct the URL, or pg_hba.conf',
  ],
  [
    'settings',
    /^28|no such user/,
    'has no user of this name that may log in',
    'create it, or correct the name',
  ],
  [
    'settings',
    /^3D000|no such database|database .* does not exist/,
    'has no database of this name',
    'create it, or correct the name',
  ],
  [
    'settings',
    /^42501/,
    'denies its user a privilege that is needed',
    'grant it CONNECT on the database and CREATE in its schema',
  ],
  [
    'settings',
    /^ERR_TLS_CERT_ALTNAME_INVALID/,
    'has a certificate for another name',
    'use a name that is in it, or sslmode=verify-ca',
  ],
  ['settings', /^CERT_HAS_EXPIRED/, 'has a certificate that has expired', 'renew it'],
  [
    'settings',
    /SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY)/,
    'has a certificate of an authority that is not trusted',
    'name the authority in sslrootcert',
  ],
  ['settings', /^\S*(CERT|TLS|SSL)/, 'fails the TLS handshake', 'correct the TLS settings'],
  [
    'settings',
    /does not support SSL/,
    'has no TLS, which sslmode requires',
    'enable it, or use sslmode=prefer',
  ],
  [
    'settings',
    /offers no channel binding/,
    'has no TLS with SCRAM, which channel_binding=require needs',
    'enable them, or leave the parameter out',
  ],
  ['address', /^ENOTFOUND/, 'is a name without an address', 'correct the name, or the DNS'],
  [
    'address',
    /establishing an SSL connection/,
    'does not speak the protocol of PostgreSQL',
    'correct host and port',
  ],
  [
    'away',
    /^(ECONNREFUSED|ENOENT)/,
    'takes no connections',
    'start PostgreSQL there, or correct host and port',
  ],
  [
    'away',
    /^E(HOST|NET)UNREACH/,
    'cannot be reached from here',
    'correct the address, or the network',
  ],
  [
    'away',
    /^ETIMEDOUT|timeout/,
    'does not answer in time',
    'start its machine, or let a firewall pass the connection',
  ],
  ['away', /^57P03/, 'is starting, stopping or recovering', 'wait for it'],
  [
    'away',
    /^53300|no more connections allowed/,
    'has no free connection',
    'lower pool_size or raise max_connections',
  ],
]

/** The failure that an error of a connection to a host means. */
export function hostFailure(error: unknown): HostFailure {
  const { code, routine = '', message: outermost } = Object(error)
  if (code === '25006') return { kind: 'away', text: 'is a standby' }
  const message = outermost || describeCause(error) || 'no answer'
  const facts = `${code} ${routine} ${message}`
  const row = hostFailures.find(([, pattern]) => pattern.test(facts))
  if (row === undefined) return { kind: 'away', text: `fails (${message})` }
  const [kind, , does, advice] = row
  return { kind, text: `${does} (${message}): ${advice}` }
}

/** No host of the database can be used. The message says why not, for each. */
export class NoUsableHost extends Error {
  override readonly name = 'NoUsableHost'
  readonly failures: readonly HostFailure[]

  constructor(errors: readonly { host: string; error: unknown }[]) {
    const failures = errors.map(({ host, error }) => ({ host, ...hostFailure(error) }))
    super(failures.map(({ host, text }) => `${host} ${text}`).join('; '))
    this.failures = failures
  }
}
