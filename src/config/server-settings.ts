import { isIPv6 } from 'node:net'
import { jwsAlgorithmNames } from '../contract/algorithms.ts'
import type { OidcConfig } from '../core/context.ts'
import { didYouMean } from '../nearest.ts'
import { present } from '../runtime/present.ts'
import { clientSettings } from './client-settings.ts'
import {
  type Environment,
  environmentOnly,
  named,
  readSetting,
  type Setting,
  SettingError,
  setting,
} from './setting.ts'
import {
  apiKeySecret,
  certificates,
  choice,
  databaseUrl,
  fileWith,
  hostNames,
  httpUrl,
  integer,
  issuerUrl,
  jwsAlgorithms,
  password,
  passwordFile,
  postgresUrl,
  privateKey,
  proxies,
  proxyUrl,
  rate,
  scopes,
  seconds,
  text,
  withPasswords,
  witnesses,
} from './values.ts'

const logLevel = choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')

/** Every setting of the server, with its name, default, range and help. Long because it is a list. */
export const settings = named({
  host: setting(text, 'Address to listen on.', '127.0.0.1'),
  port: setting(integer(1, 65535), 'TCP port to listen on.', '8080'),
  publicUrl: setting(
    httpUrl,
    'Public address of this service. Issuers begin with it. Default: http://HOST:PORT.',
  ),
  databaseUrl: setting(
    databaseUrl,
    'Database: sqlite:PATH, or postgres://USER@HOST:PORT/DATABASE, also with several hosts (HOST:PORT,HOST:PORT) and ?sslmode=verify-full.',
    'sqlite:./data/pubring.db',
  ),
  databaseReplicaUrl: setting(
    postgresUrl,
    'PostgreSQL standbys to read key sets from: postgres://….',
  ),
  databasePassword: environmentOnly(
    password,
    'Password of the PostgreSQL user, if the database URL has none (environment only). PGPASSWORD is read as well.',
  ),
  databasePasswordFile: setting(
    passwordFile,
    'File with the PostgreSQL password in its first line. It is read at each new connection.',
  ),
  adminApiKey: environmentOnly(
    apiKeySecret,
    'Admin API key to register at startup (environment only: command lines are public).',
  ),
  adminApiKeyFile: setting(
    fileWith(apiKeySecret),
    'File with an admin API key to register, in its first line. SIGHUP re-reads it.',
  ),
  algorithms: setting(
    jwsAlgorithms,
    'Algorithms of keys that may be registered. The discovery documents list them: some verifiers read these only once and reject every other algorithm until they restart.',
    jwsAlgorithmNames.join(','),
  ),
  jwksMaxAge: setting(
    seconds(0, 86_400),
    'How long verifiers may cache a key set (max-age of the JWKS).',
    '60s',
  ),
  jwksStaleLimit: setting(
    seconds(0, 86_400),
    'How long key sets are served from memory while the database is unavailable.',
    '10m',
  ),
  maxHeldRequests: setting(
    integer(0, 1_000_000),
    'Maximum number of held requests for key sets (Prefer: wait), per process. Further ones are answered immediately.',
    '10000',
  ),
  heldRequestShare: setting(
    integer(1, 100),
    'Percent of the held requests that one client address may have. 100: no shares.',
    '50',
  ),
  maxEventStreams: setting(
    integer(0, 100_000),
    'Maximum number of open event streams, per process.',
    '1000',
  ),
  eventStreamShare: setting(
    integer(1, 100),
    'Percent of the event streams that one API key, or one project, may have. 100: no shares.',
    '25',
  ),
  maxKeysPerProject: setting(
    integer(1, 10_000),
    'Maximum number of keys per project, active or not.',
    '50',
  ),
  maxJwksBytes: setting(
    integer(1_024, 16_777_216),
    'Maximum size of a key set, jwks-full.json included. Some verifiers read no more than 51200 bytes.',
    '51200',
  ),
  maxBodyBytes: setting(integer(16_384, 1_048_576), 'Maximum size of a request body.', '65536'),
  maxPemLength: setting(
    integer(4_096, 65_536),
    'Maximum length of a submitted key. The largest valid key has 3595 characters.',
    '16384',
  ),
  maxPageSize: setting(
    integer(200, 10_000),
    'Maximum number of entries per page of a list (limit). Clients rely on 200.',
    '200',
  ),
  maxImportKeys: setting(
    integer(1, 10_000),
    'Maximum number of keys per import (POST …/key-imports).',
    '1000',
  ),
  maxImportBytes: setting(
    integer(16_384, 67_108_864),
    'Maximum size of an import body.',
    '4194304',
  ),
  metricsPort: setting(
    integer(1, 65535),
    'TCP port of the Prometheus metrics (/metrics). Default: none.',
  ),
  metricsHost: setting(text, 'Address to serve the metrics on.', '127.0.0.1'),
  blocklist: setting(
    text,
    'File of compromised keys (sorted 16-byte records, as published by badkeys). SIGHUP re-reads it.',
  ),
  intakeThreads: setting(
    integer(1, 256),
    'Threads that examine keys. Default: the number of processors minus one, at least one.',
  ),
  intakeQueue: setting(
    integer(1, 100_000),
    'Maximum number of keys that wait to be examined, half of them for one API key, which then gets 429. When it is full, the API key with the most gets 503.',
    '128',
  ),
  trustProxy: setting(
    proxies,
    'Proxies whose X-Forwarded-For is trusted: false, their addresses and networks, or true if only one proxy can connect.',
    'false',
  ),
  rateLimit: setting(
    rate,
    'Requests per API key on each replica: 600 (per minute), 10/s, 20000/h, or off.',
    'off',
  ),
  publicRateLimit: setting(
    rate,
    'Requests without an API key (key sets, documentation) per client address.',
    'off',
  ),
  writeLimit: setting(
    rate,
    'Changes per API key on each replica; an import counts as one for each key.',
    'off',
  ),
  authFailureLimit: setting(
    rate,
    'Requests with an invalid API key per client address; further ones get 429 instead of 401. Valid API keys are not affected.',
    '120',
  ),
  outboundAllow: setting(
    hostNames,
    'Hosts that may have private addresses when this server fetches from them, such as an issuer in your network: names separated by commas. Behind a proxy, the only hosts it fetches from.',
    '',
  ),
  outboundProxy: environmentOnly(
    proxyUrl,
    'Proxy for requests to other servers: http://USER:PASSWORD@HOST:PORT (environment only: command lines are public).',
  ),
  outboundCaFile: setting(
    certificates,
    'File with certificates (PEM) of authorities to trust in requests to other servers, besides those of the system.',
  ),
  oidcIssuer: setting(
    issuerUrl,
    'OpenID provider at which people sign in: its issuer, exactly as the provider states it.',
  ),
  oidcClientId: setting(text, 'Client id of Pubring at the OpenID provider.'),
  oidcClientSecret: environmentOnly(
    password,
    'Client secret at the OpenID provider (environment only: command lines are public).',
  ),
  oidcClientSecretFile: setting(
    fileWith(password),
    'File with the client secret in its first line. SIGHUP re-reads it.',
  ),
  oidcPrivateKeyFile: setting(
    privateKey,
    'File with the private key (PEM) by which Pubring authenticates to the OpenID provider, instead of a client secret (private_key_jwt). SIGHUP re-reads it.',
  ),
  oidcPrivateKeyId: setting(text, 'Key id (kid) by which the OpenID provider knows that key.'),
  oidcScopes: setting(scopes, 'Scopes to request of the OpenID provider.', 'openid profile email'),
  oidcButtonText: setting(text, 'Text of the button to sign in with it.', 'Sign in'),
  sessionIdleTimeout: setting(
    seconds(300, 43_200),
    'Time after which an unused session of the console ends.',
    '30m',
  ),
  sessionLifetime: setting(
    seconds(300, 43_200),
    'Time after which every session of the console ends.',
    '12h',
  ),
  recentSignIn: setting(
    seconds(60, 43_200),
    'How long after a sign-in people may do what needs a recent one, such as deleting a project.',
    '15m',
  ),
  exchangeLimit: setting(
    rate,
    'Token exchanges per client address, and per trust policy, on each replica.',
    '600',
  ),
  overloadLag: setting(
    integer(0, 60_000),
    'Event loop delay in milliseconds at which requests get 503 instead of a slow response. 0: never.',
    '500',
  ),
  logKeyFile: setting(
    text,
    'File with the Ed25519 private key (PEM) that signs the checkpoints of the log. Default: beside an SQLite database, where the first start creates it; none for PostgreSQL.',
  ),
  logInterval: setting(
    seconds(1, 86_400),
    'Time between checkpoints of the log, if there are changes.',
    '60s',
  ),
  logWitnesses: setting(
    witnesses,
    'Witnesses that cosign the checkpoints of the log: the verifier key of each, then its https address (C2SP tlog-witness), separated by spaces or commas.',
    '',
  ),
  logLevel: setting(logLevel, 'Lowest level to log.', 'info'),
  logLevelFile: setting(
    fileWith(logLevel),
    'File with the log level in its first line, instead of PUBRING_LOG_LEVEL. SIGHUP re-reads it.',
  ),
  shutdownGrace: setting(
    seconds(1, 600),
    'Time for requests in progress to finish at shutdown.',
    '10s',
  ),
})

