import { beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'

let server: TestApp
let reader: string
let bound: string

beforeAll(async () => {
  server = await startApp()
  await server.send('POST', '/v1/projects', { body: { name: 'other' } })
  reader = await server.apiKey('reader')
  bound = await server.apiKey('admin', server.project.id)
})

const broken = '{"name":'
const keysOf = (project: string) => `/v1/projects/${project}/jwt-keys`

const table: [string, () => string, 'GET' | 'POST', string, string][] = [
  ['no API key, broken body', () => '', 'POST', keysOf('payments'), 'missing_api_key'],
  ['no API key, no such project', () => '', 'POST', keysOf('none'), 'missing_api_key'],
  ['no API key, bad query', () => '', 'GET', `${keysOf('payments')}?x=1`, 'missing_api_key'],
  ['a wrong API key, no such project', () => 'x', 'POST', keysOf('none'), 'invalid_api_key'],
  ['a reader, no such project', () => reader, 'POST', keysOf('none'), 'project_not_found'],
  ['a reader, broken body', () => reader, 'POST', keysOf('payments'), 'insufficient_role'],
  ['a bound admin, another project', () => bound, 'POST', keysOf('other'), 'project_not_found'],
  ['a bound admin, all projects', () => bound, 'POST', '/v1/projects', 'insufficient_role'],
  [
    'a writer may not: a reader creates an API key',
    () => reader,
    'POST',
    '/v1/api-keys',
    'insufficient_role',
  ],
  ['an admin, broken body', () => server.admin, 'POST', keysOf('payments'), 'invalid_json'],
]

test.each(table)('%s', async (_name, secret, method, url, code) => {
  const headers = { 'x-api-key': secret() }
  const request = method === 'POST' ? { headers, body: broken } : { headers }
  const answer = await server.send(method, url, request)
  expect(answer.json().code).toBe(code)
})

test('the responses for unknown projects and those of others are equal', async () => {
  const headers = { 'x-api-key': bound }
  const none = await server.send('GET', keysOf('none'), { headers })
  const foreign = await server.send('GET', keysOf('other'), { headers })
  const comparable = ({ requestId: _id, ...rest }: Record<string, unknown>) => rest
  expect(comparable(foreign.json())).toEqual(comparable(none.json()))
  expect(foreign.headers['content-length']).toBe(none.headers['content-length'])
})

test('a wrong media type is reported after the role and before the body', async () => {
  const headers = { 'content-type': 'text/plain' }
  const asReader = { ...headers, 'x-api-key': reader }
  const url = keysOf('payments')
  const first = await server.send('POST', url, { body: broken, headers: asReader })
  expect(first.json().code).toBe('insufficient_role')
  const second = await server.send('POST', url, { body: broken, headers })
  expect(second.json().code).toBe('unsupported_media_type')
})

const writes: ['POST' | 'PATCH' | 'DELETE', string][] = [
  ['POST', '/v1/projects'],
  ['PATCH', '/v1/projects/payments'],
  ['DELETE', '/v1/projects/payments'],
  ['POST', keysOf('payments')],
  ['POST', '/v1/api-keys'],
]
test.each(writes)('a reader may not %s %s', async (method, url) => {
  const answer = await server.send(method, url, { headers: { 'x-api-key': reader } })
  expect(answer.statusCode).toBe(403)
})

test('a bound API key lists and reads only its own project', async () => {
  const headers = { 'x-api-key': bound }
  const list = await server.send('GET', '/v1/projects', { headers })
  expect(list.json().map((project: { name: string }) => project.name)).toEqual(['payments'])
  expect((await server.send('GET', '/v1/projects/payments', { headers })).statusCode).toBe(200)
})
