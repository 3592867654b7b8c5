import { setTimeout as delay } from 'node:timers/promises'
import { type FastifyInstance, fastify } from 'fastify'
import { expect, test } from 'vitest'
import { features } from '../../../../packages/server/src/features.ts'
import { createReadCaller } from '../../../../packages/server/src/kernel/access/callers.ts'
import type { Store } from '../../../../packages/server/src/kernel/context.ts'
import { storageUnavailable } from '../../../../packages/server/src/kernel/faults.ts'
import { createHooks } from '../../../../packages/server/src/kernel/hooks.ts'
import { addDatabaseLog } from '../../../../packages/server/src/kernel/http/hooks/logging.ts'
import { createKernel } from '../../../../packages/server/src/kernel/kernel.ts'
import { startApp } from '../../../support/app/app.ts'
import { testClock } from '../../../support/app/clock.ts'
import { keysUrl } from '../../../support/app/keys.ts'
import { waitUntil } from '../../../support/waiting.ts'

interface Line {
  level: number
  msg: string
  host?: string
  cause?: string
  awaySeconds?: number
}

const lines: Line[] = []
const logStream = { write: (line: string) => void lines.push(JSON.parse(line)) }

const server = await startApp({ http: { metrics: true, logStream } })

const about = (text: RegExp) => lines.filter(({ msg }) => text.test(msg))

test('one line says that the database is lost, and one that it is back', async () => {
  await delay(300)
  expect(about(/database/)).toEqual([])
  const fault = await server.database.destroy()
  await waitUntil(() => about(/cannot be read/).length > 0)
  for (let count = 0; count < 20; count += 1) {
    expect((await server.send('GET', keysUrl)).statusCode).toBe(503)
    await delay(50)
  }
  await fault.restore()
  await waitUntil(() => about(/can be read again/).length > 0)
  const [lost, ...others] = about(/cannot be read/)
  expect(others).toEqual([])
  expect(lost).toMatchObject({ level: 50, cause: expect.stringMatching(/./) })
  const [back, ...later] = about(/can be read again/)
  expect(later).toEqual([])
  expect(back).toMatchObject({ level: 30, awaySeconds: expect.any(Number) })
  if (server.database.engine !== 'postgres') return
  expect([lost?.host, back?.host]).toEqual(Array(2).fill(new URL(server.database.url).host))
  expect(lost?.cause).toMatch(/not currently accepting connections/)
})

/** A log of the database whose reads of the heads follow the given step. */
function startLog(beforeRead: () => Promise<void>, readiness: FastifyInstance['readiness']) {
  const written: Line[] = []
  const stream = { write: (line: string) => void written.push(JSON.parse(line)) }
  const app = fastify({ logger: { stream } })
  app.decorate('readiness', readiness)
  const { store } = server.context
  const clock = testClock()
  const followHeads: Store['followHeads'] = () => {
    const follower = store.followHeads()
    return { ...follower, read: () => beforeRead().then(follower.read) }
  }
  const context = { ...server.context, clock, store: { ...store, followHeads } }
  const kernel = createKernel(context, createReadCaller(features), createHooks([]))
  addDatabaseLog(app, kernel)
  const outcomes: string[] = []
  kernel.watch.onRead(({ outcome }) => void outcomes.push(outcome))
  async function close() {
    kernel.close()
    await app.close()
  }
  return { written, clock, outcomes, close }
}

test('a first read that takes longer, as on a busy machine, is no lost database', async () => {
  const { promise: firstRead, resolve } = Promise.withResolvers<void>()
  const readiness = { starting: false, shuttingDown: false }
  const log = startLog(() => firstRead, readiness)
  log.clock.advance(1_500)
  await expect.poll(() => log.outcomes).toContain('pending')
  resolve()
  await expect.poll(() => log.outcomes).toContain('completed')
  await log.close()
  expect(log.written).toEqual([])
})

test('a starting server says at once and once a minute why its database cannot be reached', async () => {
  const readiness = { starting: true, shuttingDown: false }
  let cause: string | undefined
  const log = startLog(
    () => Promise.reject(storageUnavailable('not ready', undefined, cause)),
    readiness,
  )
  const nextRead = async () => {
    const { length } = log.outcomes
    await expect.poll(() => log.outcomes.length).toBeGreaterThan(length + 1)
  }
  await nextRead()
  expect(log.written).toEqual([])
  cause = 'db1:5432: connect ECONNREFUSED; db2:5432: getaddrinfo ENOTFOUND db2'
  await nextRead()
  await nextRead()
  expect(log.written).toHaveLength(1)
  expect(log.written[0]).toMatchObject({
    level: 50,
    cause,
    msg: expect.stringMatching(/not ready/),
  })
  cause = 'db1:5432: it is a standby'
  log.clock.advance(60_000)
  await nextRead()
  await log.close()
  expect(log.written).toHaveLength(2)
  expect(log.written[1]).toMatchObject({ level: 50, cause })
})

test('metrics name the primary, the connections and the duration of reads', async () => {
  await server.send('GET', keysUrl)
  const text = (await server.app.metrics?.metrics()) ?? ''
  const reads = /^pubring_database_read_seconds_count (\d+)$/m.exec(text)?.[1]
  expect(Number(reads)).toBeGreaterThan(0)
  if (server.database.engine !== 'postgres') return
  expect(text).toContain(
    `pubring_database_primary{host="${new URL(server.database.url).host}"} 1\n`,
  )
  const count = (state: string) =>
    Number(
      new RegExp(`^pubring_database_connections{state="${state}"} (\\d+)$`, 'm').exec(text)?.[1],
    )
  expect(count('used') + count('idle')).toBeGreaterThan(0)
  expect(count('waiting')).toBe(0)
})
