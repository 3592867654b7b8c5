import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { exceededBound } from '../../../../packages/intake/src/encoding/json-text.ts'
import { bodyTypes, maxBody } from '../../../../packages/server/src/kernel/http/body/bodies.ts'
import { newId } from '../../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../../support/app/app.ts'
import { ecKey } from '../../../support/keys/pem.ts'

const keys = '/v1/projects/payments/jwt-keys'

const server = await startApp()

const good = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
const post = (body: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', keys, { body, headers })

describe('media types', () => {
  test.each([
    'application/json;charset=UTF-8',
    'Application/JSON',
    'application/json;',
    'application/json; charset="utf-8"',
    'application/json; charset=utf8 ;',
  ])('%s is JSON', async (type) => {
    expect((await post(good(), { 'content-type': type })).statusCode).toBe(201)
  })

  test.each([
    'text/plain',
    'application/x-pem-file',
    'application/json; charset=latin1',
    'application/merge-patch+json',
    'json',
    '',
  ])('"%s" is 415 and says what to send', async (type) => {
    const answer = await post(JSON.stringify(good()), { 'content-type': type })
    expect(answer.statusCode).toBe(415)
    expect(answer.json().detail).toContain('application/json')
  })

  test('the body of any method must be JSON', () => {
    expect(bodyTypes('PUT', {})).toEqual(['application/json'])
  })

  test('no Content-Type at all is 415', async () => {
    const headers = { 'x-api-key': server.admin }
    const answer = await server.inject({ method: 'POST', url: keys, headers, payload: '{}' })
    expect(answer.json().code).toBe('unsupported_media_type')
    const empty = await server.inject({ method: 'POST', url: keys, headers })
    expect(empty.json().code).toBe('unsupported_media_type')
  })

  test('a compressed body is 415', async () => {
    const answer = await post(good(), { 'content-encoding': 'gzip' })
    expect(answer.json().code).toBe('unsupported_media_type')
  })
})

describe('JSON', () => {
  test.each([
    ['nothing', ''],
    ['half an object', '{"name":'],
    ['a raw line break in a string', '{"name":"a\nb"}'],
    ['a member twice', '{"name":"a","name":"b"}'],
    ['a member twice, once with an escape', '{"name":"a","n\\u0061me":"b"}'],
    ['a member twice, deep inside', '{"name":[{"x":1,"x" :2}]}'],
    ['1,000 levels', `{"name":${'['.repeat(1000)}${']'.repeat(1000)}}`],
    ['30,000 levels', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['octets that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('%s is invalid_json', async (_name, body) => {
    const answer = await post(body, { 'content-type': 'application/json' })
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_json' })
  })

  test.each(['[]', '"x"', 'null', '1', 'true'])('%s is no object', async (body) => {
    const answer = await post(body, { 'content-type': 'application/json' })
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(answer.json().detail).toContain('must be a JSON object')
  })

  test('equal names in different objects are fine', async () => {
    const answer = await post('{"name":{"name":1}}', { 'content-type': 'application/json' })
    expect(answer.json().code).toBe('invalid_request')
  })

  test('braces, quotes and colons inside a string are text', async () => {
    const answer = await post({ ...good(), name: '{"a":1,"a":2} \\" : [[' })
    expect(answer.statusCode).toBe(201)
  })

  test.each([
    '{"__proto__":{"active":true},"name":"n"}',
    '{"constructor":{"prototype":{"x":1}},"name":"n"}',
  ])('%s is an unknown field and pollutes nothing', async (body) => {
    const answer = await post(body, { 'content-type': 'application/json' })
    expect(answer.json().errors[0].code).toBe('unknown_field')
    expect(Reflect.get({}, 'active') ?? Reflect.get({}, 'x')).toBeUndefined()
  })
})

describe('what a body holds is bounded before it is parsed', () => {
  const { values, members, levels } = maxBody
  const object = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"n${index}":0`).join()}}`
  const nested = (count: number) => '['.repeat(count) + ']'.repeat(count)
  const exceeded = (text: string) => exceededBound(Buffer.from(text), maxBody)

  test('so that no body takes long', () => {
    expect(members).toBeLessThanOrEqual(200)
    expect(values).toBeLessThanOrEqual(20_000)
    expect(levels).toBeLessThanOrEqual(32)
  })

  test('by the members of one object, the values in all, and the levels', () => {
    expect(exceeded(object(members))).toBeUndefined()
    expect(exceeded(object(members + 1))).toBe('members')
    expect(exceeded(`[${object(members)},${object(members)}]`)).toBeUndefined()
    expect(exceeded(`{"a":[${'0,'.repeat(members)}0],"b":0}`)).toBeUndefined()
    expect(exceeded(`{"a":[],${object(members).slice(1)}`)).toBe('members')
    expect(exceeded(`[${'0,'.repeat(values - 1)}0]`)).toBeUndefined()
    expect(exceeded(`[${'0,'.repeat(values)}0]`)).toBe('values')
    expect(exceeded(nested(levels))).toBeUndefined()
    expect(exceeded(nested(levels + 1))).toBe('levels')
    expect(exceeded(JSON.stringify(object(members + 1) + nested(levels + 1)))).toBeUndefined()
  })

  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
  interface Operation {
    requestBody?: { content: Record<string, unknown> }
  }
  const operations = Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      requestBody?.content['application/json'] === undefined
        ? []
        : [[method.toUpperCase(), path] as const],
    ),
  )

  test.each(operations)('in %s %s', async (method, path) => {
    const url = path.replace('{projectIdOrName}', 'payments').replace(/\{\w+\}/, newId())
    for (const body of [object(members + 1), `{"name":${nested(levels)}}`]) {
      const answer = await server.send(method as 'POST', url, { body })
      expect(answer.json(), answer.body).toMatchObject({ status: 400, code: 'invalid_json' })
    }
  })

  test('by the parameters of a form', async () => {
    const form = Array.from({ length: 101 }, (_, index) => `n${index}=`).join('&')
    const answer = await server.inject({
      method: 'POST',
      url: '/v1/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: form,
    })
    expect(answer.statusCode).toBe(400)
  })
})

describe('types are never converted', () => {
  test.each([12, true, null, ['x'], {}])('name: %j is refused', async (name) => {
    const answer = await post({ ...good(), name })
    expect(answer.json().errors).toMatchObject([{ pointer: '/name', code: 'wrong_type' }])
  })

  test.each(['false', 0, null])('active: %j is refused', async (active) => {
    const answer = await post({ ...good(), active })
    expect(answer.json().errors).toMatchObject([{ pointer: '/active', code: 'wrong_type' }])
  })

  test('an unknown field names the one that was meant', async () => {
    const answer = await post({ ...good(), algoritm: 'ES256' })
    expect(answer.json().errors).toEqual([
      {
        pointer: '/algoritm',
        code: 'unknown_field',
        detail: 'There is no field "algoritm". Did you mean "algorithm"?',
      },
    ])
  })

  test.each(['kid', 'id', 'createTime', 'projectId'])(
    '%s is not for a caller to set',
    async (field) => {
      const answer = await post({ ...good(), [field]: server.project.id })
      expect(answer.json().errors).toMatchObject([{ code: 'unknown_field' }])
    },
  )

  test.each(['HS256', 'none', 'rs256', 'RSA256', 'ES256K'])(
    'the algorithm %s is refused',
    async (algorithm) => {
      const answer = await post({ ...good(), algorithm })
      expect(answer.json().errors[0]).toMatchObject({
        pointer: '/algorithm',
        code: 'unknown_value',
      })
      expect(answer.json().detail).toContain('ES256')
    },
  )

  test('a flood of unknown fields is answered briefly', async () => {
    const flood = Object.fromEntries(Array.from({ length: 190 }, (_, i) => [`field${i}`, 1]))
    const answer = await post({ ...good(), ...flood })
    expect(answer.json().errors.length).toBe(20)
    expect(answer.body.length).toBeLessThan(8000)
  })

  test('what was pasted into the wrong place does not come back', async () => {
    const secret = '-----BEGIN PRIVATE KEY-----'
    const answer = await post({ [secret]: 1, name: 1, algorithm: secret })
    expect(answer.statusCode).toBe(400)
    expect(answer.body).not.toContain('PRIVATE')
  })
})

describe('text', () => {
  test.each(['a\u0000b', 'a\nb', '\ud800', '', '   ', 'x'.repeat(256)])(
    'the name %j is refused before the database',
    async (name) => {
      const answer = await post({ ...good(), name })
      expect(answer.json().errors[0].pointer).toBe('/name')
    },
  )

  test('255 code points of anything else are a name, kept as they are', async () => {
    const name = `${'😀'.repeat(254)}é`
    const { kid } = (await post({ ...good(), name })).json()
    expect((await server.send('GET', `${keys}/${kid}`)).json().label).toBe(name)
  })

  test('NUL in a project name is refused', async () => {
    const answer = await server.send('POST', '/v1/projects', { body: { name: 'a\u0000b' } })
    expect(answer.json().code).toBe('invalid_request')
  })

  test('name and label are one field: equal is fine, different is not', async () => {
    expect((await post({ ...good(), name: 'a', label: 'a' })).statusCode).toBe(201)
    expect((await post({ ...good(), name: 'a', label: 'b' })).json().errors).toMatchObject([
      { pointer: '/label' },
    ])
  })
})
