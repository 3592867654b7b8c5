import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import {
  readJson,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/server/process.ts'

const { folder } = temporaryFolder()

const server = await startServer(folder)
const other = await startServer(folder, { PUBRING_PUBLIC_URL: server.url })

afterAll(async () => {
  for (const each of [server, other]) {
    each.signal('SIGTERM')
    expect(await each.ended).toBe(0)
  }
})

/** Half of them wait at each server. */
const verifiers = 6

const keys = () => `${server.url}/v1/projects/default/jwt-keys`
const jwks = (at: ServerProcess = server) => `${at.url}/v1/projects/default/.well-known/jwks.json`

function send(method: string, url: string, body: object): Promise<Response> {
  const headers = { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' }
  return fetch(url, { method, headers, body: JSON.stringify(body) })
}

async function register(): Promise<string> {
  const body = { name: 'k', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
  return (await readJson<{ kid: string }>(await send('POST', keys(), body))).kid
}

async function kidsIn(response: Response): Promise<string[]> {
  return (await readJson<{ keys: { kid: string }[] }>(response)).keys.map(({ kid }) => kid)
}

interface Answer {
  at: number
  etag: string
  kids: string[]
}

async function answerOf(response: Response): Promise<Answer> {
  const at = performance.now()
  expect(response.status).toBe(200)
  return { at, etag: response.headers.get('etag') ?? '', kids: await kidsIn(response) }
}

/** Opens held requests, each on its own connection. */
function hold(etag: string): Promise<Answer[]> {
  const headers = { 'If-None-Match': etag, Prefer: 'wait=30', Connection: 'close' }
  return Promise.all(
    Array.from({ length: verifiers }, async (_, index) =>
      answerOf(await fetch(jwks(index % 2 === 0 ? server : other), { headers })),
    ),
  )
}

test('on two servers of one file, held requests report an added or removed key within a second, 100 of 100 times each', async () => {
  const kid = await register()
  let last: Answer | undefined
  await expect
    .poll(async () => {
      last = await answerOf(await fetch(jwks()))
      return last.kids
    })
    .toContain(kid)
  for (let round = 0; round < 200; round += 1) {
    const active = round % 2 === 1
    const held = hold(last?.etag ?? '')
    await send('PATCH', `${keys()}/${kid}`, { active })
    const answered = performance.now()
    const responses = await held
    for (const { at, kids } of responses) {
      expect(at - answered).toBeLessThan(1_000)
      expect(kids.includes(kid)).toBe(active)
    }
    last = responses[0]
  }
})

test('on two servers of one file, a held request reports an expiry within a second', async () => {
  const kid = await register()
  const expires = Date.now() + 3_000
  await send('PATCH', `${keys()}/${kid}`, { expireTime: new Date(expires).toISOString() })
  await delay(1_000)
  const present = await answerOf(await fetch(jwks()))
  expect(present.kids).toContain(kid)
  const due = performance.now() + expires - Date.now()
  for (const { at, kids } of await hold(present.etag)) {
    expect(at - due).toBeLessThan(1_000)
    expect(kids).not.toContain(kid)
  }
})
