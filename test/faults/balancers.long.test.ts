import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordFault } from '../support/faults/results.ts'
import { type Balancer, startBalancer } from '../support/network/balancer.ts'
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts'
import { createReplicas, kidsOf, registerKey } from '../support/server/replicas.ts'
import { createDatabase } from '../support/store/database.ts'

const jwksPath = '/v1/projects/default/.well-known/jwks.json'

const settings = { PUBRING_JWKS_STALE_LIMIT: '100s' }

const database = await createDatabase('postgres')
const { port } = new URL(database.url)
const proxies = [await startTcpProxy(Number(port)), await startTcpProxy(Number(port))]
const replicas = createReplicas(database.url)
const add = (proxy: TcpProxy | undefined) =>
  replicas.add({
    ...settings,
    PUBRING_DATABASE_URL: database.url.replace(port, String(proxy?.port)),
  })
const first = await add(proxies[0])
const other = await add(proxies[1])
const balancers = await Promise.all([
  startBalancer('haproxy', [first.url, other.url]),
  startBalancer('nginx', [first.url, other.url]),
])

/** A response with a key set, or without one if the status is not 200. */
interface Fetched {
  balancer: string
  client: number
  status: number
  kids: string[]
  isStale: boolean
  /** When it was complete. */
  at: number
}

