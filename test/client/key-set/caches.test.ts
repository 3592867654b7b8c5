import { expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { openKeySet, registerAndSign, setActive, verifyResult } from '../../support/app/key-set.ts'
import { keyFor, signToken } from '../../support/keys/tokens.ts'
import { startCachingProxy } from '../../support/network/caching-proxy.ts'
import { startHttpServer } from '../../support/network/http-server.ts'

const server = await startApp({ config: { jwksMaxAge: 2 } })
const base = await server.listen()
const cache = await startCachingProxy(base)
const direct = `${base}/v1/projects/${server.project.id}`
const cached = `${cache.url}/v1/projects/${server.project.id}`

const alice = { sub: 'alice' }

test('behind a cache a deactivated key is rejected when the cached copy expires', async () => {
  const { kid, token } = await registerAndSign(server)
  const { keys, waitForState } = openKeySet(cached)
  expect(await verifyResult(keys, token)).toEqual(alice)
  await waitForState(({ status }) => status === 'polling')
  await setActive(server, kid, false)
  await waitForState(({ kids }) => !kids.includes(kid))
  expect(await verifyResult(keys, token)).toBe('kid_unknown')
  expect(keys.state().status).toBe('polling')
})

test('a cache is not polled before its copy expires', async () => {
  const { keys } = openKeySet(cached)
  const before = cache.requests()
  await keys.ready()
  const loads = cache.originRequests()
  // The copy has expired twice.
  await expect.poll(cache.originRequests).toBeGreaterThanOrEqual(loads + 2)
  expect(cache.requests() - before).toBeLessThan(12)
})

test('a cache that serves an expired copy without reaching the service is not trusted', async () => {
  const { token } = await registerAndSign(server)
  const other = await startApp({ config: { jwksMaxAge: 1 } })
  const { token: known } = await registerAndSign(other)
  const base = await other.listen()
  const stuck = await startCachingProxy(base)
  const address = `${stuck.url}/v1/projects/${other.project.id}`
  const { keys, waitForState } = openKeySet(address, { maxStale: 3_000 })
  expect(await verifyResult(keys, known)).toEqual(alice)
  stuck.freeze()
  await waitForState(({ status }) => status === 'stale')
  expect(await verifyResult(keys, known)).toBe('key_set_stale')
  expect(await verifyResult(keys, token)).toBe('key_set_stale')
})

test('a flood of unknown kids causes one request per cool-down', async () => {
  const requests: string[] = []
  const counting: typeof fetch = (input, init) => {
    requests.push(new Headers(init?.headers).get('prefer') ?? '')
    return fetch(input, init)
  }
  const { keys } = openKeySet(direct, { coolDown: 300, fetch: counting })
  await keys.ready()
  const { privateKey } = keyFor('ES256')
  const began = performance.now()
  let rejected = 0
  while (performance.now() - began < 1_000) {
    const kid = crypto.randomUUID()
    const token = signToken(privateKey, { alg: 'ES256', kid }, alice)
    const results = await Promise.all([verifyResult(keys, token), verifyResult(keys, token)])
    expect(results).toEqual(['kid_unknown', 'kid_unknown'])
    rejected += 2
  }
  const passed = performance.now() - began
  const loads = requests.filter((prefer) => prefer === 'wait=0').length - 1
  expect(rejected).toBeGreaterThan(loads * 2)
  expect(loads).toBeGreaterThan(0)
  expect(loads).toBeLessThanOrEqual(Math.ceil(passed / 300))
})

test('a load that finds a new key set restarts the long poll with its tag', async () => {
  const waiting: string[] = []
  const deaf = await startHttpServer(async ({ url, headers }, outgoing) => {
    const tag = String(headers['if-none-match'])
    const prefer = String(headers.prefer)
    // Long polls never return, as from a replica that lags behind.
    if (prefer !== 'wait=0') waiting.push(tag)
    else {
      const passed = { 'if-none-match': tag, prefer }
      const answer = await fetch(new URL(url ?? '', direct), { headers: passed })
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
      outgoing.end(await answer.text())
    }
  })
  const { keys } = openKeySet(new URL(new URL(direct).pathname, deaf.url).href, { coolDown: 0 })
  await keys.ready()
  await expect.poll(() => waiting.length).toBe(1)
  const { token } = await registerAndSign(server)
  expect(await verifyResult(keys, token)).toEqual(alice)
  await expect.poll(() => waiting.length).toBe(2)
  expect(waiting[1]).not.toBe(waiting[0])
})