type Settings = typeof settings
type SettingName = keyof Settings
type Values = { [Name in SettingName]: ReturnType<Settings[Name]['parse']> }

/** The whole configuration, frozen; durations in seconds, sizes in bytes. */
export type Config = Readonly<
  Omit<Values, Optional | FileOrSecret | OidcSetting> &
    Partial<Pick<Values, Optional>> & { oidc?: OidcConfig | undefined }
>

/** Settings whose values are in others: the database's URLs, the admin API key and the log level. */
type FileOrSecret = 'databasePassword' | 'databasePasswordFile' | 'adminApiKeyFile' | 'logLevelFile'

type OidcSetting = Extract<SettingName, `oidc${string}`>

/** Settings that may have no value. */
type Optional =
  | 'adminApiKey'
  | 'databaseReplicaUrl'
  | 'blocklist'
  | 'intakeThreads'
  | 'logKeyFile'
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
    oidc: oidcConfig(values),
    ...present({ adminApiKey: adminApiKeyFile, logLevel: logLevelFile }),
  }) as Config
}

/** Undefined without an issuer. Throws a SettingError for settings that do not fit together. */
function oidcConfig(values: Partial<Values>): OidcConfig | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcPrivateKeyFile: privateKey } = values
  const { oidcScopes = '', oidcButtonText = '', oidcPrivateKeyId: privateKeyId } = values
  const clientSecret = values.oidcClientSecretFile ?? values.oidcClientSecret
  if (issuer === undefined || clientId === undefined) {
    const isAlone = [issuer, clientId, clientSecret, privateKey].some((one) => one !== undefined)
    if (!isAlone) return undefined
    throw new SettingError('PUBRING_OIDC_ISSUER and PUBRING_OIDC_CLIENT_ID need each other.')
  }
  if (clientSecret !== undefined && privateKey !== undefined) {
    throw new SettingError(
      'PUBRING_OIDC_CLIENT_SECRET and PUBRING_OIDC_PRIVATE_KEY_FILE exclude each other.',
    )
  }
  const secrets = { clientSecret, privateKey, privateKeyId }
  return { issuer, clientId, ...secrets, scopes: oidcScopes, buttonText: oidcButtonText }
}
