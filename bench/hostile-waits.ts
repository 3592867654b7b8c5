/**
 * The time until an honest held request learns of a change, as the last of 10,000 for one key set.
 * The others are hostile: the longest headers that are parsed, from an address each. The change
 * answers none of them (`If-None-Match: *`), or all; then they are repeated after a while, or at
 * once, which doubles the work. The target, without that flood, is one second. On a busy machine only
 * the server's CPU time until then is reliable. Linux.
 *
 *   npm run bench:hostile-waits [requests]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { registerKey } from '../test/support/server/replicas.ts'
import type { HostileWaits } from './hostile/waits.ts'
import { cpuMicros, residentMib } from './load/usage.ts'
import { machine } from './report/machine.ts'
import { createDatabases } from './server/databases.ts'
import { type BenchServer, startServer } from './server/start.ts'

const count = Number(process.argv[2] ?? 10_000) - 1
const changes = 4
const settleMs = 4_000
const path = '/v1/projects/default/.well-known/jwks.json'
const print = (line: string) => process.stdout.write(`${line}\n`)

/** Milliseconds from the start of a change until a request that waits for it is answered. */
interface News {
  clock: number
  cpu: number
}

async function timeOfNews(
  { replica, pids }: BenchServer,
  kid: string,
  active: boolean,
): Promise<News> {
  const { etag } = await replica.call('GET', path)
  const headers = { 'If-None-Match': etag, Prefer: 'wait=60' }
  const news = fetch(replica.url + path, { headers })
  await delay(1_000)
  const start = performance.now()
  const cpuBefore = cpuMicros(pids)
  const changed = replica.call('PATCH', `/v1/projects/default/jwt-keys/${kid}`, { active })
  const answer = await news
  const clock = performance.now() - start
  const cpu = (cpuMicros(pids) - cpuBefore) / 1_000
  await answer.arrayBuffer()
  const { status } = await changed
  if (status !== 200 || answer.status !== 200) throw new Error(`${status} and ${answer.status}`)
  return { clock, cpu }
}

async function measure(
  label: string,
  { hostile = count, pauseMs = 2_000, tag }: { hostile?: number; pauseMs?: number; tag?: string },
): Promise<void> {
  const databases = createDatabases()
  const server = await startServer(await databases.create('sqlite'))
  const { replica, port, pids } = server
  const child = fork(new URL('./hostile/waits.ts', import.meta.url))
  try {
    await registerKey(replica, 'default')
    const kid = await registerKey(replica, 'default')
    const etag = tag ?? (await replica.call('GET', path)).etag
    const message: HostileWaits = { port, path, etag, count: hostile, pauseMs }
    child.send(message)
    await once(child, 'message')
    await delay(settleMs)
    const news: News[] = []
    for (let change = 0; change < changes; change += 1) {
      news.push(await timeOfNews(server, kid, change % 2 === 1))
      await delay(settleMs)
    }
    const texts = (times: number[]) => times.map((ms) => ms.toFixed(0)).join(', ')
    const times = texts(news.map(({ clock }) => clock))
    const cpu = texts(news.map((each) => each.cpu))
    const memory = `${residentMib(pids).toFixed(0)} MiB resident`
    print(`${label}: ${times} ms; CPU until then ${cpu} ms; ${memory}`)
  } finally {
    child.kill()
    await server.close()
    await databases.close()
  }
}

const { cpu, cores, node, load } = machine()
print(`${cpu}, ${cores} cores, Node ${node}; load average before: ${load}`)
await measure('no other request', { hostile: 0 })
await measure(`${count} others, none answered`, { tag: '*' })
await measure(`${count} others, all answered`, {})
await measure(`${count} others, all answered and repeated at once`, { pauseMs: 0 })
