import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { serveMetrics } from '../../../../packages/server/src/kernel/http/metrics.ts'
import { startApp } from '../../../support/app/app.ts'
import { testClock } from '../../../support/app/clock.ts'
import { fetchJwks, jwksUrl, keysUrl, patchKey, registerKey } from '../../../support/app/keys.ts'
import { openEventStream } from '../../../support/network/event-stream.ts'
import { waitUntil } from '../../../support/waiting.ts'

const clock = testClock()

const server = await startApp({ clock, http: { metrics: true } })
const base = await server.listen()

/** The lines of the metrics as name and labels to value. */
async function metrics(): Promise<Map<string, number>> {
  // A count is made once the answer is on its way.
  await delay(20)
  const text = (await server.app.metrics?.metrics()) ?? ''
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

describe('the metrics', () => {
  test('count requests by route, status and code, and the keys that are refused by the rule', async () => {
    await registerKey(server)
    await server.send('GET', keysUrl)
    await server.send('GET', keysUrl)
    await server.inject({ method: 'GET', url: keysUrl })
    await server.inject({ method: 'GET', url: '/nowhere/secret-word' })
    await server.send('POST', keysUrl, {
      body: { name: 'n', algorithm: 'RSA', publicKeyPem: 'none' },
    })
    const seen = await metrics()
    const route = '/v1/projects/:projectIdOrName/jwt-keys'
    const count = (method: string, status: number, code: string, of = route) =>
      seen.get(
        `pubring_http_requests_total{method="${method}",route="${of}",status="${status}",code="${code}"}`,
      )
    expect(count('POST', 201, '')).toBe(1)
    expect(count('GET', 200, '')).toBe(2)
    expect(count('GET', 401, 'missing_api_key')).toBe(1)
    expect(count('POST', 400, 'invalid_key_pem')).toBe(1)
    expect(count('GET', 404, 'route_not_found', 'none')).toBe(1)
    expect(seen.get('pubring_key_refusals_total{code="pem_not_found"}')).toBe(1)
    const durations = `pubring_http_request_duration_seconds_count{method="GET",route="${route}"}`
    expect(seen.get(durations)).toBe(3)
  })

  test('hold no name, id, address or secret, and few values for each label', async () => {
    // The primary's address is that of the operator's own database.
    const text = ((await server.app.metrics?.metrics()) ?? '').replace(
      /^pubring_database_primary\{.*/m,
      '',
    )
    for (const word of [server.project.id, 'payments', server.admin, 'secret-word', '127.0.0.1']) {
      expect(text).not.toContain(word)
    }
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/)
  })

  test('tell key sets that were sent from those that were known, and how old they are', async () => {
    const before = await metrics()
    const { etag } = (await fetchJwks(server)).headers
    await fetchJwks(server, { 'if-none-match': String(etag) })
    await fetchJwks(server, {}, '/v1/projects/none/.well-known/jwks.json')
    const after = await metrics()
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    expect(grown('pubring_published_total{status="200"}')).toBe(1)
    expect(grown('pubring_published_total{status="304"}')).toBe(1)
    expect(grown('pubring_published_age_seconds_count')).toBe(2)
    expect(after.get('pubring_published_stale_total')).toBe(0)
    expect(after.get('pubring_starting')).toBe(0)
  })

  test('count keys by algorithm and state, and the seconds to the next expiry', async () => {
    const expireTime = new Date(clock.now() + 600_000).toISOString()
    await registerKey(server, { expireTime })
    await patchKey(server, await registerKey(server), { active: false })
    const recounted = async () => {
      clock.advance(60_000)
      await metrics()
      return waitUntil(async () => {
        const found = await metrics()
        return Number(found.get('pubring_keys_age_seconds')) < 30 && found
      })
    }
    const seen = await recounted()
    expect(seen.get('pubring_keys_count_failed')).toBe(0)
    expect(seen.get('pubring_keys{algorithm="ES256",state="active"}')).toBe(2)
    expect(seen.get('pubring_keys{algorithm="ES256",state="off"}')).toBe(1)
    const expiry = seen.get('pubring_next_key_expiry_seconds') ?? 0
    expect(expiry).toBeGreaterThan(500)
    expect(expiry).toBeLessThanOrEqual(600)
    clock.advance(600_000)
    const later = await recounted()
    expect(later.get('pubring_keys{algorithm="ES256",state="expired"}')).toBe(1)
    expect(later.has('pubring_next_key_expiry_seconds')).toBe(false)
  })

  test('say when the keys cannot be counted, and keep the last counts', async () => {
    const before = (await metrics()).get('pubring_keys{algorithm="ES256",state="off"}')
    const fault = await server.database.destroy()
    clock.advance(60_000)
    const failed = await waitUntil(async () => {
      const found = await metrics()
      return found.get('pubring_keys_count_failed') === 1 && found
    })
    expect(failed.get('pubring_keys{algorithm="ES256",state="off"}')).toBe(before)
    expect(failed.get('pubring_keys_age_seconds')).toBeGreaterThanOrEqual(60)
    await fault.restore()
    // Not only after a minute: a count that failed at once has cost nothing.
    await waitUntil(async () => (await metrics()).get('pubring_keys_count_failed') === 0)
  })

  test('say who waits, and do not count waiting as slowness', async () => {
    const { etag } = (await fetchJwks(server)).headers
    const known = { 'if-none-match': String(etag) }
    const held = fetch(base + jwksUrl, { headers: { ...known, prefer: 'wait=1' } })
    const events = await openEventStream(`${base}/v1/projects/payments/events`, {
      'x-api-key': server.admin,
    })
    await events.waitForEvents(1)
    const seen = await metrics()
    expect(seen.get('pubring_held_requests')).toBe(1)
    expect(seen.get('pubring_event_streams')).toBe(1)
    expect(seen.get('pubring_open_connections')).toBeGreaterThanOrEqual(2)
    clock.advance(1_000)
    expect((await held).status).toBe(304)
    events.close()
    await events.endedCleanly
    const after = await metrics()
    expect(after.get('pubring_held_requests')).toBe(0)
    expect(after.get('pubring_storage_readable')).toBe(1)
    expect(after.get('pubring_storage_writable')).toBe(1)
  })

  test('are on a port of their own, at /metrics alone, and nowhere else', async () => {
    const own = await serveMetrics(
      { host: '127.0.0.1', port: 0 },
      async () => (await server.app.metrics?.metrics()) ?? '',
    )
    const address = own.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const found = await fetch(`http://127.0.0.1:${port}/metrics`)
    expect(found.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await found.text()).toContain('nodejs_eventloop_lag_p99_seconds')
    expect((await fetch(`http://127.0.0.1:${port}/v1/projects`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(404)
    own.closeAllConnections()
    own.close()
    expect((await fetch(`${base}/metrics`)).status).toBe(404)
  })

  test('count key sets that a server without its database did not serve, and tell that one is starting', async () => {
    const before = await metrics()
    const fault = await server.database.destroy()
    const folder = '/v1/projects/unseen/.well-known'
    const failed = await server.app.inject(`${folder}/jwks.json`)
    const unproven = await server.app.inject(`${folder}/ledger-proof`)
    await fault.restore()
    expect([failed.statusCode, unproven.statusCode]).toEqual([503, 503])
    const name = 'pubring_published_total{status="503"}'
    const after = await metrics()
    expect((after.get(name) ?? 0) - (before.get(name) ?? 0)).toBe(1)
    server.app.readiness.starting = true
    const starting = await metrics()
    server.app.readiness.starting = false
    expect(starting.get('pubring_starting')).toBe(1)
  })
})
