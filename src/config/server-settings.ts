import { isIPv6 } from 'node:net'
import { jwsAlgorithmNames } from '../contract/algorithms.ts'
import { didYouMean } from '../nearest.ts'
import { clientSettings } from './client-settings.ts'
import { type Environment, readSetting, type Setting, SettingError, setting } from './setting.ts'
import {
  apiKeySecret,
  certificates,
  choice,
  databaseUrl,
  fileWith,
  hostNames,
  httpUrl,
  integer,
  jwsAlgorithms,
  password,
  passwordFile,
  postgresUrl,
  proxies,
  proxyUrl,
  rate,
  seconds,
  text,
  withPasswords,
} from './values.ts'

const logLevel = choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')

/** Every setting of the server, with its name, default, range and help. */
export const settings = {
  host: setting('host', '127.0.0.1', text, 'Address to listen on.'),
  port: setting('port', '8080', integer(1, 65535), 'TCP port to listen on.'),
  publicUrl: setting(
    'public-url',
    undefined,
    httpUrl,
    'Public address of this service. Issuers begin with it. Default: http://HOST:PORT.',
  ),
  databaseUrl: setting(
    'database-url',
    'sqlite:./data/pubring.db',
    databaseUrl,
    'Database: sqlite:PATH, or postgres://USER@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full.',
  ),
  databaseReplicaUrl: setting(
    'database-replica-url',
    undefined,
    postgresUrl,
    'PostgreSQL standbys to read key sets from: postgres://….',
  ),
  databasePassword: {
    env: 'PUBRING_DATABASE_PASSWORD',
    default: undefined,
    help: 'Password of the PostgreSQL user, if the database URL has none (environment only). PGPASSWORD is read as well.',
    parse: password,
  } satisfies Setting<string>,
  databasePasswordFile: setting(
    'database-password-file',
    undefined,
    passwordFile,
    'File with the PostgreSQL password in its first line. It is read at each new connection.',
  ),
  adminApiKey: {
    env: 'PUBRING_ADMIN_API_KEY',
    default: undefined,
    help: 'Admin API key to register at startup (environment only: command lines are public).',
    parse: apiKeySecret,
  } satisfies Setting<string>,
  adminApiKeyFile: setting(
    'admin-api-key-file',
    undefined,
    fileWith(apiKeySecret),
    'File with that admin API key in its first line. SIGHUP re-reads it.',
  ),
  algorithms: setting(
    'algorithms',
    jwsAlgorithmNames.join(','),
    jwsAlgorithms,
    'Algorithms of keys that may be registered. The discovery documents list them: some verifiers read these only once and reject every other algorithm until they restart.',
  ),
  jwksMaxAge: setting(
    'jwks-max-age',
    '60s',
    seconds(0, 86_400),
    'How long verifiers may cache a key set (max-age of the JWKS).',
  ),
  jwksStaleLimit: setting(
    'jwks-stale-limit',
    '10m',
    seconds(0, 86_400),
    'How long key sets are served from memory while the database is unavailable.',
  ),
  maxHeldRequests: setting(
    'max-held-requests',
    '10000',
    integer(0, 1_000_000),
    'Maximum number of held requests for key sets (Prefer: wait), per process. Further ones are answered immediately.',
  ),
  heldRequestShare: setting(
    'held-request-share',
    '50',
    integer(1, 100),
    'Percent of the held requests that one client address may have. 100: no shares.',
  ),
  maxEventStreams: setting(
    'max-event-streams',
    '1000',
    integer(0, 100_000),
    'Maximum number of open event streams, per process.',
  ),
  eventStreamShare: setting(
    'event-stream-share',
    '25',
    integer(1, 100),
    'Percent of the event streams that one API key, or one project, may have. 100: no shares.',
  ),
  maxKeysPerProject: setting(
    'max-keys-per-project',
    '50',
    integer(1, 10_000),
    'Maximum number of keys per project, active or not.',
  ),
  maxJwksBytes: setting(
    'max-jwks-bytes',
    '51200',
    integer(1_024, 16_777_216),
    'Maximum size of a key set, jwks-full.json included. Some verifiers read no more than 51200 bytes.',
  ),
  maxBodyBytes: setting(
    'max-body-bytes',
    '65536',
    integer(16_384, 1_048_576),
    'Maximum size of a request body.',
  ),
  maxPemLength: setting(
    'max-pem-length',
    '16384',
    integer(4_096, 65_536),
    'Maximum length of a submitted key. The largest valid key has 3595 characters.',
  ),
  maxPageSize: setting(
    'max-page-size',
    '200',
    integer(200, 10_000),
    'Maximum number of entries per page of a list (limit). Clients rely on 200.',
  ),
  maxImportKeys: setting(
    'max-import-keys',
    '1000',
    integer(1, 10_000),
    'Maximum number of keys per import (POST …/key-imports).',
  ),
  maxImportBytes: setting(
    'max-import-bytes',
    '4194304',
    integer(16_384, 67_108_864),
    'Maximum size of an import body.',
  ),
  workers: setting(
    'workers',
    '1',
    integer(1, 128),
    'Processes that serve the port. Limits counted in memory apply to each of them.',
  ),
  metricsPort: setting(
    'metrics-port',
    undefined,
    integer(1, 65535),
    'TCP port of the Prometheus metrics (/metrics). Default: none.',
  ),
  metricsHost: setting('metrics-host', '127.0.0.1', text, 'Address to serve the metrics on.'),
  blocklist: setting(
    'blocklist',
    undefined,
    text,
    'File of compromised keys (sorted 16-byte records, as published by badkeys). SIGHUP re-reads it.',
  ),
  intakeThreads: setting(
    'intake-threads',
    undefined,
    integer(1, 256),
    'Threads that examine keys. Default: the number of processors minus one, at least one.',
  ),
  intakeQueue: setting(
    'intake-queue',
    '128',
    integer(1, 100_000),
    'Maximum number of keys that wait to be examined, half of them for one API key, which then gets 429. When it is full, the API key with the most gets 503.',
  ),
  trustProxy: setting(
    'trust-proxy',
    'false',
    proxies,
    'Proxies whose X-Forwarded-For is trusted: false, their addresses and networks, or true if only one proxy can connect.',
  ),
  rateLimit: setting(
    'rate-limit',
    'off',
    rate,
    'Requests per API key on each replica: 600 (per minute), 10/s, 20000/h, or off.',
  ),
  publicRateLimit: setting(
    'public-rate-limit',
    'off',
    rate,
    'Requests without an API key (key sets, documentation) per client address.',
  ),
  writeLimit: setting(
    'write-limit',
    'off',
    rate,
    'Changes per API key on each replica; an import counts as one for each key.',
  ),
  authFailureLimit: setting(
    'auth-failure-limit',
    '120',
    rate,
    'Requests with an invalid API key per client address; further ones get 429 instead of 401. Valid API keys are not affected.',
  ),
  outboundAllow: setting(
    'outbound-allow',
    '',
    hostNames,
    'Hosts that may have private addresses when this server fetches from them, such as an issuer in your network: names separated by commas. Behind a proxy, the only hosts it fetches from.',
  ),
  outboundProxy: {
    env: 'PUBRING_OUTBOUND_PROXY',
    default: undefined,
    help: 'Proxy for requests to other servers: http://USER:PASSWORD@HOST:PORT (environment only: command lines are public).',
    parse: proxyUrl,
  } satisfies Setting<string>,
  outboundCaFile: setting(
    'outbound-ca-file',
    undefined,
    certificates,
    'File with certificates (PEM) of authorities to trust in requests to other servers, besides those of the system.',
  ),
  overloadLag: setting(
    'overload-lag',
    '500',
    integer(0, 60_000),
    'Event loop delay in milliseconds at which requests get 503 instead of a slow response. 0: never.',
  ),
  logLevel: setting('log-level', 'info', logLevel, 'Lowest level to log.'),
  logLevelFile: setting(
    'log-level-file',
    undefined,
    fileWith(logLevel),
    'File with the log level in its first line, instead of the log level above. SIGHUP re-reads it.',
  ),
  shutdownGrace: setting(
    'shutdown-grace',
    '10s',
    seconds(1, 600),
    'Time for requests in progress to finish at shutdown.',
  ),
}

