import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { startApp } from '../../support/app/app.ts'
import { fetchJwks, keysUrl, kidsOf, newProject, registerKey } from '../../support/app/keys.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { expectWithin } from '../../support/timing.ts'

let shift = 0
const clock = { now: () => Date.now() + shift, monotonic: () => performance.now() }

const server = await startApp({ clock })
const base = await server.listen()

beforeEach(() => {
  shift = 0
})

const hour = 3_600_000
const patch = (url: string, body: object) => server.send('PATCH', url, { body })
const read = async (url: string) => (await server.send('GET', url)).json()

test('a change of a key or project does not set its updateTime back with the clock, and moves it again later', async () => {
  const url = `${keysUrl}/${await registerKey(server)}`
  const before = await read(url)
  shift = -hour
  for (const body of [{ label: 'renamed' }, { active: false }]) {
    const { updateTime } = (await patch(url, body)).json()
    expect(updateTime).toBe(before.updateTime)
    const after = await read(url)
    expect(after).toMatchObject({ ...body, updateTime })
    expect(after.details.convergedTime >= before.details.convergedTime).toBe(true)
  }
  shift = hour
  expect((await patch(url, { label: 'later' })).json().updateTime > before.updateTime).toBe(true)
  shift = 0
  const made = await newProject(server, 'before')
  const { updateTime } = await read(`/v1/projects/${made.id}`)
  shift = -hour
  const renamed = await patch(`/v1/projects/${made.id}`, { name: 'after' })
  expect(renamed.json()).toMatchObject({ name: 'after', updateTime })
})

/** Three times, so that the last response comes from the response cache. */
async function readThrice(url: string, headers: Record<string, string> = {}): Promise<string[]> {
  const bodies: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const answer = await server.send('GET', url, { headers })
    bodies.push(answer.statusCode === 200 ? answer.body : String(answer.statusCode))
  }
  return bodies
}

/** Steps of the clock in hours, and whether what expires in half an hour is still active then. */
const steps: [hours: number, isActive: boolean][] = [
  [0, true],
  [1, false],
  [0, true],
  [-1, true],
  [2, false],
  [1, false],
  [-2, true],
]

test.each([
  ['the key set', (base: string) => `${base}/.well-known/jwks-full.json`, '"kty"'],
  ['the list', (base: string) => `${base}/jwt-keys`, '"active":true'],
  ['the list of active keys', (base: string) => `${base}/jwt-keys?active=true`, '"active":true'],
  ['a key', (base: string, kid: string) => `${base}/jwt-keys/${kid}`, '"active":true'],
])('%s follows a clock that is set forward and back', async (name, urlOf, mark) => {
  const project = await newProject(server, name.replaceAll(' ', '-'))
  const expireTime = new Date(clock.now() + hour / 2).toISOString()
  const kid = await registerKey(server, { expireTime }, project.keys)
  const url = urlOf(`/v1/projects/${project.id}`, kid)
  for (const [hours, isActive] of steps) {
    shift = hours * hour
    const found = (await readThrice(url)).map((body) => body.includes(mark))
    expect(found, `at ${hours} h`).toEqual([isActive, isActive, isActive])
  }
})

test('an API key follows a clock that is set forward and back', async () => {
  const expireTime = new Date(clock.now() + hour / 2).toISOString()
  const headers = { 'x-api-key': await server.apiKey('reader', undefined, expireTime) }
  for (const url of [keysUrl, '/v1/api-keys/self']) {
    for (const [hours, isActive] of steps) {
      shift = hours * hour
      const isRefused = (await readThrice(url, headers)).map((body) => body === '401')
      expect(isRefused, `${url} at ${hours} h`).toEqual([!isActive, !isActive, !isActive])
    }
  }
})

test('a held request follows a clock that is set forward and back', async () => {
  const project = await newProject(server, 'held')
  const always = await registerKey(server, {}, project.keys)
  const expireTime = new Date(clock.now() + hour / 2).toISOString()
  const expiring = await registerKey(server, { expireTime }, project.keys)
  let etag = String((await fetchJwks(server, {}, project.jwks)).headers.etag)
  // Each step of an hour changes the key set of the client, which holds its next request at once.
  for (const [hours, kids] of [
    [1, [always]],
    [-1, [always, expiring]],
    [2, [always]],
    [0, [always, expiring]],
  ] as const) {
    const headers = { 'if-none-match': etag, prefer: 'wait=60' }
    const held = fetch(base + project.jwks, { headers })
    await delay(100)
    shift = hours * hour
    const began = performance.now()
    const answer = await held
    expectWithin(1_000, performance.now() - began)
    expect(answer.status, `at ${hours} h`).toBe(200)
    expect(kidsOf(await answer.text())).toEqual(kids)
    etag = String(answer.headers.get('etag'))
  }
})

test.each([-hour, hour])(
  'a held request waits as long as it asks while the clock steps by %i ms',
  async (step) => {
    const project = await newProject(server, `patient-${step > 0 ? 'on' : 'back'}`)
    await registerKey(server, {}, project.keys)
    const etag = String((await fetchJwks(server, {}, project.jwks)).headers.etag)
    const began = performance.now()
    const headers = { 'if-none-match': etag, prefer: 'wait=1' }
    const held = fetch(base + project.jwks, { headers })
    await delay(100)
    shift = step
    expect((await held).status).toBe(304)
    expect(performance.now() - began).toBeGreaterThanOrEqual(990)
    expectWithin(2_000, performance.now() - began)
  },
)

test('an incident is recorded although the clock was set back after ten earlier ones', async () => {
  const headers = { 'x-api-key': await server.apiKey('reader') }
  const incidents = async () => {
    const events = await readEvents(server.context.store.reader, systemLedgerId, {
      after: 0,
      limit: 1_000,
    })
    return events.filter(({ type }) => type === 'private_key.refused').length
  }
  const submit = () =>
    server.send('POST', '/v1/key-checks', { body: { publicKeyPem: privatePem(ecKey()) }, headers })
  for (let count = 0; count < 11; count += 1) await submit()
  expect(await incidents()).toBe(10)
  shift = -hour
  await submit()
  expect(await incidents()).toBe(11)
})
