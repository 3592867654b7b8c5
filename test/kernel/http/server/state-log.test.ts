import { setTimeout as delay } from 'node:timers/promises'
import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { features } from '../../../../packages/server/src/features.ts'
import { createReadCaller } from '../../../../packages/server/src/kernel/access/credentials.ts'
import type { Store } from '../../../../packages/server/src/kernel/context.ts'
import { createHooks } from '../../../../packages/server/src/kernel/hooks.ts'
import { addDatabaseLog } from '../../../../packages/server/src/kernel/http/hooks/state-log.ts'
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

test('a first read that takes longer, as on a busy machine, is no lost database', async () => {
  const written: string[] = []
  const app = fastify({ logger: { stream: { write: (line: string) => void written.push(line) } } })
  const { store } = server.context
  const { promise: firstRead, resolve } = Promise.withResolvers<void>()
  const clock = testClock()
  const followHeads: Store['followHeads'] = () => {
    const follower = store.followHeads()
    return { ...follower, read: () => firstRead.then(follower.read) }
  }
  const context = { ...server.context, clock, store: { ...store, followHeads } }
  const kernel = createKernel(context, createReadCaller(features), createHooks([]))
  addDatabaseLog(app, kernel)
  const outcomes: string[] = []
  kernel.watch.onRead(({ outcome }) => void outcomes.push(outcome))
  clock.advance(1_500)
  await expect.poll(() => outcomes).toContain('pending')
  resolve()
  await expect.poll(() => outcomes).toContain('completed')
  kernel.close()
  await app.close()
  expect(written).toEqual([])
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
