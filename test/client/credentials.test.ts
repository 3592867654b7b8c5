import { expect, test } from 'vitest'
import { type ClientOptions, createClient } from '../../packages/client/src/index.ts'
import { advanceDate } from '../support/app/clock.ts'
import { startWorkloadApp } from '../support/app/workloads.ts'
import { ecKey } from '../support/keys/pem.ts'
import { waitFor } from '../support/waiting.ts'

const server = await startWorkloadApp()
const url = await server.listen()
const admin = createClient({ url, apiKey: server.admin })
const rule = await server.rule()

const project = 'payments'
const lifetimeMs = 300_000

/** A client of a workload, the number of times that it got a token, and the API keys that it sent. */
function workload(options: Partial<ClientOptions> = {}) {
  const counts = { tokens: 0 }
  const sent = new Set<string>()
  const client = createClient({
    url,
    credentials: async () => {
      counts.tokens += 1
      return `${server.issuer.token()}\n`
    },
    fetch: (...request) => {
      const apiKey = new Headers(request[1]?.headers).get('x-api-key')
      if (apiKey !== null) sent.add(apiKey)
      return fetch(...request)
    },
    ...options,
  })
  return { client, counts, sent }
}

test('a token is exchanged when an API key is first needed, once for all that need it', async () => {
  const { client, counts, sent } = workload()
  await client.jwks.get(project)
  expect(counts.tokens).toBe(0)
  const calls = Array.from({ length: 5 }, () => client.keys.list(project))
  expect(await Promise.all(calls)).toHaveLength(5)
  expect(await client.apiKeys.self()).toMatchObject({ role: 'writer', name: 'orders, deploy' })
  expect({ tokens: counts.tokens, keys: sent.size }).toEqual({ tokens: 1, keys: 1 })
})

test('an API key comes before a token, as on the command line', async () => {
  const { client, counts, sent } = workload({ apiKey: server.admin })
  await client.keys.list(project)
  expect({ tokens: counts.tokens, sent: [...sent] }).toEqual({ tokens: 0, sent: [server.admin] })
})

test('an API key is renewed while the last one is still valid, and used meanwhile', async () => {
  const { client, counts, sent } = workload()
  await client.keys.list(project)
  advanceDate(lifetimeMs * 0.75)
  await client.keys.list(project)
  expect(counts.tokens).toBe(1)
  advanceDate(lifetimeMs * 0.1)
  await Promise.all([client.keys.list(project), client.keys.list(project)])
  await waitFor(async () => {
    await client.keys.list(project)
    expect(sent.size).toBe(2)
  })
  expect(counts.tokens).toBe(2)
})

test('a failed renewal matters only once the API key has expired, and is not tried at each call', async () => {
  const counts = { tokens: 0 }
  const credentials = () => {
    counts.tokens += 1
    if (counts.tokens > 1) throw new Error('The file is gone.')
    return server.issuer.token()
  }
  const { client } = workload({ credentials })
  await client.keys.list(project)
  advanceDate(lifetimeMs * 0.85)
  for (let call = 0; call < 3; call += 1) await client.keys.list(project)
  expect(counts.tokens).toBe(2)
  advanceDate(lifetimeMs * 0.2)
  const late = client.keys.list(project)
  await expect(late).rejects.toMatchObject({ code: 'token_unavailable' })
})

test('after a 401 one other API key is obtained, and any call succeeds', async () => {
  const { client, counts } = workload()
  await client.keys.list(project)
  for (const active of [false, true]) await admin.accessRules.update(rule.id, { active })
  const { publicKeyPem } = ecKey()
  const made = await client.keys.create(project, { name: 'a', algorithm: 'ES256', publicKeyPem })
  expect(made.kid).toMatch(/^[0-9a-f-]{36}$/)
  expect(counts.tokens).toBe(2)
})

test('an event stream goes on with another API key', async () => {
  const { client, counts } = workload()
  await client.keys.list(project)
  for (const active of [false, true]) await admin.accessRules.update(rule.id, { active })
  for await (const event of client.events.follow({ project })) {
    expect(event.revision).toBe(1)
    break
  }
  expect(counts.tokens).toBe(2)
})

test('a deactivated rule ends it: the token is refused, once', async () => {
  const { client, counts } = workload()
  await client.keys.list(project)
  await admin.accessRules.update(rule.id, { active: false })
  await expect(client.keys.list(project)).rejects.toMatchObject({
    code: 'token_refused',
    status: 400,
    message: expect.stringContaining('An administrator can see why'),
  })
  expect(counts.tokens).toBe(2)
  await admin.accessRules.update(rule.id, { active: true })
})

test('a rule is named when several accept the token', async () => {
  const other = await server.rule({ name: 'reading', role: 'reader' })
  await expect(workload().client.keys.list(project)).rejects.toMatchObject({
    code: 'token_refused',
  })
  const { client } = workload({ accessRule: other.id })
  expect(await client.apiKeys.self()).toMatchObject({ role: 'reader' })
  await admin.accessRules.delete(other.id)
})

test('a lost response to an exchange is repeated, and a used token is not blamed', async () => {
  let lost = false
  const losing: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    if (lost || !String(request[0]).endsWith('/token')) return response
    lost = true
    await response.body?.cancel()
    throw new TypeError('fetch failed')
  }
  await workload({ fetch: losing }).client.keys.list(project)
  await admin.accessRules.update(rule.id, { singleUse: true })
  lost = false
  const once = workload({ fetch: losing }).client.keys.list(project)
  await expect(once).rejects.toMatchObject({ code: 'unreachable' })
  await admin.accessRules.update(rule.id, { singleUse: false })
})

const secret = 'eyJhbGciOiJub25lIn0'
test.each<[string, () => unknown]>([
  ['throws', () => Promise.reject(new Error('no'))],
  ['returns nothing', () => undefined],
  ['returns an empty text', () => ' \n'],
  ['returns no JWT', () => `${secret} ${secret}`],
])(
  'a function that %s is an error with the cause and without what it returned',
  async (_name, source) => {
    const { client } = workload({ credentials: source as () => string, retries: 0 })
    const error = await client.keys.list(project).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'PubringError', code: 'token_unavailable' })
    expect(String(error)).not.toContain(secret)
  },
)

test.each([
  [400, 'invalid_request', 'token_refused'],
  [503, 'temporarily_unavailable', 'temporarily_unavailable'],
  [500, 'server_error', 'server_error'],
])('the error of an exchange (RFC 6749), %i %s, has the code %s', async (status, error, code) => {
  const body = JSON.stringify({ error, error_description: 'No.' })
  const { client } = workload({ fetch: async () => new Response(body, { status }), retries: 0 })
  const expected = { code, status, message: 'No.' }
  await expect(client.keys.list(project)).rejects.toMatchObject(expected)
})

test('a call can be aborted while it waits for a token', async () => {
  const { client } = workload({ credentials: () => new Promise<string>(() => {}) })
  const call = client.keys.list(project, { signal: AbortSignal.timeout(5) })
  await expect(call).rejects.toMatchObject({ code: 'aborted' })
})
