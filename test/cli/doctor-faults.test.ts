import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { startHttpsServer } from '../support/network/https-server.ts'
import { jwkOf } from '../support/network/issuer.ts'
import { freePort } from '../support/server/process.ts'
import { createDatabase } from '../support/store/database.ts'
import { documentOf, failed, openShell, passed, warned } from './support.ts'

const shell = openShell(() => ({}))
const { folder, file } = shell

/** A whole database, copied for each fault. */
const whole = (await createDatabase('sqlite')).url.replace('sqlite:', '')

/** A copy of the whole database in a folder of its own, altered; its settings. */
function broken(name: string, alter: (file: string) => void): Record<string, string> {
  mkdirSync(join(folder, name))
  const path = join(folder, name, 'pubring.db')
  copyFileSync(whole, path)
  alter(path)
  return { PUBRING_DATABASE_URL: `sqlite:${path}` }
}

function overwrite(path: string, offset: number, text: string): void {
  const bytes = readFileSync(path)
  bytes.write(text, offset, 'latin1')
  writeFileSync(path, bytes)
}

const taken = createServer().listen(0, '127.0.0.1')
await once(taken, 'listening')
taken.unref()
const takenPort = String(Object(taken.address()).port)
const unused = String(await freePort())

/** Answers of the provider by path. A code that it does not know shows that it knows the client. */
const provider = await startHttpsServer(['localhost'], (request, response) => {
  const [path = ''] = (request.url ?? '').split('?')
  const { status = 200, headers = {}, ...body } = answers[path] ?? { status: 404 }
  response.writeHead(Number(status), { 'content-type': 'application/json', ...Object(headers) })
  response.end(JSON.stringify(body))
})
const issuer = provider.urlOf('localhost')
const discovery = {
  issuer,
  jwks_uri: `${issuer}/jwks`,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
}
const discoveryPath = '/.well-known/openid-configuration'
const wholeProvider: Record<string, Record<string, unknown>> = {
  [discoveryPath]: discovery,
  '/jwks': { keys: [jwkOf(ecKey().privateKey, { kid: 'k' })] },
  '/authorize': {},
  '/token': { status: 400, error: 'invalid_grant' },
}
let answers = wholeProvider
/** The provider with other answers. */
const answering = (others: typeof answers) => () => {
  answers = { ...wholeProvider, ...others }
}
const oidc = {
  PUBRING_OIDC_ISSUER: issuer,
  PUBRING_OIDC_CLIENT_ID: 'pubring',
  PUBRING_OUTBOUND_CA_FILE: file('ca.pem', provider.ca),
}
const { PUBRING_OUTBOUND_CA_FILE: _ca, ...withoutCa } = oidc
const allowed = { ...oidc, PUBRING_OUTBOUND_ALLOW: 'localhost' }

const readable = file('readable.key', 'a secret')
chmodSync(readable, 0o644)

const signing = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' })
const logKey = file('log.key', String(signing))

type Situation = [
  situation: string,
  env: Record<string, string>,
  expected: ReturnType<typeof failed>,
  during?: () => void,
]

const redirecting = (location: string) => ({
  '/authorize': { status: 302, headers: { location, 'set-cookie': 'a=b' } },
})
const at = (path: string) => ({ [discoveryPath]: { ...discovery, authorization_endpoint: path } })
const secret = { ...allowed, PUBRING_OIDC_CLIENT_SECRET: 'secret' }
const scopes = { ...allowed, PUBRING_OIDC_SCOPES: 'openid groups' }
const gone = `sqlite:${file('gone.db-wal', 'x').replace(/-wal$/, '')}`
const elsewhere = `postgres://p@127.0.0.1:${unused}/p?sslkey=${readable}`
const inProvider = (sentence: RegExp) => failed('OpenID provider', sentence)

