import { beforeEach, expect, test } from 'vitest'
import { openKeySet } from '../../support/app/key-set.ts'
import { type HttpServer, startHttpServer } from '../../support/network/http-server.ts'

/** The key set that the server publishes, with the headers it sends. */
let published: { kids: string[]; head: string | undefined; age?: number }
let paths: string[]
let server: HttpServer
const id = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'
beforeEach(async () => {
  published = { kids: ['first'], head: '4.44444444' }
  paths = []
  server = await startHttpServer((request, response) => {
    paths.push(request.url ?? '')
    const location = `https://keys.example/v1/projects/${id}/.well-known/jwks-full.json`
    if (request.url?.includes('/named/')) response.setHeader('content-location', location)
    const { kids, head, age } = published
    const etag = `"${kids.join()}"`
    if (head !== undefined) response.setHeader('pubring-revision', head)
    if (age !== undefined) response.setHeader('age', age)
    response.setHeader('etag', etag).setHeader('cache-control', 'public, max-age=60')
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    const keys = kids.map((kid) => ({ kid, kty: 'EC', alg: 'ES256' }))
    return response.end(JSON.stringify({ keys }))
  })
})

/** A key set that has the first keys, and polls every second. */
async function open() {
  const watched = openKeySet(`${server.url}/v1/projects/p`, { maxStale: 3_000 })
  await watched.keys.ready()
  return watched
}

test.each([
  ['an earlier revision', '3.33333333', ['revoked']],
  ['another event of the same revision', '4.00000000', ['revoked']],
  ['an earlier revision with the same keys', '3.33333333', ['first']],
])('%s is refused, and the keys stay until they are stale', async (_, head, kids) => {
  const { keys, waitForState } = await open()
  Object.assign(published, { kids, head })
  await waitForState(({ error }) => error?.code === 'key_set_history_changed')
  expect(keys.state().kids).toEqual(['first'])
  expect(keys.state().error?.message).toContain(`of 4.44444444 is kept: the server now has ${head}`)
  await waitForState(({ status }) => status === 'stale')
  expect(keys.state().kids).toEqual(['first'])
})

test.each(['5.00000000', '4.44444444', '4', undefined])(
  'the head %s is not refused',
  async (head) => {
    const { waitForState } = await open()
    Object.assign(published, { kids: ['second'], head })
    await waitForState(({ kids, error }) => kids[0] === 'second' && error === undefined)
  },
)

test('a head is not forgotten while a proxy removes it', async () => {
  const { waitForState } = await open()
  Object.assign(published, { kids: ['second'], head: undefined })
  await waitForState(({ kids }) => kids[0] === 'second')
  Object.assign(published, { kids: ['revoked'], head: '3.33333333' })
  await waitForState(({ error }) => error?.code === 'key_set_history_changed')
})

test('a copy of an earlier revision in a cache is neither used nor an error', async () => {
  const { keys, states, waitForState } = await open()
  Object.assign(published, { kids: ['second'], head: '5.55555555' })
  await waitForState(({ kids }) => kids[0] === 'second')
  Object.assign(published, { kids: ['first'], head: '4.44444444', age: 30 })
  await waitForState(({ status }) => status === 'polling')
  Object.assign(published, { kids: ['third'], head: '6.66666666', age: 0 })
  await waitForState(({ kids }) => kids[0] === 'third')
  expect(keys.state().error).toBeUndefined()
  expect(states.slice(1).filter(({ kids }) => kids[0] === 'first')).toEqual([])
})

test('an earlier revision that a cache has only since the last contact is refused', async () => {
  const { keys, waitForState } = await open()
  Object.assign(published, { kids: ['revoked'], head: '3.33333333', age: 1 })
  await waitForState(({ error }) => error?.code === 'key_set_history_changed')
  expect(keys.state().kids).toEqual(['first'])
})

test('a project that is named is asked for by its id, once a response has told it', async () => {
  const { keys } = openKeySet(`${server.url}/keys/v1/projects/named`, { maxStale: 3_000 })
  await keys.ready()
  await expect.poll(() => paths.length).toBeGreaterThan(2)
  const [first, ...others] = paths
  expect(first).toBe('/keys/v1/projects/named/.well-known/jwks-full.json')
  expect(new Set(others)).toEqual(new Set([`/keys/v1/projects/${id}/.well-known/jwks-full.json`]))
})
