import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { dataFolderOf, fillDisk, launchOnSmallDisk } from '../support/faults/small-disk.ts'
import {
  createServerClient,
  freshPem,
  highLimits,
  problemCode,
  type ServerClient,
  type ServerResponse,
} from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()

async function create(client: ServerClient): Promise<ServerResponse | undefined> {
  const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
  return client.send('POST', '/v1/projects/default/jwt-keys', body)
}

test('a full disk rejects changes, serves reads, and recovers without a restart once there is space', async () => {
  const server = await startServer(folder, highLimits, launchOnSmallDisk(8))
  const client = createServerClient(server, server.apiKey)
  // The first checkpoint makes space in the log; the next one comes a minute later.
  const generation = join(dataFolderOf(server.pid, folder), 'pubring.db-generation')
  await waitUntil(() => readFileSync(generation, 'utf8') === '2\n')
  const acknowledged: string[] = []
  const refusals = new Set<string>()
  for (let round = 0; round < 3; round += 1) {
    for (let count = 0; count < 20; count += 1) acknowledged.push(String(await client.create()))
    const free = fillDisk(dataFolderOf(server.pid, folder))
    const until = performance.now() + 1_000
    while (performance.now() < until) {
      // The rest of the log's last page may have space for a change or two.
      for (const response of await Promise.all([create(client), create(client), create(client)])) {
        if (response?.status === 201) acknowledged.push(JSON.parse(response.text).kid)
        else
          refusals.add(
            `${response?.status} ${problemCode(response)} ${response?.headers.get('retry-after')}`,
          )
      }
      expect(await client.kids()).toEqual(expect.arrayContaining(acknowledged))
      expect((await client.jwks())?.status).toBe(200)
    }
    const ready = await client.health('ready')
    expect(JSON.parse(ready?.text ?? '')).toEqual({
      status: 'ok',
      state: 'fresh',
      writes: 'failing',
    })
    expect((await client.health('write'))?.status).toBe(503)
    free()
    await delay(100)
    // Without a change in between: a trial finds out.
    expect((await client.health('write'))?.status).toBe(200)
    acknowledged.push(String(await client.create()))
    expect(JSON.parse((await client.health('ready'))?.text ?? '')).toEqual({
      status: 'ok',
      state: 'fresh',
    })
  }
  expect([...refusals]).toEqual(['503 storage_unavailable 5'])
  expect(server.output()).toMatch(/The disk is full/)
  const kids = await client.kids()
  expect(kids.toSorted()).toEqual(acknowledged.toSorted())
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'Disk full, and freed again',
    observed:
      'changes 503 with Retry-After; lists, key sets and readiness 200, /health/write 503; changes 201 as soon as there is space',
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})
