import { describe, expect, test } from 'vitest'
import { newId } from '../../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../../support/app/app.ts'
import { keysUrl } from '../../../support/app/keys.ts'

const server = await startApp()

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('names in the path', () => {
  test('the longest name that create takes works in the path', async () => {
    const name = 'a'.repeat(128)
    expect((await server.send('POST', '/v1/projects', { body: { name } })).statusCode).toBe(201)
    for (const segment of [name, '%61'.repeat(128)]) {
      expect((await server.send('GET', `/v1/projects/${segment}/jwt-keys`)).statusCode).toBe(200)
    }
  })

  test.each([
    ['one character too many', 'a'.repeat(129)],
    ['60 CJK characters', encodeURIComponent('鍵'.repeat(60))],
    ['20 KB', 'a'.repeat(20_000)],
    ['NUL', '%00'],
    ['an escaped escape', 'team%252Fapp'],
    ['two dots', '..%2f..%2f'],
    ['nothing', ''],
  ])('%s is no project', async (_name, segment) => {
    const answer = await server.send('GET', `/v1/projects/${segment}/jwt-keys`)
    expect(answer.json()).toMatchObject({ status: 404, code: 'project_not_found' })
  })

  test.each(['team/app', '鍵', 'a b', '-a', 'a-', 'a'.repeat(129), newId()])(
    'the project name %j is refused at creation',
    async (name) => {
      const answer = await server.send('POST', '/v1/projects', { body: { name } })
      expect(answer.json().errors[0].pointer).toBe('/name')
    },
  )

  test('upper case is folded, in creation and look-up', async () => {
    const created = (
      await server.send('POST', '/v1/projects', { body: { name: 'Billing' } })
    ).json()
    expect(created.name).toBe('billing')
    for (const ref of ['BILLING', created.id.toUpperCase()]) {
      expect((await server.send('GET', `/v1/projects/${ref}`)).json().id).toBe(created.id)
    }
  })
})

test.each(['/v1/projects/%E0%A4%A/jwt-keys', '/%', '/v1/projects/%ff/jwt-keys'])(
  'broken percent-encoding is 400 in the one form: %s',
  async (url) => {
    const answer = await server.send('GET', url)
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.headers['x-request-id']).toBe(answer.json().requestId)
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
  },
)

test.each([
  ...['PUT', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'LOCK'].map((method) => [
    method,
    `${keysUrl}?x=1`,
    'GET, HEAD, POST',
  ]),
  ['PUT', '/v1/projects/payments', 'DELETE, GET, HEAD, PATCH'],
  // The address is none of an id.
  ['DELETE', '/v1/api-keys/self', 'GET, HEAD'],
  ['PATCH', '/v1/api-keys/self', 'GET, HEAD'],
  ['PUT', '/openapi.json', 'GET, HEAD'],
  ['PUT', '/docs/', 'GET, HEAD'],
  ['PUT', '/', 'GET, HEAD'],
])('%s %s is 405 with Allow: %s', async (method, url, allow) => {
  const answer = await server.inject({ method: method as 'PUT', url, payload: '{' })
  expect(answer.json()).toMatchObject({ status: 405, code: 'method_not_allowed' })
  expect(answer.headers.allow).toBe(allow)
})

test.each(['/v1/nope', '/v2/projects', '/v1/projects/payments/jwt-keys/a/b', '/V1/projects'])(
  '%s is 404, with no API key asked for and no body looked at',
  async (url) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await server.inject({ method: 'POST', url, headers, payload: '{"a":' })
    expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found' })
  },
)

test.each(['/health/live', keysUrl, '/v1/nope', '/%'])(
  'X-Request-Id is ours on %s with any header of the client',
  async (url) => {
    const answer = await server.send('GET', url, { headers: { 'x-request-id': 'mine' } })
    expect(answer.headers['x-request-id']).toMatch(uuidV7)
  },
)
