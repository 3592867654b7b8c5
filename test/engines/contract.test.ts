import { expect, test } from 'vitest'
import { startApp, type TestApp } from '../support/app/app.ts'
import { fixture } from '../support/keys/intake.ts'
import { createDatabase } from '../support/store/database.ts'

const [sqlite, postgres] = await Promise.all([start('sqlite'), start('postgres')])
/** Two registries that differ only in their database. */
const apps = { sqlite, postgres }

async function start(engine: 'sqlite' | 'postgres') {
  return startApp({ database: await createDatabase(engine), config: { maxKeysPerProject: 12 } })
}

interface Step {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE' | 'PUT'
  /** `{name}` stands for a value from an earlier response. */
  url: string
  body?: unknown
  headers?: Record<string, string>
  /** Members of the response to save: `{ kid: 'first' }` makes `{first}` the kid. */
  save?: Record<string, string>
}

const key = (file: string) => fixture(`keys/${file}`)
const get = (url: string, headers?: Record<string, string>): Step => ({
  method: 'GET',
  url,
  ...(headers === undefined ? {} : { headers }),
})
const post = (url: string, body: unknown, save?: Record<string, string>): Step => ({
  method: 'POST',
  url,
  body,
  ...(save === undefined ? {} : { save }),
})
const patch = (url: string, body: unknown): Step => ({ method: 'PATCH', url, body })
const remove = (url: string): Step => ({ method: 'DELETE', url })

const keys = '/v1/projects/payments/jwt-keys'
const create = (file: string, algorithm: string, more: object = {}, save?: string): Step =>
  post(
    keys,
    { name: file, algorithm, publicKeyPem: key(file), ...more },
    save === undefined ? undefined : { kid: save },
  )

const projectSteps: Step[] = [
  get('/v1/projects'),
  ...['Prod', 'prod', 'ÄB', 'straße', 'a\u0000b'].map((name) => post('/v1/projects', { name })),
  post('/v1/projects', { name: 'b-2' }, { id: 'b' }),
  post('/v1/projects', { name: 'a1' }),
  post('/v1/projects', { name: 'ab' }),
  get('/v1/projects?limit=2'),
  get('/v1/projects?limit=2&after={b}'),
  ...['PROD', '%C3%84B', 'a%00b', 'not-there', '{b}'].map((name) => get(`/v1/projects/${name}`)),
  patch('/v1/projects/b-2', { name: 'prod' }),
  patch('/v1/projects/b-2', { name: 'B-3' }),
  patch('/v1/projects/b-3', { name: 'b-3' }),
  get('/v1/projects/{b}'),
  remove('/v1/projects/{b}'),
  remove('/v1/projects/{b}'),
  get('/v1/projects/{b}/events'),
  get('/v1/projects/b-3/jwt-keys'),
]

const keySteps: Step[] = [
  get(keys),
  create('good/rsa2048.pem', 'RSA', {}, 'rsa'),
  create('good/rsa2048.pem', 'RS256'),
  create('good/ec-p256.pem', 'ES256', { active: false }, 'ec'),
  create('good/ed25519.pem', 'EdDSA', { expireTime: '2199-01-01T01:00:00+01:00' }, 'ed'),
  create('good/ml-dsa-44.pem', 'ML-DSA-44', { name: 'ключ 🔑 "quoted" \\ 長'.repeat(5) }, 'mldsa'),
  create('good/rsa-pss-sha256.pem', 'PS256'),
  create('rsa/shared-prime-a.pem', 'RSA'),
  create('rsa/shared-prime-b.pem', 'RSA'),
  create('rsa/same-modulus-other-e.pem', 'RSA'),
  create('private/pkcs8-ed25519.pem', 'EdDSA'),
  create('good/ec-p521.pem', 'ES512', { name: 'a\u0000b' }),
  create('good/ec-p521.pem', 'ES512', { name: '\ud800' }),
  get(keys),
  get(`${keys}?active=true`),
  get(`${keys}/{rsa}`),
  ...[
    'not-a-uuid',
    '{rsa}'.toUpperCase(),
    '00000000-0000-0000-0000-000000000000',
    'x'.repeat(5_000),
    'a%00b',
  ].flatMap((kid) => [
    get(`${keys}/${kid}`),
    patch(`${keys}/${kid}`, { active: false }),
    remove(`${keys}/${kid}`),
  ]),
  remove('/v1/projects/payments/key-uses/a%00b'),
  patch(`${keys}/{ec}`, { active: true, label: ' renamed ' }),
  patch(`${keys}/{ec}`, { active: true }),
  patch(`${keys}/{ec}`, { label: 'a\u0000b' }),
  patch(`${keys}/{ed}`, { expireTime: null }),
  { method: 'PATCH', url: `${keys}/{ed}`, body: { active: false }, headers: { 'if-match': '"x"' } },
  remove(`${keys}/{rsa}`),
  patch(`${keys}/{rsa}`, { active: false }),
  remove(`${keys}/{rsa}`),
  get(`${keys}/{rsa}`),
  remove('/v1/projects/payments'),
]

