import { isIPv6 } from 'node:net'
import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import type { OidcConfig } from '../kernel/context.ts'
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
  hostAndPort,
  hostNames,
  httpUrl,
  integer,
  issuerUrl,
  jwsAlgorithms,
  origins,
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
  withPasswordFiles,
  witnesses,
} from './values.ts'

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
  maxKeysPerProject: setting(
    integer(1, 10_000),
    'Maximum number of keys per project, active or not. A key that has been expired for a day does not count.',
    '50',
  ),
  maxJwksBytes: setting(
    integer(1_024, 16_777_216),
    'Maximum size of a key set, jwks-full.json included. Some verifiers read no more than 51200 bytes.',
    '51200',
  ),
  metricsPort: setting(
    hostAndPort,
    'Port of the Prometheus metrics (/metrics), as PORT or HOST:PORT; without a host it listens on 127.0.0.1. Default: none.',
  ),
  blocklist: setting(
    text,
    'File of compromised keys (sorted 16-byte records, as published by badkeys). SIGHUP re-reads it.',
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
    'Changes per API key or person on each replica; an import counts as one for each key. Signing in and ending sessions are not counted.',
    'off',
  ),
  authFailureLimit: setting(
    rate,
    'Requests with an invalid API key per client address, and sign-ins and logout tokens that are refused; further ones get 429. Valid API keys are not affected.',
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
  sessionLifetime: setting(
    seconds(300, 43_200),
    'Time after which every session of the console ends.',
    '12h',
  ),
  returnOrigins: setting(
    origins,
    'Origins of the pages to which registration links may lead back (returnUrl), separated by commas: https://platform.example.com.',
    '',
  ),
  logKeyFile: setting(
    text,
    'File with the Ed25519 private key (PEM) that signs the checkpoints of the log. Default: beside an SQLite database, where the first start creates it; none for PostgreSQL.',
  ),
  logStateFile: setting(
    text,
    'File in which the server stores the last signed checkpoints of the log before it publishes them, in a folder that it can write to. Default: beside the key of the log.',
  ),
  logWitnesses: setting(
    witnesses,
    'Witnesses that cosign the checkpoints of the log: the verifier key of each, then its https address (C2SP tlog-witness), separated by spaces or commas.',
    '',
  ),
  logLevel: setting(
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'Lowest level to log.',
    'info',
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
  Omit<Values, Optional | FileSetting | OidcSetting> &
    Partial<Pick<Values, Optional>> & { oidc?: OidcConfig | undefined }
>

/** Settings whose values are in others: the database's URLs and the admin API key. */
type FileSetting = 'databasePasswordFile' | 'adminApiKeyFile'

type OidcSetting = Extract<SettingName, `oidc${string}`>

/** Settings that may have no value. */
type Optional =
  | 'adminApiKey'
  | 'databaseReplicaUrl'
  | 'blocklist'
  | 'logKeyFile'
  | 'logStateFile'
  | 'metricsPort'
  | 'outboundCaFile'
  | 'outboundProxy'

/**
 * Throws a SettingError for a `PUBRING_*` variable that neither the server nor the client has, and for
 * one that Kubernetes or Docker changed.
 */
export function rejectUnknownVariables(env: Environment): void {
  const link = Object.entries(env).find(
    ([name, value = '']) =>
      /^PUBRING_(?:SERVICE_(?:HOST|PORT)|PORT_\d)/.test(name) ||
      (name === 'PUBRING_PORT' && /^\w+:\/\//.test(value)),
  )
  if (link !== undefined) {
    throw new SettingError(
      `${link[0]} is a link that Kubernetes sets for a Service called pubring. Set enableServiceLinks: false in the specification of the pod.`,
    )
  }
  const quoted = Object.entries(env).find(
    ([name, value = '']) =>
      /^PUBRING_(?!.*(?:SECRET|PASSWORD))/.test(name) &&
      /^(["'`]).*\1$|^[“‘].*[”’]$/s.test(value.trim()),
  )
  if (quoted !== undefined) {
    throw new SettingError(
      `${quoted[0]} has quotes around its value, which docker --env-file keeps: remove them.`,
    )
  }
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
  const { host = '', port, adminApiKeyFile } = values
  const publicUrl = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
  return Object.freeze({
    publicUrl,
    ...values,
    ...withPasswordFiles(values, env.PGPASSFILE),
    oidc: oidcConfig(values),
    ...present({ adminApiKey: adminApiKeyFile }),
  }) as Config
}

/** Undefined without an issuer. Throws a SettingError for settings that do not fit together. */
function oidcConfig(values: Partial<Values>): OidcConfig | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcPrivateKeyFile: privateKey } = values
  const { oidcScopes = '', oidcPrivateKeyId: privateKeyId } = values
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
  return { issuer, clientId, ...secrets, scopes: oidcScopes }
}
