import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { faultInjection } from '../support/faults/injection.ts'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient, freshPem, highLimits, problemCode } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'
import { expectWithin } from '../support/timing.ts'

const { folder } = temporaryFolder()

test('the writer thread dies under load: waiting changes fail, a new thread takes over, nothing is lost', async () => {
  const { env, launch, set } = faultInjection(folder)
  const server = await startServer(folder, { ...highLimits, ...env }, launch)
  const client = createServerClient(server, server.apiKey)
  const acknowledged: string[] = []
  const rejected: string[] = []
  let stopped = false
  async function load(): Promise<void> {
    while (!stopped) {
      const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
      const response = await client.send('POST', '/v1/projects/default/jwt-keys', body)
      if (response?.status === 201) acknowledged.push(JSON.parse(response.text).kid)
      else
        rejected.push(
          `${response?.status} ${problemCode(response)} ${response?.headers.get('retry-after')}`,
        )
      expectWithin(10_000, response?.ms ?? 0)
    }
  }
  const loads = Array.from({ length: 8 }, load)
  for (let death = 1; death <= 5; death += 1) {
    const before = acknowledged.length
    await set({ killWriter: death })
    expect((await client.jwks())?.status).toBe(200)
    expect((await client.health('ready'))?.status).toBe(200)
    while (acknowledged.length < before + 20) await delay(20)
  }
  stopped = true
  await Promise.all(loads)
  const kids = await client.kids()
  expect(rejected.filter((each) => each !== '503 storage_unavailable 1')).toEqual([])
  expect(countLost(acknowledged, kids)).toBe(0)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'The writing thread exits',
    observed: `${rejected.length} creates 503 with Retry-After, the others 201; reads 200 throughout; the process continues with a new thread`,
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})
