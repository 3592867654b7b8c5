import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../support/app/app.ts'
import { openKeySet, registerAndSign, setActive, verifyResult } from '../support/app/key-set.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts'

let server: TestApp
let line: TcpProxy
let issuer: string
beforeAll(async () => {
  server = await startApp()
  line = await startTcpProxy(Number(new URL(await server.listen()).port))
  issuer = `http://127.0.0.1:${line.port}/v1/projects/${server.project.id}`
})
afterEach(() => line.restore())
afterAll(async () => {
  await line.close()
  await server.close()
})

const alice = { sub: 'alice' }
/** The least that there is, in milliseconds, so that nobody waits for long. */
const maxStale = 3_000
const timeout = 500

test.each(['cut', 'block'] as const)(
  'with the line %s it trusts for maxStale, refuses then, and trusts again when it is back',
  async (fault) => {
    const { kid, token } = await registerAndSign(server)
    const revoked = await registerAndSign(server)
    const { keys, waitForState } = openKeySet(issuer, { maxStale, timeout })
    expect(await verifyResult(keys, token)).toEqual(alice)
    line[fault]()
    expect(await verifyResult(keys, token)).toEqual(alice)
    await setActive(server, revoked.kid, false)
    await waitForState(({ status }) => status === 'stale')
    expect(await verifyResult(keys, token)).toBe('key_set_stale')
    expect(await verifyResult(keys, revoked.token)).toBe('key_set_stale')
    expect(keys.state()).toMatchObject({ status: 'stale', error: { code: 'key_set_unavailable' } })
    line.restore()
    await waitForState(({ status }) => status === 'live')
    expect(await verifyResult(keys, token)).toEqual(alice)
    expect(await verifyResult(keys, revoked.token)).toBe('kid_unknown')
    expect(keys.state().kids).toContain(kid)
  },
)

test('a short cut is not noticed by anybody', async () => {
  const { token } = await registerAndSign(server)
  const { keys, states, waitForState } = openKeySet(issuer, { maxStale, timeout })
  expect(await verifyResult(keys, token)).toEqual(alice)
  line.cut()
  await waitForState(({ status }) => status === 'interrupted')
  expect(await verifyResult(keys, token)).toEqual(alice)
  line.restore()
  await waitForState(({ status }) => status === 'live')
  expect(states.map(({ status }) => status)).toEqual(['live', 'interrupted', 'live'])
})

test('a key that is deactivated while the line is cut is refused when it is back', async () => {
  const { kid, token } = await registerAndSign(server)
  const { keys, waitForState } = openKeySet(issuer, { timeout })
  expect(await verifyResult(keys, token)).toEqual(alice)
  line.cut()
  await setActive(server, kid, false)
  expect(await verifyResult(keys, token)).toEqual(alice)
  line.restore()
  await waitForState(({ kids }) => !kids.includes(kid))
  expect(await verifyResult(keys, token)).toBe('kid_unknown')
})

test('while it cannot be loaded at first it says so, and asks no more than once a second', async () => {
  let requests = 0
  const broken = await startHttpServer((_, outgoing) => {
    requests += 1
    outgoing.writeHead(503, { 'retry-after': '1' }).end()
  })
  const { token } = await registerAndSign(server)
  const { keys } = openKeySet(`${broken.url}/v1/projects/a`)
  const began = performance.now()
  while (performance.now() - began < 500) {
    expect(await verifyResult(keys, token)).toBe('key_set_unavailable')
  }
  expect(requests).toBe(1)
  await broken.close()
})

test.each([
  ['a web page', 200, '<h1>Sign in</h1>'],
  ['another JSON', 200, '{"status":"ok"}'],
  ['a list that is none', 200, '{"keys":{}}'],
  ['a redirect', 302, ''],
])('%s is no key set, and leaves what was known', async (_, status, body) => {
  const { token } = await registerAndSign(server)
  let astray = false
  const between = await startHttpServer(async ({ url, headers }, outgoing) => {
    if (astray) {
      outgoing.writeHead(status, { etag: '"x"', location: 'https://elsewhere.example/' }).end(body)
      return
    }
    const tag = String(headers['if-none-match'])
    const answer = await fetch(new URL(url ?? '', issuer), { headers: { 'if-none-match': tag } })
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  const { keys, waitForState } = openKeySet(new URL(new URL(issuer).pathname, between.url).href)
  expect(await verifyResult(keys, token)).toEqual(alice)
  astray = true
  await waitForState(({ error }) => error?.code === 'key_set_unavailable')
  expect(await verifyResult(keys, token)).toEqual(alice)
  expect(keys.state().error?.message).toMatch(/is not a key set|responds with a redirect/)
  await between.close()
})

test('a key set that nobody uses is not followed, and is loaded anew with its next use', async () => {
  const { kid, token } = await registerAndSign(server)
  const { keys, waitForState } = openKeySet(issuer, { maxStale, timeout, idleAfter: 500 })
  expect(await verifyResult(keys, token)).toEqual(alice)
  await waitForState(({ status }) => status === 'idle')
  await setActive(server, kid, false)
  expect(keys.state().kids).toContain(kid)
  expect(await verifyResult(keys, token)).toBe('kid_unknown')
  expect(keys.state().status).toBe('live')
})
