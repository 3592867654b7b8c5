import { beforeAll, expect, test } from 'vitest'
import { faultInjection } from '../support/faults/injection.ts'
import { countLost, recordFault } from '../support/faults/results.ts'
import { ecKey } from '../support/keys/pem.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { rememberSecret } from '../support/secrets.ts'
import { temporaryFolder } from '../support/server/process.ts'
import { createReplicas, kidsOf, publishedKids, type Replica } from '../support/server/replicas.ts'
import { createDatabase } from '../support/store/database.ts'
import { waitUntil } from '../support/waiting.ts'

const hour = 3_600_000
const keys = '/v1/projects/default/jwt-keys'
const jwks = '/v1/projects/default/.well-known/jwks.json'

const database = await createDatabase('postgres')
const replicas = createReplicas(database.url)
const { folder } = temporaryFolder()
const { env, launch, set } = faultInjection(folder)
const registered: string[] = []
let right: Replica
let wrong: Replica
beforeAll(async () => {
  const logKey = createKeyFile().file
  right = await replicas.add()
  await set({ shift: hour })
  const limits = { PUBRING_RATE_LIMIT: '1000', PUBRING_LOG_KEY_FILE: logKey }
  wrong = await replicas.add({ ...env, ...limits }, launch)
})

/** A request with another credential than that of the replica. */
async function request(url: string, headers: Record<string, string>, method = 'GET') {
  const response = await fetch(url, { method, headers })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

async function signIn({ url, apiKey }: Replica): Promise<Record<string, string>> {
  const response = await request(`${url}/v1/sessions`, { 'X-Api-Key': apiKey }, 'POST')
  expect(response.status, response.body).toBe(201)
  const cookie = String(response.headers.get('set-cookie')).split(';')[0] ?? ''
  rememberSecret('the secret of a session', cookie.split('=')[1] ?? '')
  return { 'X-Api-Key': 'session', cookie }
}

async function register(replica: Replica, lifetimeMs?: number): Promise<string> {
  const expireTime = lifetimeMs && new Date(Date.now() + lifetimeMs).toISOString()
  const body = { name: 'k', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
  const response = await replica.call('POST', keys, { ...body, ...(expireTime && { expireTime }) })
  expect(response.status, response.body).toBe(201)
  const { kid } = JSON.parse(response.body)
  registered.push(kid)
  return kid
}

const maxAgeOf = (headers: Headers) =>
  Number(/max-age=(\d+)/.exec(headers.get('cache-control') ?? '')?.[1])

test.each([
  ['an hour ahead', hour],
  ['an hour behind', -hour],
  ['right again', 0],
])('a replica whose clock is %s does as the others do', async (_name, shift) => {
  await set({ shift })
  const lasting = await register(right, hour / 2)
  const expireTime = new Date(Date.now() + hour / 2).toISOString()
  const brief = { name: 'brief', role: 'reader', expireTime }
  const created = await right.call('POST', '/v1/api-keys', brief)
  const { id, apiKey } = JSON.parse(created.body)
  rememberSecret('an API key', apiKey)
  const session = await signIn(right)

  // Neither expires early, and no sign-in ends the sessions of others.
  expect((await request(wrong.url + keys, { 'X-Api-Key': apiKey })).status).toBe(200)
  await signIn(wrong)
  for (const { url } of [right, wrong]) {
    const self = await request(`${url}/v1/self`, session)
    expect(self.status, self.body).toBe(200)
    expect(JSON.parse(self.body).recentSignInUntil).toBeDefined()
  }
  expect((await right.call('GET', `/v1/api-keys/${id}`)).status).toBe(200)
  await waitUntil(async () => (await publishedKids(wrong, 'default')).includes(lasting))

  // What it writes has the time of the others, and the log goes on.
  const kid = await register(wrong)
  const key = JSON.parse((await right.call('GET', `${keys}/${kid}`)).body)
  expect(Math.abs(Date.parse(key.createTime) - Date.now())).toBeLessThan(hour / 2)
  const checkpoint = await wrong.call('POST', '/v1/log/checkpoints')
  expect(checkpoint.status, checkpoint.body).toBe(201)
  const self = await request(`${wrong.url}/v1/self`, { 'X-Api-Key': wrong.apiKey })
  expect(self.headers.get('ratelimit')).toMatch(/;t=([1-5]?\d|60)$/)
})

test('a replica whose clock is behind ends keys on time, also for those who wait and for caches', async () => {
  await set({ shift: -hour })
  const ending = await register(right, 10_000)
  await waitUntil(async () => (await publishedKids(wrong, 'default')).includes(ending))
  const { headers } = await request(wrong.url + jwks, {})
  expect(maxAgeOf(headers)).toBeLessThanOrEqual(10)
  const waiting = { 'If-None-Match': headers.get('etag') ?? '', Prefer: 'wait=60' }
  const changed = await request(wrong.url + jwks, waiting)
  expect(changed.status).toBe(200)
  expect(changed.body).not.toContain(ending)
  expect(await publishedKids(right, 'default')).not.toContain(ending)
})

test('all events have the times of one clock', async () => {
  const events = await database.query('select revision, time from event')
  for (const { time } of events) {
    expect(Math.abs(Date.parse(String(time)) - Date.now())).toBeLessThan(hour / 2)
  }
  recordFault({
    fault: 'The clock of one replica of two is wrong (PostgreSQL)',
    observed:
      'the replica does as the other does: keys and sessions end on time, events have the right times',
    acknowledged: registered.length,
    lost: countLost(registered, await kidsOf(right, 'default')),
  })
})