const publishedSteps: Step[] = [
  get('/v1/projects/payments/.well-known/jwks.json'),
  { method: 'HEAD', url: '/v1/projects/payments/.well-known/jwks.json' },
  get('/v1/projects/payments/.well-known/jwks.json?x=1', { 'if-none-match': '*' }),
  get('/v1/projects/{payments}/.well-known/openid-configuration'),
  get('/v1/projects/a%00b/.well-known/jwks.json'),
  get('/v1/projects/none/.well-known/jwks.json'),
]

const ledgerSteps: Step[] = [
  get('/v1/projects/payments/events'),
  get('/v1/projects/payments/events?after=3&limit=2'),
  get('/v1/projects/payments/events?after=-1'),
  get('/v1/projects/payments/events?after=9007199254740991'),
  get('/v1/projects/payments/events?after=99999999999999999999'),
  get('/v1/events'),
  get('/v1/events?limit=3'),
]

const apiKeySteps: Step[] = [
  post(
    '/v1/api-keys',
    { name: 'ci', role: 'writer', project: 'payments' },
    { id: 'ci', apiKey: 'secret' },
  ),
  post('/v1/api-keys', { name: 'x', role: 'reader', project: 'none' }),
  get('/v1/api-keys'),
  get('/v1/api-keys/{ci}'),
  get('/v1/api-keys/self', { 'x-api-key': '{secret}' }),
  get('/v1/projects', { 'x-api-key': '{secret}' }),
  get('/v1/projects/prod/jwt-keys', { 'x-api-key': '{secret}' }),
  get('/v1/events', { 'x-api-key': '{secret}' }),
  patch('/v1/api-keys/{ci}', { role: 'reader', name: 'ci 2' }),
  patch('/v1/api-keys/{ci}', { active: false }),
  get('/v1/api-keys/self', { 'x-api-key': '{secret}' }),
  remove('/v1/api-keys/{ci}'),
  remove('/v1/api-keys/{ci}'),
  get('/v1/api-keys/self', { 'x-api-key': 'pubring_nonsense' }),
]

const otherSteps: Step[] = [
  post('/v1/key-checks', { publicKeyPem: key('good/ec-p256.pem'), algorithm: 'ES256' }),
  post('/v1/projects/payments/token-checks', {
    token: `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.e30.AA`,
  }),
  { method: 'PUT', url: keys, body: {} },
  get('/health/ready'),
]

/** Sends a step and returns the response, with a placeholder for each id, time, secret and hash. */
function createTranscript(app: TestApp) {
  const saved = new Map([
    ['payments', app.project.id],
    ['RSA', '019AC8F2-6C1E-7D53-A1B0-5F0E4C9D2B71'],
  ])
  const names = new Map<string, string>()
  const nameOf = (kind: string) => (text: string) => {
    if (!names.has(text)) names.set(text, `<${kind} ${names.size}>`)
    return names.get(text) ?? ''
  }
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name) => saved.get(name) ?? '')
  const plain = (text: string) =>
    text
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, nameOf('id'))
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => (time < '2100' ? '<time>' : time))
      .replace(/pubring_[0-9A-Za-z]{4,}/g, nameOf('secret'))
      .replace(/"hash":"[0-9a-f]{64}"/g, nameOf('hash'))
      .replace(/"published":\{[^}]*\}/g, nameOf('published'))
      .replace(/"state":\{"to":"[0-9a-f]{64}"\}/g, nameOf('state'))
      .replace(/((?:after=|pubring-revision":")\d+)\.[0-9a-f]{8}/g, '$1.<start of a hash>')
      .replace(/\\"[\w.-]{20,}\\"/g, nameOf('tag'))

  return async (step: Step) => {
    const answer = await app.send(step.method, fill(step.url), {
      ...(step.body === undefined ? {} : { body: step.body }),
      headers: Object.fromEntries(
        Object.entries(step.headers ?? {}).map(([name, value]) => [name, fill(value)]),
      ),
    })
    for (const [member, name] of Object.entries(step.save ?? {})) {
      saved.set(name, String(answer.json()[member]))
    }
    const { date: _, ...headers } = answer.headers
    return plain(`${answer.statusCode} ${JSON.stringify(headers)} ${answer.body}`)
  }
}

test('every operation returns the same bytes on both databases', async () => {
  const sqlite = createTranscript(apps.sqlite)
  const postgres = createTranscript(apps.postgres)
  const steps = [
    projectSteps,
    keySteps,
    publishedSteps,
    apiKeySteps,
    otherSteps,
    ledgerSteps,
  ].flat()
  const statuses = new Set<string>()
  for (const step of steps) {
    const expected = await sqlite(step)
    expect(await postgres(step), `${step.method} ${step.url}`).toBe(expected)
    expect(expected, `${step.method} ${step.url}`).not.toMatch(/^5/)
    statuses.add(expected.slice(0, 3))
  }
  expect([...statuses].sort().join(' ')).toBe('200 201 204 304 400 401 403 404 405 409 412')
})
