import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { lockDatabase } from '../support/faults/database.ts'
import { countLost, recordFault } from '../support/faults/results.ts'
import {
  chownToUnprivileged,
  createServerClient,
  freshPem,
  highLimits,
  problemCode,
  type ServerResponse,
  unprivilegedUid,
} from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

function place(name: string): string {
  const where = join(folder, name)
  mkdirSync(where)
  return where
}

test('locked by another process for 20 s: writes are 503 with Retry-After and change nothing, reads succeed', async () => {
  const where = place('20 s')
  const server = await startServer(where, highLimits)
  const client = createServerClient(server, server.apiKey)
  const first = (await client.create()) ?? ''
  const lock = lockDatabase(join(where, 'data/pubring.db'))
  const writes: Promise<ServerResponse | undefined>[] = []
  const health: number[] = []
  const until = performance.now() + 20_000
  while (performance.now() < until) {
    const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
    writes.push(client.send('POST', '/v1/projects/default/jwt-keys', body))
    writes.push(client.send('PATCH', `/v1/projects/default/jwt-keys/${first}`, { active: false }))
    const live = await client.health('live')
    health.push(live?.ms ?? Number.POSITIVE_INFINITY)
    expect((await client.jwks())?.text).toContain(first)
    expect(await client.kids()).toEqual([first])
    await delay(200)
  }
  const refused = await Promise.all(writes.slice(0, writes.length - 60))
  const ready = await client.health('ready')
  expect(JSON.parse(ready?.text ?? '')).toEqual({ status: 'ok', state: 'fresh', writes: 'failing' })
  lock.release()
  for (const response of refused) {
    expect(response?.status).toBe(503)
    expect(problemCode(response)).toBe('storage_unavailable')
    expect(Number(response?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(response?.ms).toBeLessThan(12_000)
  }
  const all = await Promise.all(writes)
  const made = all
    .filter((response) => response?.status === 201)
    .map((a) => JSON.parse(a?.text ?? '').kid)
  const acknowledged = [first, ...made, String(await client.create())]
  const kids = await client.kids()
  expect(kids.toSorted()).toEqual(acknowledged.toSorted())
  expect(Math.max(...health)).toBeLessThan(1_000)
  expect(JSON.parse((await client.health('ready'))?.text ?? '')).toEqual({
    status: 'ok',
    state: 'fresh',
  })
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'SQLite locked by another process, 20 s',
    observed: `changes 503 with Retry-After after 5 s; key sets and lists 200; health in ${Math.round(Math.max(...health))} ms at most; changes 201 again once free`,
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})

test('locked by another process for 3 s: writes are delayed, everything else is unaffected, SIGTERM exits with 0', async () => {
  chownToUnprivileged(folder)
  const where = place('3 s')
  chownToUnprivileged(where)
  const uid = unprivilegedUid()
  const server = await startServer(where, highLimits, uid === undefined ? {} : { uid })
  const client = createServerClient(server, server.apiKey)
  const first = (await client.create()) ?? ''
  const lock = lockDatabase(join(where, 'data/pubring.db'))
  const creating = [client.create(), client.create()]
  const waits: number[] = []
  const until = performance.now() + 3_000
  while (performance.now() < until) {
    for (const response of await Promise.all([client.jwks(), client.health('ready')])) {
      expect(response?.status).toBe(200)
      waits.push(response?.ms ?? 0)
    }
    expect(await client.kids()).toEqual([first])
    await delay(100)
  }
  lock.release()
  const late = await Promise.all(creating)
  expect(late).not.toContain(undefined)
  const acknowledged = [first, ...late.map(String)]
  const lost = countLost(acknowledged, await client.kids())
  expect(lost).toBe(0)
  expect(Math.max(...waits)).toBeLessThan(1_000)

  const again = lockDatabase(join(where, 'data/pubring.db'))
  const pending = client.create()
  await delay(200)
  const start = performance.now()
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  expect(performance.now() - start).toBeLessThan(10_000)
  expect(await pending).toBeUndefined()
  again.release()
  recordFault({
    fault: 'SQLite locked by another process, 3 s',
    observed: `creates waited, then succeeded; lists, key sets and health 200, the slowest in ${Math.round(Math.max(...waits))} ms`,
    acknowledged: acknowledged.length,
    lost,
  })
})