/** Verifiers that fetch the key set again and again through each balancer; the last of three waits for changes. */
function verifiers(): { fetched: Fetched[]; stop(): Promise<void> } {
  const fetched: Fetched[] = []
  let stopped = false
  async function verify({ name, url }: Balancer, client: number): Promise<void> {
    let etag = ''
    while (!stopped) {
      const live = { 'if-none-match': etag, prefer: 'wait=2' }
      const response = await fetch(url + jwksPath, client === 2 ? { headers: live } : {})
      const text = await response.text()
      if (response.status === 304) continue
      etag = response.headers.get('etag') ?? ''
      fetched.push({
        balancer: name,
        client,
        status: response.status,
        kids:
          response.status === 200
            ? JSON.parse(text).keys.map((key: { kid: string }) => key.kid)
            : [],
        isStale: response.headers.has('age'),
        at: performance.now(),
      })
      if (response.headers.has('age')) {
        expect(response.headers.get('cache-control')).toBe('public, max-age=0')
      }
      await delay(10)
    }
  }
  const running = balancers.flatMap((balancer) =>
    [0, 1, 2].map((client) => verify(balancer, client)),
  )
  return {
    fetched,
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}

async function untilFresh(): Promise<void> {
  for (const replica of replicas.all()) {
    while (!(await replica.call('GET', '/health/ready')).body.includes('fresh')) await delay(50)
  }
}

test('an outage for all: every verifier gets a key set through every balancer, all the time', async () => {
  const kid = await registerKey(first, 'default')
  await delay(1_100)
  const running = verifiers()
  await delay(500)
  const began = performance.now()
  for (const fault of ['cut', 'block'] as const) {
    for (const proxy of proxies) proxy[fault]()
    await delay(5_000)
  }
  const refused = await fetch(`${balancers[0]?.url}/v1/projects/default/jwt-keys`, {
    headers: { 'X-Api-Key': first.apiKey },
  })
  expect([refused.status, JSON.parse(await refused.text()).code]).toEqual([
    503,
    'storage_unavailable',
  ])
  const ended = performance.now()
  for (const proxy of proxies) proxy.restore()
  await untilFresh()
  await delay(1_000)
  await running.stop()
  for (const { name } of balancers) {
    const during = running.fetched.filter(({ balancer, at }) => balancer === name && at > began)
    expect(during.length).toBeGreaterThan(50)
    expect(new Set(during.map(({ status }) => status))).toEqual(new Set([200]))
    for (const { kids } of during) expect(kids).toContain(kid)
    expect(during.filter(({ isStale, at }) => isStale && at < ended).length).toBeGreaterThan(50)
    expect(running.fetched.findLast(({ balancer }) => balancer === name)?.isStale).toBe(false)
  }
  const requests = running.fetched.length.toLocaleString('en')
  recordFault({
    fault: 'Database away from all replicas, behind HAProxy and nginx',
    observed: `${requests} key sets, all 200; stale ones with Age and max-age=0; lists 503`,
    acknowledged: 1,
    lost: 1 - (await kidsOf(first, 'default')).filter((one) => one === kid).length,
  })
}, 60_000)

test.each(balancers)(
  '$name closes a connection whose request never ends',
  async ({ url }) => {
    const { hostname, port: balancerPort } = new URL(url)
    const socket = connect(Number(balancerPort), hostname)
    const dripping = setInterval(() => socket.write('X-Header: x\r\n'), 1_000)
    socket.on('error', () => {}).write('GET / HTTP/1.1\r\n')
    socket.resume()
    await once(socket, 'close')
    clearInterval(dripping)
  },
  120_000,
)

test('one replica cut off: through the balancers a revoked key is gone within a second', async () => {
  const [proxyOfFirst, proxyOfOther] = proxies
  if (proxyOfFirst === undefined || proxyOfOther === undefined) throw new Error('no proxies')
  const delays: number[] = []
  const kids: string[] = []
  for (const fault of ['cut', 'block'] as const) {
    const kid = await registerKey(first, 'default')
    kids.push(kid)
    await delay(1_100)
    const running = verifiers()
    await delay(500)
    // It cannot have seen the change.
    proxyOfOther[fault]()
    const path = `/v1/projects/default/jwt-keys/${kid}`
    const sent = performance.now()
    expect((await first.call('PATCH', path, { active: false })).status).toBe(200)
    const revoked = performance.now()
    await delay(3_000)
    await running.stop()
    proxyOfOther.restore()
    await untilFresh()
    const after = running.fetched.filter(({ at }) => at > revoked)
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]))
    for (const { name } of balancers) {
      const seen = after.filter(({ balancer }) => balancer === name)
      expect(seen.length).toBeGreaterThan(50)
      const last = seen.findLast((one) => one.kids.includes(kid))?.at ?? revoked
      // A held request may be answered before the change is.
      const since = running.fetched.filter(({ balancer, at }) => balancer === name && at > sent)
      for (const client of [0, 1, 2]) {
        const informed = since.find((one) => one.client === client && !one.kids.includes(kid))
        delays.push((informed?.at ?? Number.POSITIVE_INFINITY) - sent)
      }
      expect(last - revoked, `${name}, ${fault}`).toBeLessThan(1_000)
    }
  }
  recordFault({
    fault: 'One replica cut off from the database, behind HAProxy and nginx',
    observed: `a key deactivated through the other: all verifiers knew after ${Math.round(Math.max(...delays))} ms, those with held requests included; every request 200`,
    acknowledged: kids.length,
    lost: kids.length - (await kidsOf(first, 'default')).filter((one) => kids.includes(one)).length,
  })
}, 60_000)

test('both replicas killed: every verifier gets a key set as soon as one is back', async () => {
  const kid = await registerKey(first, 'default')
  for (const replica of [first, other]) {
    replica.signal('SIGKILL')
    await replica.ended
  }
  // The checks find out that they are away, and cannot know yet that one is back.
  await delay(2_000)
  const back = await replicas.add({ ...settings, PUBRING_PORT: new URL(first.url).port })
  const running = verifiers()
  await delay(2_000)
  await running.stop()
  expect(new Set(running.fetched.map(({ status }) => status))).toEqual(new Set([200]))
  for (const { name } of balancers)
    expect(running.fetched.filter(({ balancer }) => balancer === name).length).toBeGreaterThan(20)
  recordFault({
    fault: 'Both replicas killed, behind HAProxy and nginx',
    observed: `from the moment one is ready, ${running.fetched.length} key sets, all 200`,
    acknowledged: 1,
    lost: 1 - (await kidsOf(back, 'default')).filter((one) => one === kid).length,
  })
}, 60_000)
