import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createServerClient, highLimits } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

test('kill -9 during creates loses no acknowledged key', async () => {
  let server = await startServer(folder, highLimits)
  const { apiKey } = server
  const acknowledged: string[] = []
  for (let round = 0; round < 4; round += 1) {
    const client = createServerClient(server, apiKey)
    let isGone = false
    const writers = Array.from({ length: 16 }, async () => {
      while (!isGone) acknowledged.push(...[(await client.create()) ?? []].flat())
    })
    const before = acknowledged.length
    while (acknowledged.length < before + 6) await delay(10)
    await delay(200 * Math.random())
    server.signal('SIGKILL')
    await server.ended
    isGone = true
    await Promise.all(writers)
    server = await startServer(folder, highLimits)
  }
  const kids = await createServerClient(server, apiKey).kids()
  expect(acknowledged.length).toBeGreaterThan(20)
  expect(kids).toEqual(expect.arrayContaining(acknowledged))
  expect(new Set(kids).size).toBe(kids.length)
})
