import { isIPv6 } from 'node:net'
import { clientVariables } from './client-settings.ts'
import {
  type Environment,
  readSetting,
  rejectUnknownVariables,
  type Setting,
  setting,
} from './setting.ts'
import {
  apiKeySecret,
  choice,
  databaseUrl,
  httpUrl,
  integer,
  password,
  passwordFile,
  postgresUrl,
  proxies,
  rate,
  seconds,
  text,
  withPasswords,
} from './values.ts'

/** Every setting of the server: the one place that says its name, default, range and purpose. */
export const settings = {
  host: setting('host', '127.0.0.1', text, 'Address to listen on.'),
  port: setting('port', '8080', integer(1, 65535), 'TCP port to listen on.'),
  publicUrl: setting(
    'public-url',
    undefined,
    httpUrl,
    'Address under which verifiers reach this service; issuers begin with it. Default: http://HOST:PORT.',
  ),
  databaseUrl: setting(
    'database-url',
    'sqlite:./data/pubring.db',
    databaseUrl,
    'Where everything is kept: sqlite:PATH, or postgres://USER@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full.',
  ),
  databaseReplicaUrl: setting(
    'database-replica-url',
    undefined,
    postgresUrl,
    'PostgreSQL servers that follow the primary, to read key sets from: postgres://….',
  ),
  databasePassword: {
    env: 'PUBRING_DATABASE_PASSWORD',
    default: undefined,
    help: 'Password of the PostgreSQL user, where the address has none (environment only). PGPASSWORD counts too.',
    read: password,
  } satisfies Setting<string>,
  databasePasswordFile: setting(
    'database-password-file',
    undefined,
    passwordFile,
    'File whose first line is that password.',
  ),
  adminApiKey: {
    env: 'PUBRING_ADMIN_API_KEY',
    default: undefined,
    help: 'An admin API key to register at start (environment only: command lines are public).',
    read: apiKeySecret,
  } satisfies Setting<string>,
  jwksMaxAge: setting(
    'jwks-max-age',
    '60s',
    seconds(0, 86_400),
    'How long verifiers may keep a key set (max-age of the JWKS).',
  ),
  jwksStaleLimit: setting(
    'jwks-stale-limit',
    '10m',
    seconds(0, 86_400),
    'How long the last good key sets are served while the database is away.',
  ),
  maxHeldRequests: setting(
    'max-held-requests',
    '10000',
    integer(0, 1_000_000),
    'Requests for key sets that may wait for news (Prefer: wait) at the same time, per process; beyond it they are answered at once.',
  ),
  maxEventStreams: setting(
    'max-event-streams',
    '1000',
    integer(0, 100_000),
    'Event streams that may be open at the same time, per process.',
  ),
  maxKeysPerProject: setting(
    'max-keys-per-project',
    '50',
    integer(1, 10_000),
    'Keys that a project may have, active or not.',
  ),
  maxJwksBytes: setting(
    'max-jwks-bytes',
    '51200',
    integer(1_024, 16_777_216),
    'Size that the key set of a project may reach; some verifiers read no more than 51200 bytes.',
  ),
  maxBodyBytes: setting(
    'max-body-bytes',
    '65536',
    integer(16_384, 1_048_576),
    'Size that the body of a request may have.',
  ),
  maxPemLength: setting(
    'max-pem-length',
    '16384',
    integer(4_096, 65_536),
    'Characters that the text of one key may have; the largest legal key has 3595.',
  ),
  maxPageSize: setting(
    'max-page-size',
    '200',
    integer(200, 10_000),
    'Entries that one page of a list may have (limit); clients count on 200.',
  ),
  maxImportKeys: setting(
    'max-import-keys',
    '1000',
    integer(1, 10_000),
    'Keys that one import (POST …/key-imports) may bring.',
  ),
  maxImportBytes: setting(
    'max-import-bytes',
    '4194304',
    integer(16_384, 67_108_864),
    'Size that the body of an import may have.',
  ),
  workers: setting(
    'workers',
    '1',
    integer(1, 128),
    'Processes that serve on the one port; limits that are counted in memory hold for each of them.',
  ),
  metricsPort: setting(
    'metrics-port',
    undefined,
    integer(1, 65535),
    'TCP port on which Prometheus finds /metrics. Default: none.',
  ),
  metricsHost: setting('metrics-host', '127.0.0.1', text, 'Address of the metrics port.'),
  blocklist: setting(
    'blocklist',
    undefined,
    text,
    'File of compromised keys (sorted 16-byte records, as badkeys publishes them).',
  ),
  intakeThreads: setting(
    'intake-threads',
    undefined,
    integer(1, 256),
    'Threads that examine keys. Default: one less than the machine has processors, at least one.',
  ),
  intakeQueue: setting(
    'intake-queue',
    '128',
    integer(1, 100_000),
    'Keys that may wait to be examined; beyond it registrations and checks are answered 503.',
  ),
  trustProxy: setting(
    'trust-proxy',
    'false',
    proxies,
    'Whose X-Forwarded-For is believed: false, addresses and networks of proxies, or true where nothing but one proxy can connect.',
  ),
  rateLimit: setting(
    'rate-limit',
    'off',
    rate,
    'Requests that one API key may make, on each replica: 600 (a minute), 10/s, 20000/h, or off.',
  ),
  publicRateLimit: setting(
    'public-rate-limit',
    'off',
    rate,
    'The same without an API key (key sets, documentation), for each client address.',
  ),
  overloadLag: setting(
    'overload-lag',
    '500',
    integer(0, 60_000),
    'Milliseconds by which the process may lag before it answers 503 instead of slowly; 0: never.',
  ),
  logLevel: setting(
    'log-level',
    'info',
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'The least level that is logged.',
  ),
  shutdownGrace: setting(
    'shutdown-grace',
    '10s',
    seconds(1, 600),
    'Time that requests under way get to finish at shutdown.',
  ),
}

