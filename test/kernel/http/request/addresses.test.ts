import type { InjectOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'

const keys = '/v1/projects/payments/jwt-keys'

const server = await startApp()

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('names in the path', () => {
  test('the longest name that create takes works in the path', async () => {
    const name = 'a'.repeat(128)
    expect((await server.send('POST', '/v1/projects', { body: { name } })).statusCode).toBe(201)
    expect((await server.send('GET', `/v1/projects/${name}/jwt-keys`)).statusCode).toBe(200)
    const escaped = '%61'.repeat(128)
    expect((await server.send('GET', `/v1/projects/${escaped}/jwt-keys`)).statusCode).toBe(200)
  })

  test.each([
    ['one character too many', 'a'.repeat(129)],
    ['34 CJK characters', encodeURIComponent('鍵'.repeat(34))],
    ['60 CJK characters', encodeURIComponent('鍵'.repeat(60))],
    ['20 KB', 'a'.repeat(20_000)],
    ['NUL', '%00'],
    ['a slash', 'team%2Fapp'],
    ['an escaped escape', 'team%252Fapp'],
    ['two dots', '..%2f..%2f'],
    ['nothing', ''],
  ])('%s is no project', async (_name, segment) => {
    const answer = await server.send('GET', `/v1/projects/${segment}/jwt-keys`)
    expect(answer.json()).toMatchObject({ status: 404, code: 'project_not_found' })
  })

  test.each([
    'team/app',
    '鍵',
    'a b',
    '-a',
    'a-',
    'a'.repeat(129),
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
  ])('the project name %j is refused at creation', async (name) => {
    const answer = await server.send('POST', '/v1/projects', { body: { name } })
    expect(answer.json().errors[0].pointer).toBe('/name')
  })

  test.each(['DELETE', 'PATCH', 'PUT'] as const)(
    '%s on one’s own API key is 405: its address is none of an id',
    async (method) => {
      const answer = await server.send(method, '/v1/api-keys/self', { body: {} })
      expect(answer.statusCode).toBe(405)
      expect(answer.headers.allow).toBe('GET, HEAD')
    },
  )

  test('upper case is folded, in creation and look-up', async () => {
    const created = await server.send('POST', '/v1/projects', { body: { name: 'Billing' } })
    expect(created.json().name).toBe('billing')
    expect((await server.send('GET', '/v1/projects/BILLING')).json().id).toBe(created.json().id)
    const id = created.json().id.toUpperCase()
    expect((await server.send('GET', `/v1/projects/${id}`)).statusCode).toBe(200)
  })
})

describe('broken percent-encoding', () => {
  test.each(['/v1/projects/%E0%A4%A/jwt-keys', '/%', '/%ff', '/v1/projects/%ff/jwt-keys'])(
    '%s is 400 in the one form',
    async (url) => {
      const answer = await server.send('GET', url)
      expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(answer.headers['x-request-id']).toBe(answer.json().requestId)
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
    },
  )
})

describe('methods and routes', () => {
  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'LOCK'])(
    '%s on the keys of a project is 405 with Allow',
    async (name) => {
      const method = name as NonNullable<InjectOptions['method']>
      const answer = await server.inject({ method, url: `${keys}?x=1` })
      expect(answer.json()).toMatchObject({ status: 405, code: 'method_not_allowed' })
      expect(answer.headers.allow).toBe('GET, HEAD, POST')
    },
  )

  test.each([
    ['/v1/projects/payments', 'DELETE, GET, HEAD, PATCH'],
    ['/v1/projects', 'GET, HEAD, POST'],
    ['/v1/api-keys', 'GET, HEAD, POST'],
    ['/v1/api-keys/self', 'GET, HEAD'],
    ['/health/live', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/docs/', 'GET, HEAD'],
    ['/', 'GET, HEAD'],
  ])('%s allows %s', async (url, allow) => {
    const answer = await server.inject({ method: 'PUT', url, payload: '{' })
    expect(answer.statusCode).toBe(405)
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

  test.each(['/health/live', '/health/ready', '/openapi.json', '/docs/', keys, '/v1/projects'])(
    'HEAD %s has the status and the headers of GET, and no body',
    async (url) => {
      const [get, head] = [await server.send('GET', url), await server.send('HEAD', url)]
      const told = ({ date: _date, 'x-request-id': _id, ...rest }: Record<string, unknown>) => rest
      expect(head.statusCode).toBe(get.statusCode)
      expect(told(head.headers)).toEqual(told(get.headers))
      expect(head.body).toBe('')
    },
  )
})

describe('X-Request-Id', () => {
  test.each(['/health/live', keys, '/v1/nope', '/%', '/v1/projects/none'])(
    'is ours on %s with any header of the client',
    async (url) => {
      const answer = await server.send('GET', url, { headers: { 'x-request-id': 'mine' } })
      expect(answer.headers['x-request-id']).toMatch(uuidV7)
    },
  )
})
