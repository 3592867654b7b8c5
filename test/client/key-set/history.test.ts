import { beforeEach, expect, test } from 'vitest'
import { advanceDate } from '../../support/app/clock.ts'
import { openKeySet } from '../../support/app/key-set.ts'
import { type HttpServer, startHttpServer } from '../../support/network/http-server.ts'

/** The key set that the server publishes, with the headers it sends. */
let published: { kids: string[]; head: string | undefined; age?: number | undefined }
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

/** A key set that has the first keys, and its state after its next request. */
async function open() {
  const { keys } = openKeySet(`${server.url}/v1/projects/p`, { background: false, coolDown: 0 })
  await keys.ready()
  return async (next: Partial<typeof published>) => {
    Object.assign(published, { age: undefined }, next)
    await keys.ready()
    const { kids, error } = keys.state()
    return { kid: kids[0], error: error?.code, message: error?.message }
  }
}

test.each([
  ['an earlier revision', '3.33333333', ['revoked']],
  ['another event of the same revision', '4.00000000', ['revoked']],
  // Which is a 304.
  ['an earlier revision with the same keys', '3.33333333', ['first']],
])('%s is refused, and the keys stay until they are stale', async (_, head, kids) => {
  const request = await open()
  const refused = { kid: 'first', error: 'key_set_history_changed' }
  const { message, ...state } = await request({ kids, head })
  expect(state).toEqual(refused)
  expect(message).toContain(`of 4.44444444 is kept: the server now has ${head}`)
  advanceDate(31_000)
  await expect(request({})).rejects.toMatchObject({ code: 'key_set_stale' })
})

test.each(['5.00000000', '4.44444444', '4', undefined])(
  'the head %s is not refused',
  async (head) => {
    const request = await open()
    const accepted = { kid: 'second', error: undefined }
    expect(await request({ kids: ['second'], head })).toMatchObject(accepted)
    if (head !== undefined) return
    // The last one is not forgotten while a proxy removes it.
    const { error } = await request({ kids: ['revoked'], head: '3.33333333' })
    expect(error).toBe('key_set_history_changed')
  },
)

test('a copy of an earlier revision in a cache is neither used nor an error', async () => {
  const request = await open()
  for (const [kid, head, age, expected] of [
    ['second', '5.55555555', undefined, 'second'],
    ['first', '4.44444444', 30, 'second'],
    ['third', '6.66666666', 0, 'third'],
  ] as const) {
    const state = await request({ kids: [kid], head, ...(age !== undefined && { age }) })
    expect(state).toMatchObject({ kid: expected, error: undefined })
  }
})

test('an earlier revision that a cache has only since the last contact is refused', async () => {
  const request = await open()
  advanceDate(10_000)
  const state = await request({ kids: ['revoked'], head: '3.33333333', age: 1 })
  expect(state).toMatchObject({ kid: 'first', error: 'key_set_history_changed' })
})

test('a project that is named is asked for by its id, once a response has told it', async () => {
  const options = { background: false, coolDown: 0 }
  const { keys } = openKeySet(`${server.url}/keys/v1/projects/named`, options)
  for (const _time of [1, 2]) await keys.ready()
  expect(paths).toEqual(
    ['named', id].map((name) => `/keys/v1/projects/${name}/.well-known/jwks-full.json`),
  )
})