/** Faults, each with the step that finds it and the sentence that says what to do. */
const situations: Situation[] = [
  [
    'a setting is no number',
    { PUBRING_PORT: 'many' },
    failed('settings', /^PUBRING_PORT must be a whole number from 1 to 65535/),
  ],
  [
    'a variable is misspelt',
    { PUBRING_PUBLICURL: 'https://keys.example.com' },
    failed('settings', /^PUBRING_PUBLICURL is not a known.* did you mean PUBRING_PUBLIC_URL/),
  ],
  [
    'a file of a setting is missing',
    { PUBRING_ADMIN_API_KEY_FILE: '/none' },
    failed('settings', /^PUBRING_ADMIN_API_KEY_FILE .*does not exist/),
  ],
  [
    'a provider without a client id',
    { PUBRING_OIDC_ISSUER: 'https://accounts.example.com' },
    failed('settings', /^PUBRING_OIDC_ISSUER and PUBRING_OIDC_CLIENT_ID need each other/),
  ],
  [
    'the block list is missing',
    { PUBRING_BLOCKLIST: '/none' },
    failed('blocklist', /^PUBRING_BLOCKLIST names a file that does not exist/),
  ],
  [
    'the block list is damaged',
    { PUBRING_BLOCKLIST: file('list', 'some text') },
    failed('blocklist', /^The block list has 9 bytes, which is not a multiple of 16/),
  ],
  [
    'the folder cannot be written',
    { PUBRING_DATABASE_URL: 'sqlite:/dev/null/p/pubring.db' },
    failed('folder', /^this user cannot write to \/dev\/null: change its owner or PUBRING_DATA/),
  ],
  [
    'the path is that of a folder',
    { PUBRING_DATABASE_URL: `sqlite:${folder}` },
    failed('folder', /is not a database, but a folder/),
  ],
  [
    'the database is gone, and its log is there',
    { PUBRING_DATABASE_URL: gone },
    failed('folder', /gone\.db is gone, but .*-wal is there\. Bring the database back or restore/),
  ],
  [
    'the file is no database',
    broken('text', (path) => writeFileSync(path, 'no database at all, only text'.repeat(100))),
    failed('database', /not a database/),
  ],
  [
    'a page is damaged',
    broken('page', (path) => overwrite(path, 4_096 * 3, 'x'.repeat(2_000))),
    failed('database', /is damaged: .*Restore a backup/),
  ],
  [
    'the file was cut off',
    broken('cut', (path) => truncateSync(path, 4_096 * 9)),
    failed('database', /is incomplete: it has 36864 of \d+ bytes/),
  ],
  [
    'the latest changes are missing with their log',
    broken('lost', (path) => writeFileSync(`${path}-generation`, '4000000\n')),
    failed('database', /^The latest changes of the database .* are missing: they were in .*-wal/),
  ],
  [
    'the key of the log is missing',
    { PUBRING_LOG_KEY_FILE: '/none' },
    failed('log key', /^PUBRING_LOG_KEY_FILE names a file that does not exist/),
  ],
  [
    'the file of the key of the log has no key',
    { PUBRING_LOG_KEY_FILE: file('text.key', 'text') },
    failed('log key', /without an Ed25519 private key in PEM: make one with openssl genpkey/),
  ],
  [
    'the folder of the signed checkpoints of the log cannot be written',
    { PUBRING_LOG_KEY_FILE: logKey, PUBRING_LOG_STATE_FILE: '/none/checkpoints' },
    failed('log key', /^this user cannot write to \/none, .*: set PUBRING_LOG_STATE_FILE$/),
  ],
  [
    'the same folder, before the first start has made a key',
    { PUBRING_LOG_STATE_FILE: '/none/checkpoints' },
    failed('log key', /^this user cannot write to \/none, .*: set PUBRING_LOG_STATE_FILE$/),
  ],
  [
    'other users can read a secret',
    { PUBRING_OIDC_CLIENT_SECRET_FILE: readable, ...oidc },
    warned('secrets', /^other users can read .*readable\.key: chmod 600 .*readable\.key$/),
  ],
  [
    'other users can read the key of TLS',
    { PUBRING_DATABASE_URL: elsewhere },
    warned('secrets', /^other users can read .*readable\.key/),
  ],
  [
    'the port is in use',
    { PUBRING_PORT: takenPort },
    failed('port', /is in use: stop the process that listens there, or set PUBRING_PORT/),
  ],
  [
    'the port of the metrics is in use',
    { PUBRING_METRICS_PORT: takenPort },
    failed('port', /is in use: stop the process that listens there, or set PUBRING_METRICS_PORT/),
  ],
  [
    'both ports are the same',
    { PUBRING_PORT: unused, PUBRING_METRICS_PORT: unused },
    failed('port', /^PUBRING_PORT and PUBRING_METRICS_PORT are both \d+: change one/),
  ],
  [
    'the address is that of another machine',
    { PUBRING_HOST: '192.0.2.1' },
    failed('port', /^PUBRING_HOST: 192\.0\.2\.1 is not an address of this machine/),
  ],
  [
    'verifiers cannot reach the public address',
    {},
    warned('public URL', /^other machines cannot reach http:.*: set PUBRING_PUBLIC_URL/),
  ],
  [
    'the public address is not https',
    { PUBRING_PUBLIC_URL: 'http://keys.example.com' },
    warned('public URL', /is not https: key sets could be replaced on their way/),
  ],
  [
    'the provider is in the private network, and not allowed',
    oidc,
    inProvider(/localhost.*PUBRING_OUTBOUND_ALLOW/),
  ],
  [
    'the provider is not running',
    { ...allowed, PUBRING_OIDC_ISSUER: `https://localhost:${unused}` },
    inProvider(/^localhost:\d+ could not be reached \(ECONNREFUSED\)/),
  ],
  [
    'the proxy for requests to other servers is not running',
    { ...allowed, PUBRING_OUTBOUND_PROXY: `http://127.0.0.1:${unused}` },
    inProvider(/could not be reached \(ECONNREFUSED\)/),
  ],
  [
    'the provider has no discovery document',
    allowed,
    inProvider(/openid-configuration responded with the status 404\. Correct PUBRING_OIDC_ISS/),
    answering({ [discoveryPath]: { status: 404 } }),
  ],
  [
    'the provider calls itself by another name',
    allowed,
    inProvider(/names the issuer “https:\/\/other\.example”\. It must name .*Correct PUBRING_OI/),
    answering({ [discoveryPath]: { issuer: 'https://other.example' } }),
  ],
  [
    'the provider has no keys',
    allowed,
    inProvider(/^The issuer has 0 keys for signatures\./),
    answering({ '/jwks': { keys: [] } }),
  ],
  [
    'the provider does not serve its keys',
    allowed,
    inProvider(/\/jwks responded with the status 404\.$/),
    answering({ '/jwks': { status: 404 } }),
  ],
  [
    'the client secret is wrong',
    secret,
    inProvider(/“invalid_client”, “expired”\. .*client secret.* is wrong or has expired/),
    answering({ '/token': { status: 401, error: 'invalid_client', error_description: 'expired' } }),
  ],
  [
    'the provider does not know a scope',
    scopes,
    warned('OpenID provider', /does not list groups of PUBRING_OIDC_SCOPES; it lists openid, em/),
    answering({ [discoveryPath]: { ...discovery, scopes_supported: ['openid', 'email'] } }),
  ],
  [
    'the provider does not know the redirect address',
    { ...allowed, PUBRING_PUBLIC_URL: 'https://keys.example.com' },
    inProvider(
      /\/authorize responded with the status 400 to client_id “pubring”, redirect_uri https:\/\/keys\.example\.com\/sign-in\/callback and scope “openid profile email”\. Register/,
    ),
    answering({ '/authorize': { status: 400 } }),
  ],
  [
    'the provider does not give the client a scope',
    scopes,
    inProvider(/“invalid_scope”, “no groups”\. .*PUBRING_OIDC_SCOPES.*scope “openid groups”/),
    answering(redirecting('/?error=invalid_scope&error_description=no+groups')),
  ],
  [
    'a later page of the provider does not know the redirect address',
    allowed,
    inProvider(/\/authorize\/local responded with the status 400 to client_id/),
    answering({ ...redirecting('/authorize/local'), '/authorize/local': { status: 400 } }),
  ],
  [
    'the browsers of people alone reach the page of the provider',
    allowed,
    passed('OpenID provider', /Not tried: elsewhere\.invalid could not be reached/),
    answering(at('https://elsewhere.invalid/authorize')),
  ],
  [
    'the clock of the provider is ahead',
    allowed,
    warned('OpenID provider', /clock of the OpenID provider is 1[12]\d s ahead of that of this s/),
    answering({
      [discoveryPath]: {
        ...discovery,
        get headers() {
          return { date: new Date(Date.now() + 120_000).toUTCString() }
        },
      },
    }),
  ],
  [
    'the provider wants another way of authentication',
    secret,
    inProvider(/neither client_secret_basic nor client_secret_post, but private_key_jwt\. .*PUB/),
    answering({
      [discoveryPath]: {
        ...discovery,
        token_endpoint_auth_methods_supported: ['private_key_jwt'],
      },
    }),
  ],
  [
    'the authority of the provider is not trusted',
    { ...withoutCa, PUBRING_OUTBOUND_ALLOW: 'localhost' },
    inProvider(/could not be reached \([A-Z_]+\)\. .*PUBRING_OUTBOUND_CA_FILE/),
  ],
]

