import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient, highLimits, type ServerClient } from '../support/server/client.ts'
import { workerPids } from '../support/server/command.ts'
import {
  freePort,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
let server: ServerProcess & { apiKey: string }
let client: ServerClient
let metrics: string
const acknowledged: string[] = []

beforeAll(async () => {
  const port = await freePort()
  metrics = `http://127.0.0.1:${port}/metrics`
  const env = { PUBRING_WORKERS: '2', PUBRING_METRICS_PORT: String(port) }
  server = await startServer(folder, { ...highLimits, ...env })
  client = createServerClient(server, server.apiKey)
})
afterAll(remove)

const wait = { timeout: 20_000, interval: 100 }

/** Sends each request on a new connection, so that every worker gets some. */
function ask(path: string, apiKey = server.apiKey): Promise<Response> {
  return fetch(server.url + path, { headers: { 'X-Api-Key': apiKey, Connection: 'close' } })
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(metrics)).text()
  const found = text.split('\n').filter((line) => line.startsWith(name))
  return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

test('kill -9 of workers under load: the others serve, each is replaced, nothing acknowledged is lost, no counter decreases', async () => {
  let ending = false
  const unknown: number[] = []
  const load = Array.from({ length: 4 }, async () => {
    while (!ending) {
      const kid = await client.create()
      if (kid === undefined) unknown.push(performance.now())
      else acknowledged.push(kid)
    }
  })
  const counts: number[] = []
  for (let round = 0; round < 2; round += 1) {
    await delay(600)
    counts.push(await metric('pubring_http_requests_total'))
    const [victim = 0] = workerPids(server)
    process.kill(victim, 'SIGKILL')
    await vi.waitUntil(
      () => workerPids(server).length === 2 && !workerPids(server).includes(victim),
      wait,
    )
    await vi.waitUntil(async () => (await metric('pubring_workers_ended_total')) > round, wait)
  }
  await delay(1_200)
  ending = true
  await Promise.all(load)
  counts.push(await metric('pubring_http_requests_total'))
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  const kids = await client.kids()
  expect(countLost(acknowledged, kids)).toBe(0)
  expect(server.output().match(/ended \(SIGKILL\); starting another/g)).toHaveLength(2)
  recordFault({
    fault: 'A worker process dies (PUBRING_WORKERS=2)',
    action: 'kill -9 of two workers, one after the other, while four clients create keys',
    observed: `each was replaced while the other served; ${unknown.length} requests cut off without an response; metrics never fall`,
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})

test('SIGTERM to the parent drains all workers; a second one ends them immediately', async () => {
  const creating = Array.from({ length: 20 }, () => client.create())
  await Promise.race(creating)
  const pids = workerPids(server)
  server.signal('SIGTERM')
  const kids = await Promise.all(creating)
  expect(kids).not.toContain(undefined)
  expect(await server.ended).toBe(0)
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow()

  const again = await startServer(folder, { ...highLimits, PUBRING_WORKERS: '2' })
  expect(again.apiKey).toBe('')
  again.signal('SIGTERM')
  await delay(150)
  const began = performance.now()
  again.signal('SIGTERM')
  expect(await again.ended).toBe(70)
  expect(performance.now() - began).toBeLessThan(350)
})

test('workers that cannot start: the others serve; with none left the parent exits', async () => {
  const env = { ...highLimits, PUBRING_WORKERS: '2', PUBRING_LOG_LEVEL: 'info' }
  server = await startServer(folder, env)
  await vi.waitUntil(() => server.output().match(/Server listening/g)?.length === 2, wait)
  const file = join(folder, 'data/pubring.db')
  expect((await ask('/v1/projects/default/.well-known/jwks.json')).status).toBe(200)
  renameSync(file, `${file}.away`)
  const [victim = 0] = workerPids(server)
  process.kill(victim, 'SIGKILL')
  await vi.waitUntil(() => /exit code 66\); starting another/.test(server.output()), wait)
  expect((await ask('/health/live')).status).toBe(200)
  for (const pid of workerPids(server)) process.kill(pid, 'SIGKILL')
  expect(await server.ended).toBe(70)
  expect(server.output()).toMatch(/right after its start, like those before it: giving up\.\n$/)
  renameSync(`${file}.away`, file)
  recordFault({
    fault: 'Workers that cannot start',
    action: 'pubring.db moved away, then one worker killed, then all',
    observed:
      'while one serves, the parent retries at least every 5 s; with none left it exits after five failures, with one line and code 70',
    acknowledged: 0,
    lost: 0,
  })
})
