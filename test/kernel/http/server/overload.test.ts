import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { findProjectRecord } from '../../../../packages/server/src/kernel/access/stored-projects.ts'
import { startApp, type TestApp } from '../../../support/app/app.ts'
import { newProject, registerKey } from '../../../support/app/keys.ts'
import { expectWithin } from '../../../support/timing.ts'

let server: TestApp

/** Makes the event loop lag by about 200 ms a turn; the lag is measured every 500 ms. */
async function strain(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    const until = performance.now() + 200
    while (performance.now() < until);
    await delay(1)
  }
}

const list = '/v1/projects/payments/jwt-keys'
const jwks = '/v1/projects/payments/.well-known/jwks.json'

test('an overloaded process rejects requests early and fails the readiness check', async () => {
  server = await startApp({ http: { overloadLagMs: 120 } })
  await server.app.ready()
  await strain(8)
  const revision = (await findProjectRecord(server.context.store.reader, { name: 'payments' }))
    ?.revision
  const requests = [
    server.send('GET', list),
    server.send('GET', list, { headers: { 'x-api-key': '' } }),
    server.send('POST', '/v1/projects', { body: { name: 'late' } }),
    server.inject(jwks),
  ]
  for (const answer of await Promise.all(requests)) {
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({ code: 'overloaded', status: 503 })
    expect(answer.headers['retry-after']).toBe('1')
  }
  expect((await server.inject(jwks)).headers['access-control-allow-origin']).toBe('*')
  const ready = await server.inject('/health/ready')
  expect([ready.statusCode, ready.json()]).toEqual([
    503,
    { status: 'unavailable', reason: 'overloaded' },
  ])
  expect((await server.inject('/health/live')).statusCode).toBe(200)
  expect(await findProjectRecord(server.context.store.reader, { name: 'late' })).toBeUndefined()
  expect(
    (await findProjectRecord(server.context.store.reader, { name: 'payments' }))?.revision,
  ).toBe(revision)
  await expect.poll(async () => (await server.send('GET', list)).statusCode).toBe(200)
  expect((await server.inject('/health/ready')).statusCode).toBe(200)
})

test('while a process starts, reads get 503 at once, and changes wait for the database', async () => {
  const starting = await startApp()
  await starting.app.ready()
  starting.app.readiness.starting = true
  const creating = starting.send('POST', '/v1/projects', { body: { name: 'early' } })
  const read = await starting.send('GET', list)
  expect(read.json()).toMatchObject({ code: 'storage_unavailable', status: 503 })
  starting.app.readiness.starting = false
  expect((await creating).statusCode).toBe(201)
})

test('while a process starts, only so many changes wait for the database, and none once it stops', async () => {
  const starting = await startApp()
  await starting.app.ready()
  starting.app.readiness.starting = true
  const create = () => starting.send('POST', '/v1/projects', { body: {} })
  const waiting = Array.from({ length: 1_000 }, create)
  let answered = 0
  for (const one of waiting) void one.then(() => (answered += 1))
  const began = performance.now()
  expect((await create()).json()).toMatchObject({ code: 'storage_unavailable', status: 503 })
  expect(answered).toBe(0)
  starting.app.readiness.shuttingDown = true
  for (const { statusCode } of await Promise.all(waiting)) expect(statusCode).toBe(503)
  expectWithin(5_000, performance.now() - began)
})

test('an overloaded process serves the public key sets that it has in memory, and nothing else', async () => {
  server = await startApp()
  const { id, name } = server.project
  const kid = await registerKey(server)
  const files = ['jwks.json', 'jwks-full.json', 'keys.pem', `${kid}.pem`]
  const paths = [id, name].flatMap((ref) =>
    files.map((file) => `/v1/projects/${ref}/.well-known/${file}`),
  )
  const base = await server.listen()
  const get = async (path: string) => {
    const response = await fetch(`${base}${path}`)
    return { status: response.status, body: await response.text() }
  }
  const cold = await newProject(server, 'cold')
  const before = []
  // The response cache keeps what is asked for twice, and has none of the first two paths.
  for (const path of [...paths, ...paths.slice(2)]) before.push(await get(path))
  server.app.isOverloaded = () => true
  for (const path of [list, '/v1/projects', cold.jwks, '/v1/sign-in-options', '/openapi.json']) {
    const headers = { 'x-api-key': server.admin }
    const response = await fetch(`${base}${path}`, { headers })
    expect([response.status, Object(await response.json()).code], path).toEqual([503, 'overloaded'])
  }
  for (const [index, path] of paths.entries()) expect(await get(path), path).toEqual(before[index])
  expect(before.map(({ status }) => status)).toEqual(before.map(() => 200))
  // A revocation is seen, whatever the load.
  const patch = { active: false }
  server.app.isOverloaded = () => false
  await server.send('PATCH', `${list}/${kid}`, { body: patch })
  server.app.isOverloaded = () => true
  for (const path of paths.filter((each) => !each.includes(kid))) {
    expect((await get(path)).status).toBe(200)
    expect((await get(path)).body).not.toContain(kid)
  }
  expect((await get(paths.at(-1) ?? '')).status).toBe(404)
})
