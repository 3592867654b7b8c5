import { describe, expect, test } from 'vitest'
import { codeOf, derOf, fixture, rejected } from '../../support/keys/intake.ts'

const good = fixture('keys/good/ec-p256.pem')
const other = fixture('keys/good/ec-p384.pem')
const body = good.split('\n').slice(1, -2).join('\n')
const block = (inner: string) => `-----BEGIN PUBLIC KEY-----\n${inner}\n-----END PUBLIC KEY-----\n`

describe('each kind of damage has its code', () => {
  test.each([
    ['key_missing', ''],
    ['key_missing', '\uFEFF'],
    ['key_missing', ' \t\r\n\u00a0\u2003'],
    ['key_missing', '\uFEFF \n'],
    ['key_too_large', ' '.repeat(16_385)],
    ['key_too_large', good + '\n'.repeat(16_385)],
    ['ok', good + '\n'.repeat(16_384 - good.length)],
    ['key_encoding_invalid', `${good}\0`],
    ['key_encoding_invalid', `\uFEFF\uFEFF${good}`],
    ['key_encoding_invalid', good.replace('\n', '\v')],
    ['key_encoding_invalid', good.replace('\n', '\f')],
    ['key_encoding_invalid', good.replace('\n', '\u0085')],
    ['key_encoding_invalid', good.replace('\n', '\u2028')],
    ['key_encoding_invalid', good.replace(' ', '\u00a0')],
    ['key_encoding_invalid', good.replace('M', 'М')],
    ['key_encoding_invalid', good.replace('M', '\u202eM')],
    ['key_encoding_invalid', good.replace('M', '\x7fM')],
    ['key_encoding_invalid', good.replace('M', '\ud800M')],
    ['key_encoding_invalid', `${good}\uFEFF`],
    ['key_encoding_invalid', good.replaceAll('--', '\u2013')],
    ['key_encoding_invalid', Buffer.from(good, 'utf16le').toString('latin1')],
    ['key_encoding_invalid', Buffer.from(good, 'utf16le').toString('utf8')],
    ['key_encoding_invalid', Buffer.from(good, 'utf16le').swap16().toString('utf16le')],
    ['key_encoding_invalid', derOf(good).toString('latin1')],
    ['key_encoding_invalid', derOf(good).toString('utf8')],
    ['pem_not_found', 'hello'],
    ['pem_not_found', 'null'],
    ['pem_not_found', good.replaceAll('PUBLIC KEY', 'public key')],
    ['pem_not_found', good.replaceAll('PUBLIC KEY', 'Public Key')],
    ['pem_not_found', good.replaceAll('PUBLIC KEY', '')],
    ['pem_not_found', good.replaceAll('PUBLIC KEY', ' PUBLIC KEY')],
    ['pem_not_found', good.replaceAll('-----', '----')],
    ['pem_not_found', good.replaceAll('-----', '------')],
    ['pem_not_found', good.replaceAll('-----', '- - - - -')],
    ['pem_not_found', good.replaceAll('BEGIN', 'begin')],
    ['pem_not_found', good.replaceAll(' ', '_')],
    ['pem_not_found', encodeURIComponent(good)],
    ['pem_not_found', Buffer.from(good).toString('base64')],
    ['pem_not_found', derOf(good).toString('base64')],
    ['pem_not_found', derOf(good).toString('hex')],
    ['pem_not_found', `-----END PUBLIC KEY-----\n${body}\n`],
    ['pem_not_found', 'https://issuer.example/.well-known/jwks.json'],
    ['pem_not_found', `${good.replace('-----BEGIN PUBLIC KEY-----', '').trim()}`],
    ['pem_multiple_blocks', good + good],
    ['pem_multiple_blocks', good + other],
    ['pem_multiple_blocks', good.replace('\n', `\n${other}`)],
    ['pem_multiple_blocks', good.replaceAll('\n', '') + other.replaceAll('\n', '')],
    ['pem_multiple_blocks', `${good}-----BEGIN PUBLIC KEY-----`],
    ['pem_multiple_blocks', good + good.replaceAll('PUBLIC KEY', 'EC PARAMETERS')],
    ['pem_end_missing', `-----BEGIN PUBLIC KEY-----\n${body}\n`],
    ['pem_end_missing', '-----BEGIN PUBLIC KEY-----'],
    ['pem_end_missing', good.replace('-----END PUBLIC KEY-----', '-----END PUBLIC KEY----')],
    ['pem_end_missing', good.replace('-----END PUBLIC KEY-----', '-----END PUBLIC KEY------')],
    ['pem_end_missing', good.replace('END', 'end')],
    ['pem_end_missing', good.replace('-----END', '-----\nEND')],
    ['pem_label_mismatch', good.replace('END PUBLIC', 'END RSA PUBLIC')],
    ['pem_label_mismatch', good.replace('BEGIN PUBLIC', 'BEGIN RSA PUBLIC')],
    ['pem_label_mismatch', good.replace('END PUBLIC KEY', 'END CERTIFICATE')],
    ['pem_label_mismatch', good.replace('END PUBLIC KEY', 'END PUBLIC KEY ')],
    ['pem_extra_text', `# key\n${good}`],
    ['pem_extra_text', `${good}# key`],
    ['pem_extra_text', `'${good}'`],
    ['pem_extra_text', `key=${good}`],
    ['pem_extra_text', `"${good}`],
    ['pem_extra_text', `${good.trim()},`],
    ['pem_extra_text', `${good}-----END PUBLIC KEY-----\n`],
    ['pem_extra_text', `""${good}""`],
    ['pem_base64_invalid', `${good.replaceAll('\n', '\\n')}\nx`],
    [
      'pem_headers_unsupported',
      block(`Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n${body}`),
    ],
    ['pem_headers_unsupported', block(`Comment: x\n${body}`)],
    ['pem_headers_unsupported', block(`\n\n  Comment: x\n${body}`)],
    ['pem_headers_unsupported', block(`Comment:\n${body}`)],
    ['pem_headers_unsupported', block(`X-Any:y\n\n${body}`).replaceAll('\n', ' ')],
    ['pem_base64_invalid', block(`${body}\nComment: x`)],
    ['pem_base64_invalid', block(`${body}!`)],
    ['pem_base64_invalid', block(body.replace('A', '*'))],
    ['pem_base64_invalid', block(`${body}=`)],
    ['pem_base64_invalid', block(body.replace(/=+$/, ''))],
    ['pem_base64_invalid', block(`=${body.slice(1)}`)],
    ['pem_base64_invalid', block(body.slice(0, -1))],
    ['pem_base64_invalid', block(`${body}====`)],
    ['pem_base64_invalid', block(body.replaceAll('\n', '\\\n'))],
    ['pem_base64_invalid', block(body.replaceAll('\n', '<br>'))],
    ['pem_base64_invalid', block(body.replace('A', 'A A'))],
    ['pem_base64_invalid', block(body.replaceAll('A', ' '))],
    ['pem_base64_invalid', block(body.replace('\n', '\\n\n'))],
    ['pem_base64_invalid', good.replaceAll('\n', '\\t')],
    ['pem_base64_invalid', good.replaceAll('\n', '\\\\n')],
    ['pem_base64_invalid', good.replaceAll('\n', '%0A')],
    ['spki_der_invalid', block('')],
    ['spki_der_invalid', block('\n \n')],
    ['spki_der_invalid', block('AAAA')],
    ['spki_der_invalid', block('MA==')],
  ])('%s %#', (code, text) => {
    expect(codeOf(text)).toBe(code)
  })
})

