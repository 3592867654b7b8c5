import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordFault } from '../support/faults/results.ts'
import {
  type CallResult,
  createKey,
  createReplicas,
  type Replica,
} from '../support/server/replicas.ts'
import { createDatabase } from '../support/store/database.ts'
import { waitUntil } from '../support/waiting.ts'

const database = await createDatabase('postgres')
const replicas = createReplicas(database.url)

/** Sends each request to a replica that was ready at the last check, as a load balancer does. */
function createBalancer(serving: Replica[]) {
  const ready = new Set<Replica>(serving)
  let turn = 0
  const probe = setInterval(() => {
    for (const replica of serving) {
      void replica.call('GET', '/health/ready').then(({ status }) => {
        if (status === 200) ready.add(replica)
        else ready.delete(replica)
      })
    }
  }, 50)
  return {
    async next(): Promise<Replica> {
      turn += 1
      return waitUntil(() => [...ready][turn % ready.size])
    },
    close: () => clearInterval(probe),
  }
}

const isOverloaded = ({ status, body }: CallResult) =>
  status === 503 && body.includes('"overloaded"')

test('a rolling restart under load fails no request of a client that respects readiness', async () => {
  const serving = [await replicas.add(), await replicas.add()]
  const balancer = createBalancer(serving)
  const responses: CallResult[] = []
  let over = false
  const clients = Array.from({ length: 6 }, async (_, index) => {
    while (!over) {
      const replica = await balancer.next()
      const write = index === 0 && responses.length % 5 === 0
      const response = write
        ? await createKey(replica, 'default')
        : await replica.call('GET', '/v1/projects/default/jwt-keys?active=true')
      // A busy machine is no restart.
      if (!isOverloaded(response)) responses.push(response)
      await delay(5)
    }
  })
  for (let place = 0; place < 2; place += 1) {
    const old = serving[place]
    serving.push(await replicas.add())
    await delay(200)
    old?.signal('SIGTERM')
    expect(await old?.ended).toBe(0)
    await delay(200)
  }
  over = true
  await Promise.all(clients)
  balancer.close()
  const failed = responses.filter(({ status }) => status !== 200 && status !== 201)
  expect(failed).toEqual([])
  expect(responses.length).toBeGreaterThan(200)
  recordFault({
    fault: 'Rolling restart under load (PostgreSQL)',
    observed: `no request of ${responses.length} failed, for clients that respect readiness`,
    acknowledged: responses.filter(({ status }) => status === 201).length,
    lost: 0,
  })
})
