import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { type Balancer, startBalancer } from '../support/network/balancer.ts'
import { readJson } from '../support/server/process.ts'
import {
  createProject,
  createReplicas,
  type Replica,
  registerKey,
} from '../support/server/replicas.ts'
import { createDatabase } from '../support/store/database.ts'
import { waitUntil } from '../support/waiting.ts'

const restarts = inject('isDay') ? 10 : 4
const writesPerSecond = 100

/** Writes that may be unanswered at a time: a machine that is too slow makes fewer, and waits for none. */
const maxPending = 64

/** The share of the rate that a machine has to carry for the test to say anything. */
const leastShare = 0.25

const database = await createDatabase('postgres')
const replicas = createReplicas(database.url)
const serving: [Replica, Replica] = [await replicas.add(), await replicas.add()]
const keys = await registerKeys(8)

/** Paths of keys in as many projects, so that no project's lock is the limit. */
async function registerKeys(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `project-${index}`)
  for (const name of names) await createProject(serving[0], name)
  const pathOf = (name: string) => (kid: string) => `/v1/projects/${name}/jwt-keys/${kid}`
  return Promise.all(names.map((name) => registerKey(serving[0], name).then(pathOf(name))))
}

interface Written {
  label: string
  status: number
  body: string
  /** Milliseconds since the first write. */
  at: number
}

/** Changes labels, which begin with the name, at a steady rate. Returns a function that stops it. */
function startWrites(url: string, name: string): () => Promise<Written[]> {
  const { apiKey } = serving[0]
  const headers = { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' }
  const began = performance.now()
  const elapsed = () => performance.now() - began
  const sent: Promise<Written>[] = []
  let due = 0
  let pending = 0
  async function write(number: number): Promise<Written> {
    const label = `${name} ${number}`
    const at = Math.round(elapsed())
    const body = JSON.stringify({ label })
    try {
      const address = url + keys[number % keys.length]
      const response = await fetch(address, { method: 'PATCH', headers, body })
      return { label, status: response.status, body: await response.text(), at }
    } catch (error) {
      return { label, status: 0, body: String(Object(error).cause), at }
    } finally {
      pending -= 1
    }
  }
  // A late timer makes up for those it has missed.
  const timer = setInterval(() => {
    const until = (elapsed() / 1_000) * writesPerSecond
    for (; due < until; due += 1) {
      if (pending >= maxPending) continue
      pending += 1
      sent.push(write(sent.length))
    }
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

/** The labels that begin with the name, in the events of changes. */
async function storedLabels(name: string): Promise<string[]> {
  const rows = await database.query("select changes from event where type = 'key.updated'")
  const labels = rows.map(({ changes }) => String(JSON.parse(String(changes)).label?.to))
  return labels.filter((label) => label.startsWith(name))
}

test.each([
  ['HAProxy', 'haproxy'],
  ['nginx', 'nginx'],
] as const)(`${restarts} rolling restarts behind %s fail no write`, async (title, name) => {
  const balancer = await startBalancer(name, [serving[0].url, serving[1].url])
  const began = performance.now()
  const stop = startWrites(balancer.url, name)
  await delay(1_000)
  for (let turn = 0; turn < restarts; turn += 1) await restart(turn % 2 === 0 ? 0 : 1, balancer)
  const written = await stop()
  const seconds = (performance.now() - began) / 1_000
  const rate = Math.round(written.length / seconds)
  const failed = written.filter(({ status }) => status !== 200)
  expect(failed, balancer.errors()).toEqual([])
  const labels = written.map(({ label }) => label)
  const stored = await storedLabels(name)
  expect(stored.toSorted()).toEqual(labels.toSorted())
  expect(rate).toBeGreaterThanOrEqual(leastShare * writesPerSecond)
  recordFault({
    fault: `Rolling restarts behind ${title} (PostgreSQL)`,
    observed: `${restarts} restarts with ${rate} changes a second: each 200, and made once`,
    acknowledged: labels.length,
    lost: countLost(labels, stored),
  })
})
