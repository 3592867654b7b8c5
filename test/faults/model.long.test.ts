import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { findViolation } from '../support/faults/linearizability.ts'
import { createRecordedLoad, repeat } from '../support/faults/recorded-load.ts'
import { recordFault } from '../support/faults/results.ts'
import { highLimits } from '../support/server/client.ts'
import { workerPids } from '../support/server/command.ts'
import { spawnServer, startServer, temporaryFolder, whenReady } from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
afterAll(remove)

const duration = 20_000

test('the history of two servers under kills is linearizable, and key sets are at most a second old', async () => {
  const first = await startServer(folder, { ...highLimits, PUBRING_WORKERS: '2' })
  const { apiKey } = first
  const env = { ...highLimits, PUBRING_PUBLIC_URL: first.url }
  let second = await spawnServer(folder, env)
  await whenReady(second)

  const url = () => (Math.random() < 0.5 ? first.url : second.url)
  const load = createRecordedLoad(url, apiKey, 'default', 100)
  const { write, list, look, history } = load
  const ending = new AbortController()
  const run = (action: () => Promise<void>, pause: number) => repeat(action, pause, ending.signal)
  const clients = [write, write, write, write].map((action) => run(action, 40))
  clients.push(run(list, 30), run(list, 30), run(look, 30), run(look, 30))

  let kills = 0
  const until = performance.now() + duration
  while (performance.now() < until) {
    await delay(700 + 800 * Math.random())
    kills += 1
    if (kills % 3 === 0) {
      second.signal('SIGKILL')
      await second.ended
      second = await spawnServer(folder, env)
      await whenReady(second)
    } else {
      const [victim = 0] = workerPids(first)
      process.kill(victim, 'SIGKILL')
    }
  }
  ending.abort()
  await Promise.all(clients)
  await load.complete()
  expect(findViolation(history)).toBeUndefined()
  const answered = history.writes.filter(({ answered: at }) => Number.isFinite(at)).length
  expect(answered).toBeGreaterThan(100)
  expect(history.lists.length).toBeGreaterThan(100)
  for (const server of [first, second]) {
    server.signal('SIGTERM')
    expect(await server.ended, server.output().slice(-2_000)).toBe(0)
  }
  const main = join(import.meta.dirname, '../../src/main.ts')
  expect(execFileSync(process.execPath, [main, 'check'], { cwd: folder }).toString()).toMatch(
    /whole/,
  )
  recordFault({
    fault: 'Model check under kills',
    action: `four writers, two listers and two verifiers for ${duration / 1_000} s on two servers of one database, one of them with two workers, and ${kills} kill -9 of workers and servers`,
    observed: `${history.writes.length} changes (${history.writes.length - answered} without a response), ${history.lists.length} lists and ${history.published.length} key sets: linearizable, key sets at most 1 s behind`,
    acknowledged: answered,
    lost: 0,
  })
})
