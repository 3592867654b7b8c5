import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'

let server: TestApp
let keys: string
let jwks: string
let etag: string
beforeAll(async () => {
  server = await startApp()
  keys = `/v1/projects/${server.project.id}/jwt-keys`
  jwks = `/v1/projects/${server.project.id}/.well-known/jwks.json`
  etag = String((await server.inject({ url: jwks })).headers.etag)
})
afterAll(() => server.close())

const data = 'content-type content-length cache-control x-content-type-options x-request-id'
const cors = 'access-control-allow-origin access-control-expose-headers'
const newKey = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
type Send = () => Promise<{ statusCode: number; headers: object }>

/** All headers of each kind of response, but those that node:http adds. */
const kinds: [kind: string, status: number, headers: string, send: Send][] = [
  [
    'a key set',
    200,
    `${data} ${cors} etag pubring-revision vary`,
    () => server.inject({ url: jwks }),
  ],
  [
    'a known key set',
    304,
    `${cors} cache-control etag pubring-revision vary x-request-id`,
    () => server.inject({ url: jwks, headers: { 'if-none-match': etag } }),
  ],
  [
    'an absent key set',
    404,
    `${data} ${cors}`,
    () => server.inject({ url: '/v1/projects/absent/.well-known/jwks.json' }),
  ],
  ['a list', 200, `${data} etag`, () => server.send('GET', keys)],
  ['a new key', 201, `${data} etag location`, () => server.send('POST', keys, { body: newKey() })],
  ['no API key', 401, `${data} www-authenticate`, () => server.inject({ url: keys })],
  ['a wrong method', 405, `${data} allow`, () => server.inject({ method: 'PUT', url: keys })],
  ['no route', 404, data, () => server.inject({ url: '/v1/nope' })],
  ['a malformed URL', 400, data, () => server.inject({ url: '/%' })],
  ['the API description', 200, `${data} etag`, () => server.inject({ url: '/openapi.json' })],
]

test.each(kinds)('%s has these headers only', async (_kind, status, names, send) => {
  const { statusCode, headers } = await send()
  const own = Object.keys(headers).filter((name) => !['date', 'connection'].includes(name))
  expect([statusCode, own.sort()]).toEqual([status, names.split(' ').sort()])
})

test('every header is in the table of the docs', () => {
  const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split(/^## (?=Response headers$)/m)
  const [, ...rows] = (section.split(/^## /m)[0] ?? '').split(/^\| (?=`)/m)
  const named = rows.map((row) => row.slice(0, row.indexOf(' | ')).toLowerCase()).join()
  for (const name of new Set(kinds.flatMap(([, , names]) => names.split(' ')))) {
    expect(named).toContain(`\`${name}\``)
  }
})

test.each(['/console/', '/console', '/docs/', '/docs/errors', '/console/absent.js'])(
  '%s tells browsers to load nothing from elsewhere and not to frame it',
  async (url) => {
    const { headers } = await server.inject({ url })
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['strict-transport-security']).toBeDefined()
    expect(headers['access-control-allow-origin']).toBeUndefined()
  },
)