type Settings = typeof settings
type SettingName = keyof Settings
type Read = { [Name in SettingName]: ReturnType<Settings[Name]['read']> }

/** The whole configuration, frozen; durations in seconds, sizes in bytes. */
export type Config = Readonly<
  Omit<Read, Optional | 'databasePassword' | 'databasePasswordFile'> & Partial<Pick<Read, Optional>>
>

/** Settings that may have no value. */
type Optional = 'adminApiKey' | 'databaseReplicaUrl' | 'blocklist' | 'intakeThreads' | 'metricsPort'

/**
 * Throws a SettingError where there is a `PUBRING_*` variable that neither the server nor the command
 * line client knows.
 */
export function rejectUnknownServerVariables(env: Environment): void {
  const known = Object.values(settings).map((one) => one.env)
  rejectUnknownVariables(env, [...known, ...clientVariables])
}

/**
 * Reads the environment and the flags, flags first. Throws a SettingError with one line for a person
 * where a value is bad or a `PUBRING_*` variable is not known.
 */
export function loadConfig(
  env: Environment,
  flags: Readonly<Record<string, string | undefined>> = {},
): Config {
  rejectUnknownServerVariables(env)
  const read = <Name extends SettingName>(name: Name): Read[Name] | undefined => {
    const one: Setting<unknown> = settings[name]
    return readSetting(one, env, flags[name]) as Read[Name] | undefined
  }
  const host = read('host') as string
  const port = read('port') as number
  const named = Object.keys(settings) as SettingName[]
  const values: Partial<Read> = Object.fromEntries(
    named.map((name) => [name, read(name)]).filter(([, value]) => value !== undefined),
  )
  const publicUrl = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
  return Object.freeze({ publicUrl, ...values, ...withPasswords(values, env.PGPASSWORD) }) as Config
}
