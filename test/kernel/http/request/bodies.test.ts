import { describe, expect, test } from 'vitest'
import { exceededBound } from '../../../../packages/intake/src/encoding/json-text.ts'
import { bodyTypes, maxBody } from '../../../../packages/server/src/kernel/http/body/bodies.ts'
import { newId } from '../../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../../support/app/app.ts'
import { keysUrl } from '../../../support/app/keys.ts'
import { apiOperations } from '../../../support/app/operations.ts'
import { ecKey } from '../../../support/keys/pem.ts'

const server = await startApp()

const good = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
const post = (body: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', keysUrl, { body, headers })

describe('media types', () => {
  test.each([
    'application/json;charset=UTF-8',
    'Application/JSON; ; ;',
    'application/json; charset="utf-8"; x="a;b"',
    'application/json; charset=utf8 ;',
  ])('%s is JSON', async (type) => {
    expect((await post(good(), { 'content-type': type })).statusCode).toBe(201)
  })

  test.each<[string, string?]>([
    ['text/plain'],
    ['application/json; charset=latin1'],
    ['application/json; charset'],
    ['application/json; x="a'],
    [`application/json${';'.repeat(1_000)}`],
    ['application/merge-patch+json'],
    ['json'],
    [''],
    ['application/json', 'gzip'],
  ])('"%s", %s, is 415 and says what to send', async (type, coding) => {
    const encoding = coding === undefined ? {} : { 'content-encoding': coding }
    const answer = await post(JSON.stringify(good()), { 'content-type': type, ...encoding })
    expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported_media_type' })
    expect(answer.json().detail).toContain('application/json')
  })

  test('the body of any method must be JSON', () => {
    expect(bodyTypes('PUT', {})).toEqual(['application/json'])
  })

  test('no Content-Type at all is 415', async () => {
    const headers = { 'x-api-key': server.admin }
    for (const body of [{ payload: '{}' }, {}]) {
      const answer = await server.inject({ method: 'POST', url: keysUrl, headers, ...body })
      expect(answer.json().code).toBe('unsupported_media_type')
    }
  })
})

const invalidJson = { code: 'invalid_json' }
const noObject = { code: 'invalid_request', detail: expect.stringContaining('be a JSON object') }
const unknownField = { errors: [{ code: 'unknown_field' }] }
const wrongType = (pointer: string) => ({ errors: [{ pointer, code: 'wrong_type' }] })

test.each<[string, unknown, object]>([
  ['nothing', '', invalidJson],
  ['half an object', '{"name":', invalidJson],
  ['a raw line break in a string', '{"name":"a\nb"}', invalidJson],
  ['a member twice', '{"name":"a","name":"b"}', invalidJson],
  ['a member twice, once with an escape', '{"name":"a","n\\u0061me":"b"}', invalidJson],
  ['a member twice, deep inside', '{"name":[{"x":1,"x" :2}]}', invalidJson],
  ['30,000 levels', '['.repeat(30_000) + ']'.repeat(30_000), invalidJson],
  ['octets that are not UTF-8', Buffer.from('{"\xff":1}', 'latin1'), invalidJson],
  ['an array', '[]', noObject],
  ['a text', '"x"', noObject],
  ['null', 'null', noObject],
  ['equal names in different objects', '{"name":{"name":1}}', { code: 'invalid_request' }],
  ['__proto__', '{"__proto__":{"active":true},"name":"n"}', { code: 'invalid_request' }],
  ['constructor', '{"constructor":{"prototype":{"x":1}}}', { code: 'invalid_request' }],
  ['a number as a name', { ...good(), name: 12 }, wrongType('/name')],
  ['null as a name', { ...good(), name: null }, wrongType('/name')],
  ['a list of names', { ...good(), name: ['x'] }, wrongType('/name')],
  ['a text as a boolean', { ...good(), active: 'false' }, wrongType('/active')],
  ['a number as a boolean', { ...good(), active: 0 }, wrongType('/active')],
  ['an id', { ...good(), id: newId() }, unknownField],
  ['a createTime', { ...good(), createTime: '2026-01-01T00:00:00Z' }, unknownField],
  [
    'a misspelled field',
    { ...good(), algoritm: 'ES256' },
    {
      errors: [
        {
          pointer: '/algoritm',
          code: 'unknown_field',
          detail: 'There is no field "algoritm". Did you mean "algorithm"?',
        },
      ],
    },
  ],
  [
    'a name without a visible character',
    { ...good(), name: ' ' },
    { errors: [{ pointer: '/name' }] },
  ],
  ['name and another label', { ...good(), label: 'b' }, { errors: [{ pointer: '/label' }] }],
  ...['HS256', 'none', 'rs256', 'ES256K'].map((algorithm): [string, object, object] => [
    `the algorithm ${algorithm}`,
    { ...good(), algorithm },
    { errors: [{ pointer: '/algorithm', code: 'unknown_value' }] },
  ]),
])('a body with %s is refused', async (_what, body, problem) => {
  const answer = await post(body)
  expect(answer.json()).toMatchObject({ status: 400, ...problem })
  expect(Reflect.get({}, 'active') ?? Reflect.get({}, 'x')).toBeUndefined()
})

test.each([
  ['braces, quotes and colons in a text', { name: '{"a":1,"a":2} \\" : [[' }],
  ['255 code points', { name: `${'😀'.repeat(254)}é` }],
  ['name and label, which are one field', { name: 'a', label: 'a' }],
])('a body with %s is accepted, and its name kept as it is', async (_what, members) => {
  const { kid } = (await post({ ...good(), ...members })).json()
  expect((await server.send('GET', `${keysUrl}/${kid}`)).json().label).toBe(members.name)
})

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

describe('what a body holds is bounded before it is parsed', () => {
  const { values, members, levels } = maxBody
  const object = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"n${index}":0`).join()}}`
  const nested = (count: number) => '['.repeat(count) + ']'.repeat(count)

  test('so that no body takes long', () => {
    expect(members).toBeLessThanOrEqual(200)
    expect(values).toBeLessThanOrEqual(20_000)
    expect(levels).toBeLessThanOrEqual(32)
  })

  test.each([
    [object(members), undefined],
    [object(members + 1), 'members'],
    [`[${object(members)},${object(members)}]`, undefined],
    [`{"a":[${'0,'.repeat(members)}0],"b":0}`, undefined],
    [`{"a":[],${object(members).slice(1)}`, 'members'],
    [`[${'0,'.repeat(values - 1)}0]`, undefined],
    [`[${'0,'.repeat(values)}0]`, 'values'],
    [nested(levels), undefined],
    [nested(levels + 1), 'levels'],
    [JSON.stringify(object(members + 1) + nested(levels + 1)), undefined],
  ])('by members, values and levels: %.20s', (text, exceeded) => {
    expect(exceededBound(Buffer.from(text), maxBody)).toBe(exceeded)
  })

  test('in every operation', async () => {
    for (const { method, url } of apiOperations.filter(({ takesJson }) => takesJson)) {
      for (const body of [object(members + 1), `{"name":${nested(levels)}}`]) {
        const answer = await server.send(method, url('payments'), { body })
        expect(answer.json(), url('')).toMatchObject({ status: 400, code: 'invalid_json' })
      }
    }
  })

  test('by the parameters of a form', async () => {
    const form = Array.from({ length: 101 }, (_, index) => `n${index}=`).join('&')
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await server.send('POST', '/v1/token', { headers, body: form })
    expect(answer.statusCode).toBe(400)
  })
})
