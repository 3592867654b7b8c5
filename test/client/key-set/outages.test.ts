import { afterEach, expect, test, vi } from 'vitest'
import { KeySetError } from '../../../packages/client/src/key-set/errors.ts'
import { follow } from '../../../packages/client/src/key-set/follow.ts'
import { startApp } from '../../support/app/app.ts'
import { openKeySet, registerAndSign, setActive, verifyResult } from '../../support/app/key-set.ts'
import { startHttpServer } from '../../support/network/http-server.ts'
import { startTcpProxy } from '../../support/network/tcp-proxy.ts'
import { waitFor } from '../../support/waiting.ts'

const server = await startApp()
const proxy = await startTcpProxy(Number(new URL(await server.listen()).port))
const issuer = `http://127.0.0.1:${proxy.port}/v1/projects/${server.project.id}`

afterEach(() => {
  proxy.restore()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const alice = { sub: 'alice' }
/** The minimum, in milliseconds, to keep the tests short. */
const maxStale = 3_000

test.each(['cut', 'block'] as const)(
  'with the connection %s, keys are trusted for maxStale, then rejected, then trusted when it is back',
  async (fault) => {
    const { kid, token } = await registerAndSign(server)
    const revoked = await registerAndSign(server)
    const { keys, waitForState } = openKeySet(issuer, { maxStale, timeout: 500 })
    // On a busy machine the first load may take longer.
    await waitFor(keys.ready)
    proxy[fault]()
    expect(await verifyResult(keys, token)).toEqual(alice)
    await setActive(server, revoked.kid, false)
    await waitForState(({ status }) => status === 'stale')
    expect(await verifyResult(keys, token)).toBe('key_set_stale')
    expect(await verifyResult(keys, revoked.token)).toBe('key_set_stale')
    expect(keys.state()).toMatchObject({ status: 'stale', error: { code: 'key_set_unavailable' } })
    proxy.restore()
    await waitForState(({ status }) => status === 'live')
    expect(await verifyResult(keys, token)).toEqual(alice)
    expect(await verifyResult(keys, revoked.token)).toBe('kid_unknown')
    expect(keys.state().kids).toContain(kid)
  },
)

test('a short interruption rejects no token', async () => {
  const { token } = await registerAndSign(server)
  const { keys, states, waitForState } = openKeySet(issuer, { maxStale })
  expect(await verifyResult(keys, token)).toEqual(alice)
  proxy.cut()
  await waitForState(({ status }) => status === 'interrupted')
  expect(await verifyResult(keys, token)).toEqual(alice)
  proxy.restore()
  await waitForState(({ status }) => status === 'live')
  expect(states.map(({ status }) => status)).toEqual(['live', 'interrupted', 'live'])
})

test('if the first load fails, tokens fail with its error and the load is retried once a second', async () => {
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
})

test.each([
  ['a web page', 200, '<h1>Sign in</h1>'],
  ['other JSON', 200, '{"status":"ok"}'],
  ['a malformed key set', 200, '{"keys":{}}'],
  ['a redirect', 302, ''],
])('%s is not a key set and does not replace the cached one', async (_, status, body) => {
  let answer = { status: 200, body: '{"keys":[{"kid":"a","kty":"EC","alg":"ES256"}]}' }
  const between = await startHttpServer((_request, outgoing) => {
    const headers = { location: 'https://elsewhere.example/' }
    outgoing.writeHead(answer.status, headers).end(answer.body)
  })
  const address = `${between.url}/v1/projects/a`
  const { keys } = openKeySet(address, { background: false, coolDown: 0 })
  await keys.ready()
  answer = { status, body }
  await keys.ready()
  const message = expect.stringMatching(/is not a key set|responds with a redirect/)
  const error = { code: 'key_set_unavailable', message }
  expect(keys.state()).toMatchObject({ kids: ['a'], error })
})

test('behind a proxy that gives up on held requests, they become shorter, and no token is rejected', async () => {
  const { token, kid } = await registerAndSign(server)
  const limitMs = 2_500
  const waits: string[] = []
  const between = await startHttpServer(async ({ url, headers }, outgoing) => {
    const { 'if-none-match': tag = '', prefer = '' } = headers as Record<string, string>
    waits.push(prefer)
    const answer = await fetch(new URL(url ?? '', issuer), {
      headers: { 'if-none-match': tag, prefer },
      signal: AbortSignal.timeout(limitMs),
    }).catch(() => new Response('', { status: 504 }))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  const address = new URL(new URL(issuer).pathname, between.url).href
  // A third of it is the longest wait: 4 s.
  const { keys, states, waitForState } = openKeySet(address, { maxStale: 12_000 })
  expect(await verifyResult(keys, token)).toEqual(alice)
  await waitForState(({ error }) => error?.status === 504)
  expect(await verifyResult(keys, token)).toEqual(alice)
  await waitForState(({ status }) => status === 'live')
  expect(waits.slice(0, 3)).toEqual(['wait=0', 'wait=4', 'wait=2'])
  await setActive(server, kid, false)
  await waitForState(({ kids }) => !kids.includes(kid))
  expect(states.map(({ status }) => status)).not.toContain('stale')
})

test('an unused key set is not followed, and is loaded again with its next use', async () => {
  const { kid, token } = await registerAndSign(server)
  const { keys, waitForState } = openKeySet(issuer, { maxStale, idleAfter: 500 })
  expect(await verifyResult(keys, token)).toEqual(alice)
  await waitForState(({ status }) => status === 'idle')
  await setActive(server, kid, false)
  expect(keys.state().kids).toContain(kid)
  expect(await verifyResult(keys, token)).toBe('kid_unknown')
  expect(keys.state().status).toBe('live')
})

test.each([
  ['', undefined, [200, 400, 800, 1_600, 2_000, 2_000]],
  [', and 5 s more if the service asks for an hour', 3_600, [5_200, 5_400]],
])('the delay between failed polls grows to 2 s%s', async (_, retryAfter, expected) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const lifetime = new AbortController()
  const times: number[] = []
  const poll = async () => {
    times.push(performance.now())
    if (times.length > expected.length) lifetime.abort()
    throw new KeySetError('key_set_unavailable', 'It is away.', { retryAfter })
  }
  const handlers = { poll, isWanted: () => true, onMode: () => {}, onError: () => {} }
  const following = follow({ ...handlers, maxStaleMs: 3_000 }, lifetime.signal)
  await vi.runAllTimersAsync()
  await following
  expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual(expected)
})

test('an unexpected error is reported, and the key set is followed further', async () => {
  const lifetime = new AbortController()
  const fault = new TypeError('no such member')
  const errors: KeySetError[] = []
  let polls = 0
  const poll = async () => {
    polls += 1
    if (polls === 1) throw fault
    lifetime.abort()
    return undefined
  }
  const handlers = { poll, isWanted: () => true, onMode: () => {} }
  const onError = (error: KeySetError) => void errors.push(error)
  await follow({ ...handlers, maxStaleMs: 3_000, onError }, lifetime.signal)
  expect(errors).toMatchObject([{ code: 'key_set_unavailable', cause: fault }])
  expect(polls).toBe(2)
})
