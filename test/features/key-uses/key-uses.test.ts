import type { PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'
import { describe, expect, test } from 'vitest'
import { keyUseChanges } from '../../../packages/server/src/features/key-uses/changes.ts'
import { readKeyUses } from '../../../packages/server/src/features/key-uses/operations.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { hourMs, minuteMs, startKeyUses } from '../../support/app/key-uses.ts'
import { registerKey } from '../../support/app/keys.ts'
import { startWorkloadApp } from '../../support/app/workloads.ts'

const server = await startKeyUses({ http: { writeLimit: { limit: 1_000, window: 60 } } })

describe('a report', () => {
  test('says who has seen the key, when, and until when its tokens last', async () => {
    const used = await server.usedKey()
    const [lastTime, lastExp] = [server.timeIn(0), server.timeIn(hourMs)]
    const response = await server.report(used)
    expect([response.statusCode, response.json()]).toEqual([200, { unknown: [] }])
    const counted = { since: lastTime, interval: 3_600, reporters: 1, silent: 0 }
    const use = { ...counted, lastTime, lastReporter: 'orders-api', lastExp }
    expect(await server.use(used)).toEqual(use)
    const states = await server.send('GET', `/v1/projects/${used.name}/key-states`)
    expect(states.json()).toEqual([expect.objectContaining({ kid: used.kid, use })])
    const [listed] = (await server.send('GET', used.keys)).json()
    expect(listed).toHaveProperty('active', true)
    for (const member of ['use', 'details']) expect(listed).not.toHaveProperty(member)
  })

  test('is no change: no revision, no event, and nothing of the limit of changes', async () => {
    const used = await server.usedKey()
    const read = async () => {
      const project = await server.send('GET', `/v1/projects/${used.name}`)
      const events = await server.send('GET', `/v1/projects/${used.name}/events`)
      return [project.json(), events.json(), project.headers.etag]
    }
    const before = await read()
    const response = await server.report(used)
    expect(response.headers.ratelimit).toBeUndefined()
    expect(await read()).toEqual(before)
  })

  test('of kids that no key has names them by their index, and stores the others', async () => {
    const used = await server.usedKey()
    const published = await registerKey(server, { publishedKid: 'signer-1' }, used.keys)
    const use = { lastTime: server.timeIn(0), lastExp: '9999-12-31T00:00:00Z' }
    const response = await server.report(used, {
      uses: ['unknown', 'signer-1'].map((kid) => ({ kid, ...use })),
    })
    expect(response.json()).toEqual({ unknown: [0] })
    // A distant end counts for a year after the last use.
    const lastExp = server.timeIn(365 * 24 * hourMs)
    expect(await server.use(used, published)).toMatchObject({ ...use, lastExp })
    expect(await server.use(used)).not.toHaveProperty('lastTime')
  })

  test('never takes back an earlier one, and a time in the future counts as now', async () => {
    const used = await server.usedKey()
    const uses = (ms: number) => [
      { kid: used.kid, lastTime: server.timeIn(ms), lastExp: server.timeIn(ms) },
    ]
    const now = server.timeIn(0)
    await server.report(used, { uses: uses(hourMs) })
    const lastExp = server.timeIn(hourMs)
    expect(await server.use(used)).toMatchObject({ lastTime: now, lastExp })
    server.clock.advance(minuteMs)
    await server.report(used, { uses: uses(-hourMs) })
    expect(await server.use(used)).toMatchObject({ lastTime: now, lastExp })
    await server.report(used, { reporter: 'billing', uses: uses(0) })
    const later = { lastTime: server.timeIn(0), lastReporter: 'billing', lastExp, reporters: 2 }
    expect(await server.use(used)).toMatchObject(later)
  })

  test('sooner than 60 seconds after the last one is 429, and says when to come back', async () => {
    const used = await server.usedKey()
    await server.report(used)
    server.clock.advance(minuteMs - 1_500)
    const response = await server.report(used)
    expect([response.statusCode, response.json().code]).toEqual([429, 'rate_limited'])
    expect(response.headers['retry-after']).toBe('2')
    server.clock.advance(1_500)
    expect((await server.report(used)).statusCode).toBe(200)
  })

  test('is accepted again in a repeated attempt, and no other in the same millisecond', async () => {
    const used = await server.usedKey()
    const commit = (requestId: string) =>
      server.context.store.commit(keyUseChanges.reportKeyUses, {
        origin: { actor: { name: 'verifier' }, requestId, time: server.timeIn(0) },
        projectId: used.id,
        ...{ owner: 'verifier', reporter: 'orders-api', interval: 60, uses: [] },
      })
    const requestId = newId()
    await commit(requestId)
    await commit(requestId)
    await expect(commit(newId())).rejects.toMatchObject({ code: 'rate_limited' })
  })

  test.each([
    ['a name with a space', { reporter: 'orders api' }, '/reporter'],
    ['an interval below a minute', { interval: 59 }, '/interval'],
    ['a time without a zone', { uses: [{ kid: 'k', lastTime: '2026-01-02' }] }, '/uses/0/lastTime'],
    [
      'an end that is no time',
      { uses: [{ kid: 'k', lastTime: '2026-01-02T03:04:05Z', lastExp: '2026-02-30T00:00:00Z' }] },
      '/uses/0/lastExp',
    ],
    ['too many uses', { uses: Array(501).fill({ kid: 'k', lastTime: 'now' }) }, '/uses'],
    ['a member that nobody knows', { uses: [{ kid: 'k', lastSeen: 'now' }] }, '/uses/0'],
  ])('with %s is invalid', async (_what, members, pointer) => {
    const response = await server.report(await server.usedKey(), members)
    expect(response.statusCode, response.body).toBe(400)
    const pointers = response.json().errors.map((error: { pointer: string }) => error.pointer)
    expect(pointers.some((each: string) => each.startsWith(pointer))).toBe(true)
  })
})

describe('no report of a key', () => {
  test('says since when the verifiers have reported, and never that it is unused', async () => {
    const used = await server.usedKey()
    expect(await server.use(used)).toBeUndefined()
    await server.report(used, { uses: [] })
    server.clock.advance(minuteMs)
    await server.report(used, { reporter: 'billing', uses: [] })
    const since = server.timeIn(0)
    expect(await server.use(used)).toEqual({ since, interval: 3_600, reporters: 2, silent: 0 })
    server.clock.advance(minuteMs)
    const younger = await registerKey(server, {}, used.keys)
    expect(await server.use(used, younger)).toMatchObject({ since: server.timeIn(0) })
  })

  test('for three intervals makes a verifier silent, which its next report ends', async () => {
    const used = await server.usedKey()
    const reportTime = server.timeIn(0)
    await server.report(used, { interval: 120, uses: [] })
    await server.report(used, { reporter: 'billing', interval: 3_600, uses: [] })
    server.clock.advance(6 * minuteMs - 1)
    const both = { interval: 3_600, reporters: 2, silent: 0 }
    expect(await server.use(used)).toEqual({ since: reportTime, ...both })
    server.clock.advance(1)
    const silent = { ...both, reporters: 1, silent: 1, silentSince: reportTime }
    expect(await server.use(used)).toEqual({ since: reportTime, ...silent })
    const reporters = (await server.send('GET', used.uses)).json()
    expect(reporters).toEqual([
      { reporter: 'billing', since: reportTime, reportTime, silent: false },
      { reporter: 'orders-api', since: reportTime, reportTime, silent: true },
    ])
    // What it saw meanwhile may be lost, so it counts from now on.
    await server.report(used, { interval: 120, uses: [] })
    expect(await server.use(used)).toEqual({ since: server.timeIn(0), ...both })
  })
})

describe('the name of a reporter', () => {
  test('belongs to the API key that used it first, until a writer removes the reporter', async () => {
    const used = await server.usedKey()
    const [one, other] = [await server.apiKey('reader', used.id), await server.apiKey('reader')]
    await server.report(used, {}, one)
    server.clock.advance(minuteMs)
    const refused = await server.report(used, {}, other)
    expect([refused.statusCode, refused.json().code]).toEqual([409, 'reporter_taken'])
    expect((await server.report(used, {}, one)).statusCode).toBe(200)
    const remove = () => server.send('DELETE', `${used.uses}/orders-api`)
    expect((await remove()).statusCode).toBe(204)
    expect((await remove()).json().code).toBe('reporter_not_found')
    expect(await server.use(used)).toBeUndefined()
    expect((await server.report(used, {}, other)).statusCode).toBe(200)
  })

  test('of a workload belongs to its rule and subject, whatever API key it got', async () => {
    const workloads = await startWorkloadApp()
    await workloads.rule({ role: 'reader' })
    const report = async (subject: string) => {
      const headers = { 'x-api-key': await workloads.exchangedKey({ sub: subject }) }
      const body = { reporter: 'orders-api', uses: [] }
      return workloads.send('POST', '/v1/projects/payments/key-uses', { body, headers })
    }
    expect((await report('orders')).statusCode).toBe(200)
    workloads.clock.advance(minuteMs)
    expect((await report('orders')).statusCode).toBe(200)
    workloads.clock.advance(minuteMs)
    expect((await report('billing')).json().code).toBe('reporter_taken')
  })

  test('is one of 20 of its API key at most, and one of 1,000 in its project', async () => {
    const used = await server.usedKey()
    const apiKey = await server.apiKey('reader', used.id)
    for (let index = 0; index < 20; index += 1) {
      const reported = await server.report(used, { reporter: `verifier-${index}` }, apiKey)
      expect(reported.statusCode, reported.body).toBe(200)
    }
    const own = await server.report(used, { reporter: 'one-more' }, apiKey)
    expect(own.json()).toMatchObject({ code: 'reporter_limit_reached', limit: 20 })
    // As 49 other API keys would.
    await server.database.execute(
      `insert into key_reporter select project_id, reporter || '-' || number.value, owner || number.value / 20,
        report_interval, since, report_time, request_id
      from key_reporter, (with recursive n(value) as (select 1 union all select value + 1 from n where value < 49)
        select value from n) as number where project_id = ?`,
      used.id,
    )
    const refused = await server.report(used, { reporter: 'one-more' })
    expect(refused.json()).toMatchObject({ code: 'reporter_limit_reached', limit: 1_000 })
    server.clock.advance(minuteMs)
    const again = await server.report(used, { reporter: 'verifier-7' }, apiKey)
    expect(again.statusCode).toBe(200)
    expect(await server.use(used)).toMatchObject({ reporters: 1_000 })
  })
})

describe('a read', () => {
  test('shows each report at once, whoever cached it before, and its ETag changes', async () => {
    const used = await server.usedKey()
    for (const url of [`${used.keys}/${used.kid}`, `/v1/projects/${used.name}/key-states`]) {
      const tags = new Set<unknown>()
      for (const round of [1, 2, 3]) {
        // The response cache stores the second of equal requests.
        for (const _again of [1, 2, 3]) {
          const { headers } = await server.send('GET', url)
          tags.add(headers.etag)
        }
        expect(tags.size).toBe(round)
        server.clock.advance(minuteMs)
        expect((await server.report(used)).statusCode).toBe(200)
        const { body, headers } = await server.send('GET', url)
        expect(body).toContain(`"lastTime":"${server.timeIn(0)}"`)
        tags.add(headers.etag)
      }
    }
  })

  test('shows at once that all are silent, whoever cached it before', async () => {
    const used = await server.usedKey()
    await server.report(used)
    const silentSince = server.timeIn(0)
    for (const _again of [1, 2, 3]) expect(await server.use(used)).toMatchObject({ silent: 0 })
    server.clock.advance(3 * hourMs)
    const silent = { reporters: 0, silent: 1, silentSince, lastReporter: 'orders-api' }
    expect(await server.use(used)).toMatchObject(silent)
  })

  test('gives an ETag with which the key can be changed after the next report', async () => {
    const used = await server.usedKey()
    await server.report(used)
    const url = `${used.keys}/${used.kid}`
    const { headers } = await server.send('GET', url)
    server.clock.advance(minuteMs)
    await server.report(used)
    const patch = (label: string) =>
      server.send('PATCH', url, {
        body: { label },
        headers: { 'if-match': String(headers.etag) },
      })
    const changed = await patch('renamed')
    expect(changed.statusCode, changed.body).toBe(200)
    expect(changed.headers.etag).toBe((await server.send('GET', url)).headers.etag)
    expect((await patch('again')).json().code).toBe('precondition_failed')
  })
})

test('a deleted key takes its uses with it, and a deleted project all of them', async () => {
  const used = await server.usedKey()
  const kept = await registerKey(server, {}, used.keys)
  const lastTime = server.timeIn(0)
  await server.report(used, { uses: [used.kid, kept].map((kid) => ({ kid, lastTime })) })
  const rows = async (table: string) =>
    (await server.database.query(`select * from ${table} where project_id = ?`, used.id)).length
  const key = `${used.keys}/${used.kid}`
  const { algorithm, publicKeyPem } = (await server.send('GET', key)).json()
  await server.send('PATCH', key, { body: { active: false } })
  expect(await server.use(used)).toHaveProperty('lastTime')
  await server.send('DELETE', key)
  expect(await rows('key_use')).toBe(1)
  const imported = await server.send('POST', `/v1/projects/${used.name}/key-imports`, {
    body: { keys: [{ kid: used.kid, name: 'again', algorithm, publicKeyPem }] },
  })
  expect(imported.statusCode, imported.body).toBe(200)
  expect(await server.use(used)).toMatchObject({ reporters: 1 })
  expect(await server.use(used)).not.toHaveProperty('lastTime')
  expect(await server.use(used, kept)).toMatchObject({ lastTime })
  for (const kid of [used.kid, kept]) {
    await server.send('PATCH', `${used.keys}/${kid}`, { body: { active: false } })
    await server.send('DELETE', `${used.keys}/${kid}`)
  }
  expect([await rows('key_use'), await rows('key_reporter')]).toEqual([0, 1])
  await server.send('DELETE', `/v1/projects/${used.name}`)
  expect(await rows('key_reporter')).toBe(0)
})

test('a verifier that is removed takes its uses with it, and those of others stay', async () => {
  const used = await server.usedKey()
  await server.report(used, { reporter: 'billing' })
  const lastTime = server.timeIn(0)
  server.clock.advance(minuteMs)
  await server.report(used)
  await server.send('DELETE', `${used.uses}/orders-api`)
  await server.report(used, { uses: [] })
  expect(await server.use(used)).toMatchObject({ lastTime, lastReporter: 'billing', reporters: 2 })
})

test('a read gets the last use of each key alone, however many verifiers have seen it', async () => {
  const used = await server.usedKey()
  const kids = [used.kid]
  while (kids.length < 30) kids.push(await registerKey(server, {}, used.keys))
  const { context } = server
  let characters = 0
  const counting = {
    transformQuery: ({ node }: PluginTransformQueryArgs) => node,
    async transformResult({ result }: PluginTransformResultArgs) {
      characters += JSON.stringify(result.rows).length
      return result
    },
  }
  const store = { ...context.store, reader: context.store.reader.withPlugin(counting) }
  async function count() {
    characters = 0
    await readKeyUses({ ...context, store }, used.id)
    return characters
  }
  const lastTime = server.timeIn(0)
  const uses = kids.map((kid) => ({ kid, lastTime }))
  await server.report(used, { uses })
  const one = await count()
  for (let index = 1; index < 20; index += 1) {
    await server.report(used, { reporter: `verifier-${index}`, uses })
  }
  // Each verifier has a row of its own without the keys.
  expect((await count()) - one).toBeLessThan(19 * 400)
})
