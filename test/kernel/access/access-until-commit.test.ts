import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { keysUrl, registerKey } from '../../support/app/keys.ts'
import { emptyBlocklist } from '../../support/keys/intake.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { rawConnection, readProblem, requestHead } from '../../support/network/raw-connection.ts'

let app: TestApp
let address: string
/** Runs between the intake of a key and its commit. */
let beforeCommit: () => Promise<unknown> = async () => undefined

beforeAll(async () => {
  app = await startApp({
    examine: async (text, algorithm) => {
      const verdict = examineKey(text, algorithm, emptyBlocklist)
      await beforeCommit()
      return verdict
    },
  })
  address = await app.listen()
})

/** Ways in which an API key loses its rights after its request was admitted, and the error then. */
const losses: Record<string, [code: string, lose: (url: string) => Promise<unknown>]> = {
  revoked: ['invalid_api_key', (url) => app.send('DELETE', url)],
  deactivated: ['invalid_api_key', (url) => app.send('PATCH', url, { body: { active: false } })],
  demoted: ['insufficient_role', (url) => app.send('PATCH', url, { body: { role: 'reader' } })],
  expired: [
    'invalid_api_key',
    async (url) => {
      const expireTime = new Date(Date.now() + 300).toISOString()
      await app.send('PATCH', url, { body: { expireTime } })
      await delay(400)
    },
  ],
}

async function caller(role: 'admin' | 'writer' | 'reader') {
  const body = { name: 'a caller', role }
  const { id, apiKey } = (await app.send('POST', '/v1/api-keys', { body })).json()
  return { url: `/v1/api-keys/${id}`, headers: { 'x-api-key': apiKey as string } }
}

const revision = async () => (await app.send('GET', '/v1/projects/payments')).json().revision

describe.each(Object.entries(losses))('an API key that is %s', (_loss, [code, lose]) => {
  test('while its body arrives stops what only reads', async () => {
    const { url, headers } = await caller('admin')
    const body = '{"for":"people"}'
    const connection = rawConnection(address)
    const head = requestHead(
      'POST /v1/access-rules/checks HTTP/1.1',
      'Host: keys.example.com',
      'Content-Type: application/json',
      `X-Api-Key: ${headers['x-api-key']}`,
      `Content-Length: ${body.length}`,
      'Connection: close',
    )
    connection.socket.write(head + body.slice(0, 1))
    await delay(50)
    await lose(url)
    // From this age of a request on, its caller is authenticated again.
    await delay(100)
    connection.socket.write(body.slice(1))
    expect(readProblem(await connection.closed).problem.code).toBe(code)
  })

  test('while its key is examined registers none', async () => {
    const { url, headers } = await caller('writer')
    const before = await revision()
    beforeCommit = () => lose(url)
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const answer = await app.send('POST', keysUrl, { headers, body })
    beforeCommit = async () => undefined
    expect(answer.json().code).toBe(code)
    expect(await revision()).toBe(before)
  })
})

test('no change of an API key commits after its revocation was answered', async () => {
  const kid = await registerKey(app)
  for (let round = 0; round < 10; round += 1) {
    const { url, headers } = await caller('writer')
    const writers = Array.from({ length: 20 }, (_, index) => {
      const body = { label: `round ${round}, writer ${index}` }
      return app.send('PATCH', `${keysUrl}/${kid}`, { headers, body })
    })
    await app.send('DELETE', url)
    const atRevocation = await revision()
    await Promise.all(writers)
    expect(await revision()).toBe(atRevocation)
  }
})

test('an API key that another process revokes or deactivates is refused with the next request, 10 of 10 times', async () => {
  const elsewhere = await startApp({ database: app.database })
  for (let round = 0; round < 10; round += 1) {
    const { url, headers } = await caller('reader')
    const read = async () =>
      (await app.send('GET', '/v1/projects/payments', { headers })).statusCode
    // The third answer is from memory.
    expect([await read(), await read(), await read()]).toEqual([200, 200, 200])
    if (round % 2 === 0) await elsewhere.send('DELETE', url)
    else await elsewhere.send('PATCH', url, { body: { active: false } })
    expect(await read()).toBe(401)
  }
  await elsewhere.close()
})

test('an API key may demote and revoke itself', async () => {
  const { url, headers } = await caller('admin')
  const demoted = await app.send('PATCH', `${url}?confirm=self`, {
    headers,
    body: { role: 'writer' },
  })
  expect(demoted.json()).toMatchObject({ role: 'writer' })
  const admin = await caller('admin')
  const revoked = await app.send('DELETE', `${admin.url}?confirm=self`, { headers: admin.headers })
  expect(revoked.statusCode).toBe(204)
})
