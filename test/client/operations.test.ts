import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createClient, PubringError } from '../../packages/client/src/index.ts'
import { startApp } from '../support/app/app.ts'
import { patchKey, registerKey } from '../support/app/keys.ts'
import { ecKey } from '../support/keys/pem.ts'

const server = await startApp()
const client = createClient({ url: await server.listen(), apiKey: server.admin })
const project = 'payments'
const kid = await registerKey(server)
for (const label of ['a', 'b', 'c']) await patchKey(server, kid, { label })

interface Documented {
  operationId: string
  security: object[]
  parameters?: { in: string; name: string }[]
}
const { paths }: { paths: Record<string, Record<string, Documented>> } = JSON.parse(
  readFileSync('docs/openapi.json', 'utf8'),
)
/** Those with a parameter in their path come last: others may match it, too. */
const documented = Object.entries(paths)
  .toSorted(([one], [other]) => one.split('{').length - other.split('{').length)
  .flatMap(([path, methods]) => {
    const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`)
    return Object.entries(methods).map(([method, operation]) => ({ method, pattern, ...operation }))
  })

test('each operation is one of the API, public ones are sent without the API key, few are left out, and {} is no response to one', async () => {
  const reached = new Set<string>()
  const believed = new Set<string>()
  let last = ''
  const recorded = createClient({
    url: 'https://keys.example',
    apiKey: server.admin,
    retries: 0,
    async fetch(input, { method, headers } = {}) {
      const { pathname, searchParams } = new URL(String(input))
      const found = documented.find(
        (one) => one.method === method?.toLowerCase() && one.pattern.test(pathname),
      )
      const isSecret = new Headers(headers).has('x-api-key')
      expect(found, `${method} ${pathname}`).toBeDefined()
      expect(isSecret, pathname).toBe(found?.security.length === 1)
      const names = found?.parameters?.filter((one) => one.in === 'query').map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining([...searchParams.keys()]))
      last = found?.operationId ?? ''
      reached.add(last)
      return new Response('{}')
    },
  })
  const { url: _, ...groups } = recorded
  for (const group of Object.values(groups)) {
    const operations: unknown[] = typeof group === 'function' ? [group] : Object.values(group)
    for (const operation of operations.filter((one) => typeof one === 'function')) {
      for (const first of ['one', { project: 'one' }]) {
        const result = operation(first, 'other', { signal: AbortSignal.timeout(60_000) })
        await (Symbol.asyncIterator in result ? Array.fromAsync(result) : result).then(
          () => believed.add(last),
          (error: Error) => error.name === 'AssertionError' && expect.fail(error.message),
        )
      }
    }
  }
  // Its response may be empty.
  expect([...believed]).toEqual(['signOut'])
  const left = documented.map(({ operationId }) => operationId).filter((id) => !reached.has(id))
  expect(left.sort()).toEqual([
    ...['createRegistrationSession', 'getJwks', 'getLiveness', 'getLogCheckpoint'],
    ...['getLogVerifierKey', 'getPublishedKeyPem', 'getPublishedLedgerProof', 'getPublishedPem'],
    ...['getReadiness', 'getRegistrationSession', 'getWritability'],
  ])
})

test('projects are listed page by page, and all together', async () => {
  for (const name of ['a', 'b']) await client.projects.create({ name })
  const first = await client.projects.list({ limit: 2 })
  expect(first.items.map(({ name }) => name)).toEqual([project, 'a'])
  const second = await client.projects.list({ limit: 2, after: first.next ?? '' })
  expect(second).toEqual({ items: [expect.objectContaining({ name: 'b' })] })
  const { items, next } = await client.projects.health({ limit: 1 })
  expect([items, typeof next]).toMatchObject([[{ keys: { active: 1 } }], 'string'])
  for (let number = 0; number < 200; number += 1) {
    await client.projects.create({ name: `many-${number}` })
  }
  const all = await Array.fromAsync(client.projects.all(), ({ id }) => id)
  expect(new Set(all).size).toBe(203)
})

test('events are filtered, page by page in either order, and all together', async () => {
  const query = { project, type: 'key.updated', limit: 2 }
  const first = await client.events.page(query)
  expect(first.items.map(({ label }) => label)).toEqual(['a', 'b'])
  const second = await client.events.page({ ...query, ...first.next })
  expect([second.items.map(({ label }) => label), second.next]).toEqual([['c'], undefined])
  const newest = await client.events.page({ ...query, order: 'desc' })
  expect(newest.next).toEqual({ before: expect.stringMatching(/^4\.[0-9a-f]{8}$/) })
  const all = await Array.fromAsync(client.events.all({ ...query, order: 'desc' }))
  expect(all.map(({ label }) => label)).toEqual(['c', 'b', 'a'])
  const { items, next } = await client.events.history({ type: 'key.updated', limit: 2 })
  expect(items.map(({ label }) => label)).toEqual(['c', 'b'])
  expect(
    (await client.events.history({ type: 'key.updated', after: next ?? '' })).items,
  ).toHaveLength(1)
})

test('a key is not changed if the If-Match does not match', async () => {
  const stale = { ifMatch: '"another"' }
  const error = { code: 'precondition_failed', status: 412 }
  const update = client.keys.update(project, kid, { active: false }, stale)
  await expect(update).rejects.toMatchObject(error)
  await expect(client.keys.delete(project, kid, stale)).rejects.toMatchObject(error)
  expect((await client.keys.get(project, kid)).active).toBe(true)
})

test('errors have the members of the problem', async () => {
  const { publicKeyPem } = ecKey()
  const body = { name: 'again', algorithm: 'ES256', publicKeyPem } as const
  const made = await client.keys.create(project, body)
  const error = await client.keys.create(project, body).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(PubringError)
  expect(error).toMatchObject({ code: 'duplicate_key', status: 409, problem: made })
  expect(error.requestId).toBe(error.problem.requestId)
  const wrong = await client.keys
    .create(project, JSON.parse('{"name":"x"}'))
    .catch((thrown) => thrown)
  expect(wrong.problem.errors).toContainEqual(expect.objectContaining({ pointer: '/publicKeyPem' }))
})
