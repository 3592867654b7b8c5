import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { type Balancer, startBalancer } from '../support/network/balancer.ts'
import { readJson } from '../support/server/process.ts'
import { createReplicas, type Replica, registerKey } from '../support/server/replicas.ts'
import { createDatabase } from '../support/store/database.ts'
import { waitUntil } from '../support/waiting.ts'

const restarts = 10
const writesPerSecond = 100

/** Writes that may be unanswered at a time: a slow machine makes fewer than 100 a second. */
const maxPending = 16

const database = await createDatabase('postgres')
const replicas = createReplicas(database.url)
const serving: [Replica, Replica] = [await replicas.add(), await replicas.add()]
const kids = await Promise.all(Array.from({ length: 20 }, () => registerKey(serving[0], 'default')))

interface Written {
  label: string
  status: number
  body: string
  /** Milliseconds since the first write. */
  at: number
}

/** Changes labels at a steady rate. Returns a function that stops it. */
function startWrites(url: string): () => Promise<Written[]> {
  const { apiKey } = serving[0]
  const began = performance.now()
  const sent: Promise<Written>[] = []
  let pending = 0
  async function write(number: number): Promise<Written> {
    const label = `write ${number}`
    const at = Math.round(performance.now() - began)
    const kid = kids[number % kids.length]
    try {
      const response = await fetch(`${url}/v1/projects/default/jwt-keys/${kid}`, {
        method: 'PATCH',
        headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({ label }),
      })
      return { label, status: response.status, body: await response.text(), at }
    } catch (error) {
      return { label, status: 0, body: String(Object(error).cause), at }
    } finally {
      pending -= 1
    }
  }
  const timer = setInterval(() => {
    if (pending >= maxPending) return
    pending += 1
    sent.push(write(sent.length))
  }, 1_000 / writesPerSecond)
  return async () => {
    clearInterval(timer)
    return Promise.all(sent)
  }
}

/** Stops one replica and starts it again in its place, as a supervisor does, until the balancer uses it. */
async function restart(place: 0 | 1, balancer: Balancer): Promise<void> {
  const { url, signal, ended } = serving[place]
  signal('SIGTERM')
  expect(await ended).toBe(0)
  serving[place] = await replicas.add({ PUBRING_PORT: new URL(url).port })
  await waitUntil(async () => (await answeredBy(balancer)) === url)
}

/** The address of the replica that answers through the balancer: the type of each error begins with it. */
async function answeredBy(balancer: Balancer): Promise<string> {
  const { type } = await readJson<{ type: string }>(await fetch(`${balancer.url}/v1/self`))
  return new URL(type).origin
}

/** The labels in the events of changes, the oldest first. */
async function storedLabels(): Promise<string[]> {
  const rows = await database.query(
    "select changes from event where type = 'key.updated' order by revision",
  )
  return rows.map(({ changes }) => JSON.parse(String(changes)).label?.to)
}

test.each([
  ['HAProxy', 'haproxy'],
  ['nginx', 'nginx'],
] as const)('ten rolling restarts behind %s fail no write', async (title, name) => {
  const balancer = await startBalancer(name, [serving[0].url, serving[1].url])
  const before = (await storedLabels()).length
  const began = performance.now()
  const stop = startWrites(balancer.url)
  await delay(1_000)
  for (let turn = 0; turn < restarts; turn += 1) await restart(turn % 2 === 0 ? 0 : 1, balancer)
  const written = await stop()
  const seconds = Math.round((performance.now() - began) / 1_000)
  const failed = written.filter(({ status }) => status !== 200)
  expect(failed, balancer.errors()).toEqual([])
  const labels = written.map(({ label }) => label)
  const stored = (await storedLabels()).slice(before)
  expect(stored.toSorted()).toEqual(labels.toSorted())
  recordFault({
    fault: `Rolling restarts behind ${title} (PostgreSQL)`,
    action: `SIGTERM and a new start of two replicas in turn, ${restarts} times in ${seconds} s, with up to ${writesPerSecond} changes a second through the configuration in deploy/`,
    observed: 'every change 200, and made once',
    acknowledged: labels.length,
    lost: countLost(labels, stored),
  })
})