type Settings = typeof settings
type SettingName = keyof Settings
type Values = { [Name in SettingName]: ReturnType<Settings[Name]['parse']> }

/** The whole configuration, frozen; durations in seconds, sizes in bytes. */
export type Config = Readonly<
  Omit<Values, Optional | FileOrSecret> & Partial<Pick<Values, Optional>>
>

/** Settings whose values are in others: the database's URLs, the admin API key and the log level. */
type FileOrSecret = 'databasePassword' | 'databasePasswordFile' | 'adminApiKeyFile' | 'logLevelFile'

/** Settings that may have no value. */
type Optional =
  | 'adminApiKey'
  | 'databaseReplicaUrl'
  | 'blocklist'
  | 'intakeThreads'
  | 'metricsPort'
  | 'outboundCaFile'
  | 'outboundProxy'

/** Throws a SettingError for a `PUBRING_*` variable that neither the server nor the client has. */
export function rejectUnknownVariables(env: Environment): void {
  const known: string[] = [...Object.values(settings), ...Object.values(clientSettings)].map(
    ({ env }) => env,
  )
  const unknown = Object.keys(env).find((name) => /^PUBRING_/.test(name) && !known.includes(name))
  if (unknown === undefined) return
  throw new SettingError(`${unknown} is not a known variable${didYouMean(unknown, known)}`)
}

/**
 * Reads the flags and the environment; flags take precedence. Throws a SettingError for an invalid
 * value or an unknown `PUBRING_*` variable.
 */
export function loadConfig(
  env: Environment,
  flags: Readonly<Record<string, string | undefined>> = {},
): Config {
  rejectUnknownVariables(env)
  const entries = Object.entries<Setting<unknown>>(settings)
    .map(([name, one]) => [name, readSetting(one, env, flags[name])])
    .filter(([, value]) => value !== undefined)
  const values: Partial<Values> = Object.fromEntries(entries)
  const { host = '', port, adminApiKeyFile, logLevelFile } = values
  const publicUrl = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
  return Object.freeze({
    publicUrl,
    ...values,
    ...withPasswords(values, env.PGPASSWORD),
    ...(adminApiKeyFile === undefined ? {} : { adminApiKey: adminApiKeyFile }),
    ...(logLevelFile === undefined ? {} : { logLevel: logLevelFile }),
  }) as Config
}
