import { createPrivateKey } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { textOfFile } from '../../console/src/keys/file.ts'
import { holdsSecret } from '../../console/src/keys/secrets.ts'
import { freshPair, kindNames } from '../support/keys/key-pairs.ts'

const texts = (pattern: string) =>
  globSync(`test/fixtures/${pattern}`).map((path) => [basename(path), readFileSync(path, 'utf8')])

/** PKCS #8 bytes of a key that a fixture holds in PEM. */
const pkcs8 = () =>
  createPrivateKey(readFileSync('test/fixtures/material/private_pkcs8.pem')).export({
    type: 'pkcs8',
    format: 'der',
  })

describe('a private key is told apart', () => {
  test.each(texts('{keys/private/*,material/private_*,material/*.key}'))('in %s', (_name, text) => {
    expect(holdsSecret(text)).toBe(true)
  })

  test.each([
    ['bare base64', (base64: string) => base64],
    ['base64url', (base64: string) => base64.replaceAll('+', '-').replaceAll('/', '_')],
    ['a setting', (base64: string) => `SIGNING_KEY=${base64}`],
    ['a sentence', (base64: string) => `here is the key:\n${base64}\nplease register it`],
    ['wrapped lines', (base64: string) => base64.replace(/.{64}/g, '$&\r\n')],
    ['half of it', (base64: string) => base64.slice(0, base64.length / 2)],
    ['a label of a public key', (base64: string) => `-----BEGIN PUBLIC KEY-----\n${base64}`],
    ['hex', (base64: string) => Buffer.from(base64, 'base64').toString('hex')],
    ['base64 of base64', (base64: string) => btoa(base64)],
    ['part of a URL', (base64: string) => encodeURIComponent(base64)],
    ['base64 twice', (base64: string) => btoa(`-----BEGIN PRIVATE KEY-----\n${base64}`)],
  ])('as %s', (_form, made) => {
    expect(holdsSecret(made(pkcs8().toString('base64')))).toBe(true)
  })

  test.each(kindNames)('of the kind %s, in PKCS #8 and as a JWK', (kind) => {
    const { privateKey } = freshPair(kind)
    const der = privateKey.export({ type: 'pkcs8', format: 'der' })
    expect(holdsSecret(der.toString('base64'))).toBe(true)
    if (kind === 'RSA-PSS') return
    expect(holdsSecret(JSON.stringify(privateKey.export({ format: 'jwk' })))).toBe(true)
  })
})

test.each([
  ['with an escaped member', String.raw`{"kty":"OKP","crv":"Ed25519","x":"AAAA","\u0064":"AAAA"}`],
  ['in single quotes', "{'kty':'OKP','crv':'Ed25519','x':'AAAA','d':'AAAA'}"],
])('a private JWK %s is told apart', (_form, text) => {
  expect(holdsSecret(text)).toBe(true)
})

test('PKCS #12, which has a private key as a rule, is told apart by its version', () => {
  const start = Buffer.from('308209c60201033082098c06092a864886f70d010701a082', 'hex')
  expect(holdsSecret(start.toString('base64'))).toBe(true)
})

describe('a public key is not taken for a private one', () => {
  test.each(
    texts('material/{*.pem,*.pub,t_*,jwk_instead.json}').filter(([name]) => {
      return !name?.startsWith('private_')
    }),
  )('in %s', (_name, text) => {
    expect(holdsSecret(text)).toBe(false)
  })
})

describe('a file', () => {
  test('of private DER is read as a private key', () => {
    expect(holdsSecret(textOfFile(pkcs8()))).toBe(true)
  })

  test('of public DER becomes the PEM of the same key', () => {
    const { publicKey } = freshPair('P-256')
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    expect(textOfFile(publicKey.export({ type: 'spki', format: 'der' }))).toBe(pem)
  })

  test('in UTF-16, as PowerShell writes it, is read', () => {
    const bytes = Buffer.from('\uFEFF-----BEGIN PUBLIC KEY-----', 'utf16le')
    expect(textOfFile(bytes)).toBe('-----BEGIN PUBLIC KEY-----')
  })

  test.each([
    ['PKCS #12', Buffer.from('3008020103300330010030', 'hex')],
    ['a Java key store', Buffer.from('feedfeed0000000200000001', 'hex')],
    ['UTF-16 without a mark', Buffer.from('-----BEGIN', 'utf16le')],
  ])('of %s is not taken', (_name, bytes) => {
    expect(() => textOfFile(bytes)).toThrow('Nothing was sent')
  })
})
