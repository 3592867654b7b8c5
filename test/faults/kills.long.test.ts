import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import {
  chownToUnprivileged,
  createServerClient,
  highLimits,
  unprivilegedUid,
} from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const rounds = 20
const creates = 1_000
const main = join(import.meta.dirname, '../../bin/pubring.js')

test('kill -9 during 1,000 concurrent creates, 20 times: no acknowledged key is lost, and every chain is intact', async () => {
  chownToUnprivileged(folder)
  const uid = unprivilegedUid()
  const launch = uid === undefined ? {} : { uid }
  let server = await startServer(folder, highLimits, launch)
  const { apiKey } = server
  const acknowledged: string[][] = []
  const starts: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const client = createServerClient(server, apiKey)
    const project = `round-${round}`
    expect((await client.send('POST', '/v1/projects', { name: project }))?.status).toBe(201)
    const creating = Array.from({ length: creates }, () => client.create(project))
    await Promise.race(creating)
    await delay(1_500 * Math.random())
    server.signal('SIGKILL')
    await server.ended
    const kids = await Promise.all(creating)
    acknowledged.push(kids.filter((kid) => kid !== undefined))
    const start = performance.now()
    server = await startServer(folder, highLimits, launch)
    starts.push(performance.now() - start)
    const again = createServerClient(server, apiKey)
    const found = await again.kids(project)
    expect(countLost(acknowledged.at(-1) ?? [], found)).toBe(0)
    expect(new Set(found).size).toBe(found.length)
    const jwks = (await again.send('GET', `/v1/projects/${project}/.well-known/jwks.json`))?.text
    const { keys }: { keys: { kid: string }[] } = JSON.parse(jwks ?? '{}')
    expect(keys.map(({ kid }) => kid)).toEqual(found)
  }
  let lost = 0
  for (const [round, kids] of acknowledged.entries()) {
    lost += countLost(kids, await createServerClient(server, apiKey).kids(`round-${round}`))
  }
  expect(lost).toBe(0)
  expect(execFileSync(process.execPath, [main, 'check'], { cwd: folder }).toString()).toMatch(
    /whole/,
  )
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'kill -9 during creates',
    observed: `after each of ${rounds} kills all acknowledged keys are listed and all hash chains hold; ready after ${(Math.max(...starts) / 1_000).toFixed(1)} s at most`,
    acknowledged: acknowledged.flat().length,
    lost,
  })
})
