import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { findViolation } from '../support/faults/linearizability.ts'
import { createRecordedLoad, repeat } from '../support/faults/recorded-load.ts'
import { recordFault } from '../support/faults/results.ts'
import { highLimits } from '../support/server/client.ts'
import {
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'

const { folder } = temporaryFolder()

const duration = 20_000

test('the history of two servers under kills is linearizable, and key sets are at most a second old', async () => {
  const first = await startServer(folder, highLimits)
  const { apiKey } = first
  const env = { ...highLimits, PUBRING_PUBLIC_URL: first.url }
  const servers: [ServerProcess, ServerProcess] = [first, await spawnServer(folder, env)]
  await whenReady(servers[1])

  const url = () => servers[Math.random() < 0.5 ? 0 : 1].url
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
    const victim = kills % 3 === 0 ? 0 : 1
    kills += 1
    servers[victim].signal('SIGKILL')
    await servers[victim].ended
    servers[victim] = await spawnServer(folder, env)
    await whenReady(servers[victim])
  }
  ending.abort()
  await Promise.all(clients)
  await load.complete()
  expect(findViolation(history)).toBeUndefined()
  const answered = history.writes.filter(({ answered: at }) => Number.isFinite(at)).length
  expect(answered).toBeGreaterThan(100)
  expect(history.lists.length).toBeGreaterThan(100)
  for (const server of servers) {
    server.signal('SIGTERM')
    expect(await server.ended, server.output().slice(-2_000)).toBe(0)
  }
  const main = join(import.meta.dirname, '../../bin/pubring.js')
  expect(execFileSync(process.execPath, [main, 'check'], { cwd: folder }).toString()).toMatch(
    /whole/,
  )
  recordFault({
    fault: 'Model check under kills',
    observed: `${history.writes.length} changes (${history.writes.length - answered} without a response), ${history.lists.length} lists and ${history.published.length} key sets with ${kills} kills: linearizable, key sets at most 1 s behind`,
    acknowledged: answered,
    lost: 0,
  })
})
