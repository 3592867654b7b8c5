import { expect, test } from 'vitest'
import { cacheKeyHeaders } from '../../../../packages/server/src/kernel/http/caching.ts'
import { always } from '../../../../packages/server/src/kernel/values/validity.ts'
import { startApp } from '../../../support/app/app.ts'
import { registerKey } from '../../../support/app/keys.ts'

/** Whether the handler of the last request allowed the reuse of its response. */
let reusable = false
/** Requests that reached the routes. */
let routed = 0
/** The `Vary` of a route of this test's own. */
let vary: string | undefined

/** The paths of all routes that can be read. */
const routes = new Set<string>()
const server = await startApp({
  async beforeRoutes(app) {
    app.addHook('onRoute', ({ method, url }) => {
      if ([method].flat().includes('GET')) routes.add(url)
    })
  },
})
server.app.addHook('onSend', async (request) => {
  routed += 1
  reusable = request.reuse !== undefined
})
const config = { etag: true } as const
server.app.get('/varying/:number', { config, schema: { hide: true } }, async (request, reply) => {
  request.reuse = { validity: { heads: [], ...always }, headsMatch: () => true }
  if (vary !== undefined) reply.header('vary', vary)
  return reply.header('content-type', 'text/plain').send('text')
})
await server.app.ready()

/** A URL of the route that exists. */
async function urlMaker(): Promise<(route: string) => string> {
  const kid = await registerKey(server)
  const self = (await server.send('GET', '/v1/api-keys/self')).json()
  const values: Record<string, string> = {
    projectIdOrName: server.project.id,
    kid,
    id: self.id,
    number: '0',
  }
  return (route) => route.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '')
}

/** Headers outside the cache key, each of which some server somewhere varies by. */
const otherHeaders = {
  'accept-encoding': 'gzip, br',
  'accept-language': 'de',
  authorization: 'Bearer x',
  'cache-control': 'no-cache',
  cookie: 'session=x',
  forwarded: 'host=evil.example',
  host: 'evil.example',
  'if-modified-since': 'Wed, 21 Oct 2099 07:28:00 GMT',
  origin: 'https://evil.example',
  range: 'bytes=0-1',
  'user-agent': 'x',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'ftp',
  'x-http-method-override': 'DELETE',
}

/** Reads the response of the route itself: a `Content-Length` keeps the request from the cache. */
async function get(url: string, headers: Record<string, string>) {
  const sent = { 'content-length': '0', ...headers }
  const { statusCode, body, headers: all } = await server.send('GET', url, { headers: sent })
  const { date: _date, 'x-request-id': _id, ...lasting } = all
  return { statusCode, body, headers: lasting }
}

test('no reusable response of any route depends on a header outside the cache key', async () => {
  const urlOf = await urlMaker()
  const found = new Set<string>()
  for (const route of routes) {
    for (const accept of ['*/*', 'application/x-ndjson', 'text/html']) {
      reusable = false
      const plain = await get(urlOf(route), { accept })
      if (!reusable) continue
      found.add(route)
      const names = String(plain.headers.vary ?? 'accept').toLowerCase()
      expect(cacheKeyHeaders).toEqual(expect.arrayContaining(names.split(/, */)))
      expect(await get(urlOf(route), { accept, ...otherHeaders }), route).toEqual(plain)
    }
  }
  const project = '/v1/projects/:projectIdOrName'
  expect([...found].sort()).toEqual([
    `/.well-known/oauth-authorization-server/base${project}`,
    `${project}/.well-known/:kid.pem`,
    `${project}/.well-known/jwks-full.json`,
    `${project}/.well-known/jwks.json`,
    `${project}/.well-known/key-history.json`,
    `${project}/.well-known/keys.pem`,
    `${project}/.well-known/oauth-authorization-server`,
    `${project}/.well-known/openid-configuration`,
    `${project}/jwt-keys`,
    `${project}/jwt-keys/:kid`,
    `${project}/key-states`,
    '/varying/:number',
  ])
})

test.each<[string | undefined, 'cached' | 'routed']>([
  [undefined, 'cached'],
  ['Accept', 'cached'],
  ['accept, X-Api-Key', 'cached'],
  ['Origin', 'routed'],
  ['Accept, Origin', 'routed'],
  ['*', 'routed'],
])('a response with Vary: %s is %s when it is requested again', async (value, expected) => {
  vary = value
  routed = 0
  const url = `/varying/${value}`
  for (let count = 0; count < 3; count += 1) {
    const answer = await server.inject({ url: encodeURI(url) })
    expect([answer.statusCode, answer.body, answer.headers.vary]).toEqual([200, 'text', value])
  }
  expect(routed).toBe(expected === 'cached' ? 2 : 3)
})
