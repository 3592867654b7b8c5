import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type KeepContext, keep } from '../../../packages/agents/src/keep/keep.ts'
import { readKept } from '../../../packages/agents/src/keep/kept.ts'
import { createClient } from '../../../packages/client/src/client.ts'
import { startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { killKeepers } from '../../support/app/keepers.ts'
import { startTcpProxy } from '../../support/network/tcp-proxy.ts'
import { temporaryFolder } from '../../support/server/process.ts'
import { waitUntil } from '../../support/waiting.ts'

test('40 kills of the keeper and 4 of the server', async () => {
  await killKeepers({ keeper: 40, server: 4 })
})

test('a day without the server: the key goes on, and what that endangers is said in time', async () => {
  const clock = testClock()
  const server = await startApp({ clock, config: { jwksMaxAge: 0, refusalDelayMs: 0 } })
  const proxy = await startTcpProxy(Number(new URL(await server.listen()).port))
  const url = `http://127.0.0.1:${proxy.port}`
  const dir = join(temporaryFolder().folder, 'signer')
  const controller = new AbortController()
  const reports: string[] = []
  const context: KeepContext = {
    clock,
    signal: controller.signal,
    report: (message) => void reports.push(message),
    connect: () => ({
      client: createClient({ url, apiKey: server.admin, retries: 0 }),
      now: clock.now,
      isSelf: false,
    }),
    allowSelfRotation: async () => {},
    explain: String,
  }
  const running = keep(
    {
      dir,
      url,
      project: server.project.id,
      everyMs: 7_200_000,
      lifetimeMs: 60_000,
      alg: undefined,
      readFrom: undefined,
      exec: undefined,
      listenAt: undefined,
      once: false,
    },
    context,
  )
  const kid = async () => (await readKept(dir)).current?.kid ?? ''
  const waits = waitUntil(async () => {
    clock.advance(500)
    return (await readKept(dir)).since !== undefined
  })
  await waits
  const first = await kid()
  const expireTime = new Date(clock.now() + 30 * 3_600_000).toISOString()
  const path = `/v1/projects/payments/jwt-keys/${first}`
  await server.send('PATCH', path, { body: { expireTime } })
  // It reads the end of its key again, and then loses the server.
  clock.advance(6 * 3_600_000)
  proxy.cut()
  await waitUntil(() => reports.some((text) => text.includes('The current key goes on')))
  clock.advance(24 * 3_600_000)
  expect(await kid()).toBe(first)
  proxy.restore()
  await waitUntil(async () => (await kid()) !== first)
  controller.abort()
  await running
})