test('all independent faults are reported, the deciding one first', () => {
  const text = `note\n${good.replaceAll('PUBLIC KEY', 'EC PUBLIC KEY').replace('END EC', 'END')}`
  expect(rejected(text).faults.map(({ code }) => code)).toEqual([
    'pem_label_mismatch',
    'pem_extra_text',
    'pem_label_unsupported',
  ])
})

test.each([
  ['URL-encoded', encodeURIComponent(good)],
  ['base64 of a whole PEM', Buffer.from(good).toString('base64')],
  ['the base64 of a public key', derOf(good).toString('base64')],
  ['hexadecimal', derOf(good).toString('hex')],
  ['a token', 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln'],
  ['an address', 'https://issuer.example/jwks'],
  ['BEGIN line is missing', good.replace('-----BEGIN PUBLIC KEY-----', '')],
  ['five dashes', good.replaceAll('-----', '----')],
  ['typographic', good.replaceAll('--', '\u2014')],
  ['code point U+200B at position 5', good.replace('-B', '\u200b-B')],
  ['UTF-16', Buffer.from(good, 'utf16le').toString('latin1')],
  ['every + became a space', fixture('material/t_plus_became_space.pem')],
  ['URL-safe', fixture('material/t_body_base64url.pem')],
  ['UTF-16', fixture('keys/pem/utf16le.pem')],
  ['literal \\n', JSON.stringify(good).replaceAll('/', '\\/').replace('\\n', '\n')],
  ['HTML', fixture('keys/pem/html-br.pem')],
  ['2 PEM blocks', good + good],
  ['before and after', `a ${good} b`],
])('the detail explains what is wrong: %s', (words, text) => {
  expect(
    rejected(text)
      .faults.map(({ detail }) => detail)
      .join(' '),
  ).toContain(words)
})
