import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { parseLabel } from '../../../packages/server/src/kernel/values/labels.ts'

const code = (value: string) => expect.objectContaining({ code: value })

test.each([
  ['a/b'],
  ['a?b=%2e%2e'],
  ['<img src=x onerror=alert(1)>'],
  ['eyeglasses-shop.production'],
  ['=HYPERLINK("x")'],
  ['👩‍🚀'.repeat(85)],
  ['x'.repeat(255)],
  ['می\u200cخواهم'],
  ['क्\u200dष'],
])('%s is a valid label', (text) => {
  expect(parseLabel(text, '/name')).toBe(text)
})

test('white space around a label is trimmed', () => {
  expect(parseLabel(' \t spring\u00a0', '/name')).toBe('spring')
})

test.each([
  ['blanks alone', '   '],
  ['256 characters', 'x'.repeat(256)],
  ['NUL', 'a\0b'],
  ['a C1 control character', 'a\u0085b'],
  ['half of a surrogate pair', 'a\ud800b'],
  ['a line separator', 'a\u2028b'],
  ['an embedding that reverses the text', 'key \u202egpj.exe'],
  ['an isolate', 'key \u2066x\u2069'],
  ['a zero-width joiner alone', '\u200d'],
  ['invisible characters alone', '\u200b\u2060\ufeff\u00ad'],
  ['a Hangul filler alone', '\u3164'],
  ['a combining mark alone', '\u0301'],
  ['a blank Braille pattern alone', '\u2800'],
  ['an API key', `key ${newApiKeySecret()}`],
  ['a token', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'],
])('%s is invalid_request', (_name, text) => {
  expect(() => parseLabel(text, '/name')).toThrow(code('invalid_request'))
})

test('a private key in a label is rejected, and the error does not repeat it', () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const der = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  const jwk = JSON.stringify(privateKey.export({ format: 'jwk' }))
  for (const text of [der, jwk, `-----BEGIN PRIVATE KEY----- ${der} -----END PRIVATE KEY-----`]) {
    expect(() => parseLabel(text, '/label')).toThrow(code('private_key_submitted'))
    expect(() => parseLabel(text, '/label')).not.toThrow(der.slice(20, 44))
  }
})
