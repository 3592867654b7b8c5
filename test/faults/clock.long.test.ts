import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { faultInjection } from '../support/faults/injection.ts'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient, freshPem, highLimits } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const hour = 3_600_000
const keys = '/v1/projects/default/jwt-keys'

test('a clock that steps by an hour, forward and back, expires keys and disturbs nothing else', async () => {
  const { env, launch, set } = faultInjection(folder)
  const server = await startServer(folder, { ...highLimits, ...env }, launch)
  const client = createServerClient(server, server.apiKey)
  const acknowledged: string[] = []
  const expireTime = new Date(Date.now() + hour / 2).toISOString()
  const body = { name: 'brief', algorithm: 'ES256', publicKeyPem: freshPem(), expireTime }
  const brief = JSON.parse((await client.send('POST', keys, body))?.text ?? '').kid
  acknowledged.push(brief)
  const apiKey = { name: 'brief', role: 'reader', expireTime }
  const { apiKey: secret } = JSON.parse(
    (await client.send('POST', '/v1/api-keys', apiKey))?.text ?? '',
  )
  const reader = createServerClient(server, secret)

  /** Invariants at any time, with or without the key that expires in between. */
  async function expectSound(isExpired: boolean): Promise<void> {
    for (let count = 0; count < 5; count += 1) acknowledged.push(String(await client.create()))
    await delay(1_000)
    expect((await client.kids()).toSorted()).toEqual(acknowledged.toSorted())
    const published = (await client.jwks())?.text ?? ''
    expect(published.includes(brief)).toBe(!isExpired)
    for (const kid of acknowledged.slice(1)) expect(published).toContain(kid)
    expect((await client.health('ready'))?.status).toBe(200)
    expect((await reader.send('GET', keys))?.status).toBe(isExpired ? 401 : 200)
    const switched = `${keys}/${acknowledged.at(-1)}`
    for (const active of [false, true]) {
      expect((await client.send('PATCH', switched, { active }))?.status).toBe(200)
    }
  }
  await expectSound(false)
  await set({ shift: hour })
  await expectSound(true)
  await set({ shift: -hour })
  await expectSound(false)
  await set({ shift: 0 })
  await expectSound(false)

  const events = await client.send('GET', '/v1/projects/default/events?limit=200')
  const revisions = JSON.parse(events?.text ?? '').map(
    ({ revision }: { revision: number }) => revision,
  )
  expect(revisions).toEqual(revisions.map((_: number, index: number) => index + 1))
  const kids = await client.kids()
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'The clock steps by an hour, forward and back',
    observed:
      'keys are invalid while expired and valid again afterwards; everything else continues',
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, kids),
  })
})
