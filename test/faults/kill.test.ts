import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createServerClient, highLimits } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()
const main = join(import.meta.dirname, '../../bin/pubring.js')

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
  const client = createServerClient(server, apiKey)
  const kids = await client.kids()
  expect(acknowledged.length).toBeGreaterThan(20)
  expect(kids).toEqual(expect.arrayContaining(acknowledged))
  expect(new Set(kids).size).toBe(kids.length)
  const { keys }: { keys: { kid: string }[] } = JSON.parse((await client.jwks())?.text ?? '{}')
  expect(keys.map(({ kid }) => kid)).toEqual(kids)
  // Also that the stored key set is that of the last event.
  expect(await verdictOf(folder)).toMatch(/whole/)
})

const verdictOf = async (cwd: string) =>
  (await promisify(execFile)(process.execPath, [main, 'check'], { cwd })).stdout
