import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../../support/faults/results.ts'
import { createServerClient, highLimits } from '../../support/server/client.ts'
import { startServer, temporaryFolder } from '../../support/server/process.ts'

const { folder } = temporaryFolder()

/** Duration of the load; `SOAK_SECONDS=600 npm run test:day -- soak` takes ten minutes. */
const seconds = Number(process.env.SOAK_SECONDS ?? 60)

function memory(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

test(`${seconds} s at full load: memory stays flat, every response is correct`, {
  timeout: (seconds + 120) * 1_000,
}, async () => {
  const server = await startServer(folder, highLimits)
  const client = createServerClient(server, server.apiKey)
  const kept: string[] = []
  const kids = '/v1/projects/default/jwt-keys'
  for (let count = 0; count < 40; count += 1) kept.push(String(await client.create()))
  const statuses: Record<string, number> = {}
  let ending = false
  const note = (status: number | undefined) => {
    statuses[String(status)] = (statuses[String(status)] ?? 0) + 1
  }
  /** Creates, deactivates and deletes a key, so that the load can continue without limit. */
  async function change(): Promise<void> {
    const kid = await client.create()
    note(kid === undefined ? undefined : 201)
    note((await client.send('PATCH', `${kids}/${kid}`, { active: false }))?.status)
    note((await client.send('DELETE', `${kids}/${kid}`))?.status)
  }
  const loads = [change, change, change, change].map(async (load) => {
    while (!ending) await load()
  })
  for (let reader = 0; reader < 4; reader += 1) {
    loads.push(
      (async () => {
        while (!ending) {
          note((await client.jwks())?.status)
          note((await client.send('GET', kids))?.status)
        }
      })(),
    )
  }
  const samples: number[] = []
  for (let sample = 0; sample < 60; sample += 1) {
    await delay((seconds * 1_000) / 60)
    samples.push(memory(server.pid))
  }
  ending = true
  await Promise.all(loads)
  /** The minimum of a third, which is the memory after garbage collections. */
  const floor = (third: number) => Math.min(...samples.slice(third * 20, third * 20 + 20))
  expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '204'])
  expect(floor(2)).toBeLessThan(1.2 * Math.max(floor(0), floor(1)) + 20)
  const lost = countLost(kept, await client.kids())
  expect(lost).toBe(0)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  const requests = Object.values(statuses).reduce((all, count) => all + count, 0)
  recordFault({
    fault: 'Full load for a long time',
    observed: `${requests} requests in ${seconds} s, all answered correctly; memory ${Math.round(floor(0))}, ${Math.round(floor(1))}, ${Math.round(floor(2))} MB in the three thirds`,
    acknowledged: (statuses['201'] ?? 0) + kept.length,
    lost,
  })
})
