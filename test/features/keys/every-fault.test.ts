import { beforeAll, describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { keysUrl } from '../../support/app/keys.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'

const server = await startApp()

const good = ecKey().publicKeyPem
const importsUrl = '/v1/projects/payments/key-imports'

interface Fault {
  pointer: string
  code: string
}

async function rejection(url: string, body: unknown, method: 'POST' | 'PATCH' = 'POST') {
  const response = await server.send(method, url, { body })
  const { status, code, detail, errors } = response.json()
  expect(status, response.body).toBe(400)
  return {
    code,
    detail,
    errors: errors.map((fault: Fault) => `${fault.pointer} ${fault.code}`),
  }
}

const cases: [string, object, string, string[]][] = [
  [
    'a bad key, an empty label and a past expireTime',
    { name: ' ', algorithm: 'RSA', publicKeyPem: 'x', expireTime: '2001-01-01T00:00:00Z' },
    'invalid_key_pem',
    ['/publicKeyPem pem_not_found', '/name too_short', '/expireTime time_past'],
  ],
  [
    'a bad key, an algorithm that is no text, and name and label that differ',
    { name: 'a', label: 'b', algorithm: 12, publicKeyPem: 'x' },
    'invalid_key_pem',
    ['/publicKeyPem pem_not_found', '/algorithm wrong_type', '/label label_conflict'],
  ],
  [
    'a bad key without its name, and an unknown field',
    { algorithm: 'RSA', publicKeyPem: '', lable: 'a' },
    'invalid_key_pem',
    ['/publicKeyPem key_missing', '/lable unknown_field', '/name required'],
  ],
  [
    'a good key with every other field at fault',
    { name: '\u0007', active: 'yes', algorithm: null, publicKeyPem: good, expireTime: 'soon' },
    'invalid_request',
    [
      '/algorithm wrong_type',
      '/active wrong_type',
      '/expireTime time_invalid',
      '/name text_invalid',
    ],
  ],
  [
    'a missing key and a bad label',
    { name: '', algorithm: 'RSA' },
    'invalid_request',
    ['/publicKeyPem required', '/name too_short'],
  ],
]

describe.each(cases)('%s', (_name, body, code, errors) => {
  test('are all reported when the key is created', async () => {
    const rejected = await rejection(keysUrl, body)
    expect(rejected).toMatchObject({ code, errors })
    // One sentence for each member.
    for (const word of errors.map((fault) => fault.slice(1).split(' ')[0] ?? '')) {
      expect(rejected.detail).toMatch(word === 'publicKeyPem' ? /Pem|PEM/ : word)
    }
  })

  test('are all reported for an entry of an import', async () => {
    const other = { name: 'other', algorithm: 'ES256', publicKeyPem: good }
    const keys = [body, other, body]
    const rejected = await rejection(importsUrl, { keys })
    const at = (index: number) => errors.map((fault) => `/keys/${index}${fault}`)
    expect(rejected).toMatchObject({ code: 'import_refused', errors: [...at(0), ...at(2)] })
  })
})

test('a key check reports a bad key beside a bad request', async () => {
  expect(
    await rejection('/v1/key-checks', { publicKeyPem: 'x', algorithm: 12, name: 'a' }),
  ).toMatchObject({
    code: 'invalid_key_pem',
    errors: ['/publicKeyPem pem_not_found', '/name unknown_field', '/algorithm wrong_type'],
  })
})

test('a private key comes first, wherever it is', async () => {
  const name = privatePem(ecKey())
  const body = { name, algorithm: 'RSA', publicKeyPem: 'x', expireTime: 'soon' }
  expect(await rejection(keysUrl, body)).toMatchObject({
    code: 'private_key_submitted',
    errors: [
      '/name private_key_submitted',
      '/publicKeyPem pem_not_found',
      '/expireTime time_invalid',
    ],
  })
})

test.each([null, ['RSA'], { name: 'RSA' }])(
  'the algorithm %j is wrong_type, and the detail names all',
  async (algorithm) => {
    const body = { name: 'a', algorithm, publicKeyPem: good }
    const { errors, detail } = await rejection(keysUrl, body)
    expect(errors).toEqual(['/algorithm wrong_type'])
    expect(detail).toMatch(/^algorithm must be a string, one of RSA, RS256, .*; it is (a|an|null)/)
  },
)

test('an API key reports a bad name beside fields of another type', async () => {
  const body = { name: '', role: 12, expireTime: '2001-01-01T00:00:00Z' }
  const errors = ['/role wrong_type', '/name too_short', '/expireTime time_past']
  expect((await rejection('/v1/api-keys', body)).errors).toEqual(errors)
  const created = await server.send('POST', '/v1/api-keys', { body: { name: 'n', role: 'reader' } })
  const patched = await rejection(`/v1/api-keys/${created.json().id}`, { ...body, foo: 1 }, 'PATCH')
  expect(patched.errors).toEqual(['/foo unknown_field', '/role wrong_type', '/name too_short'])
})

describe('a patch', () => {
  const past = '2001-01-01T00:00:00Z'
  let url = ''
  beforeAll(async () => {
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: good }
    const created = await server.send('POST', keysUrl, { body })
    url = `${keysUrl}/${created.json().kid}`
  })
  test.each<[object, string[]]>([
    [
      { label: ' ', expireTime: '9999-12-31T23:59:59-12:00' },
      ['/label too_short', '/expireTime time_invalid'],
    ],
    [
      { label: ' ', expireTime: 'soon', active: 'no' },
      ['/active wrong_type', '/expireTime time_invalid', '/label too_short'],
    ],
    [
      { label: '\u0007', expireTime: past, active: 'no', foo: 1 },
      ['/foo unknown_field', '/active wrong_type', '/label text_invalid', '/expireTime time_past'],
    ],
  ])('%j', async (patch, errors) => {
    expect(await rejection(url, patch, 'PATCH')).toMatchObject({ code: 'invalid_request', errors })
  })
})