test.each(situations)('%s', async (_situation, env, expected, during = () => {}) => {
  during()
  const port = String(await freePort())
  const ran = await shell.pubring(['doctor', '--json'], {
    env: { PUBRING_DATABASE_URL: `sqlite:${whole}`, PUBRING_PORT: port, ...env },
  })
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  expect(steps.find(({ step }) => step === expected.step)).toMatchObject(expected)
  const hasFailed = steps.some((one) => one.outcome === 'failed')
  expect(ran.code).toBe(hasFailed ? 1 : 0)
  if (expected.outcome === 'failed') expect(hasFailed).toBe(true)
})

test('nothing is wrong with a whole database, private keys and a provider that answers', async () => {
  answers = wholeProvider
  provider.requests.length = 0
  const ran = await shell.pubring(['doctor', '--json'], {
    env: {
      ...allowed,
      PUBRING_DATABASE_URL: `sqlite:${whole}`,
      PUBRING_PORT: String(await freePort()),
      PUBRING_PUBLIC_URL: 'https://keys.example.com',
      PUBRING_OIDC_CLIENT_SECRET_FILE: file('private.key', 'a secret'),
    },
  })
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  expect(steps.filter(({ outcome }) => outcome === 'failed' || outcome === 'warned')).toEqual([])
  const pages = provider.requests.filter((path) => path.startsWith('localhost/authorize?'))
  expect(pages).toHaveLength(1)
  expect(ran.code).toBe(0)
})
