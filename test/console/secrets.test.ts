import { createPrivateKey } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readKeyFile } from '../../console/src/keys/file.ts'
import { isSecretText } from '../../console/src/keys/secret-text.ts'
import { encodings } from '../support/keys/encodings.ts'
import { pem } from '../support/keys/intake.ts'
import { freshPair, kindNames, privateKeyForms, publicPemOf } from '../support/keys/key-pairs.ts'

const texts = (pattern: string) =>
  globSync(`test/fixtures/${pattern}`).map((path) => [basename(path), readFileSync(path, 'utf8')])

/** PKCS #8 bytes of a key that a fixture holds in PEM. */
const pkcs8 = () =>
  createPrivateKey(readFileSync('test/fixtures/material/private_pkcs8.pem')).export({
    type: 'pkcs8',
    format: 'der',
  })

describe('the console detects a private key', () => {
  test.each(texts('{keys/private/*,material/private_*,material/*.key}'))('in %s', (_name, text) => {
    expect(isSecretText(text)).toBe(true)
  })

  describe.each(kindNames)('of the kind %s', (kind) => {
    test.each(privateKeyForms(kind))('in $form, in every encoding', ({ der, label }) => {
      const missed = Object.keys(encodings).filter((name) => {
        return !isSecretText(encodings[name]?.(pem(der, label)) ?? '')
      })
      expect(missed).toEqual([])
    })
  })

  test.each([
    ['bare base64', (base64: string) => base64],
    ['base64url', (base64: string) => base64.replaceAll('+', '-').replaceAll('/', '_')],
    ['a variable', (base64: string) => `SIGNING_KEY=${base64}`],
    ['a sentence', (base64: string) => `here is the key:\n${base64}\nplease register it`],
    ['wrapped lines', (base64: string) => base64.replace(/.{64}/g, '$&\r\n')],
    ['its first half', (base64: string) => base64.slice(0, base64.length / 2)],
    ['a PUBLIC KEY block', (base64: string) => `-----BEGIN PUBLIC KEY-----\n${base64}`],
    ['hex', (base64: string) => Buffer.from(base64, 'base64').toString('hex')],
    ['base64 of base64', (base64: string) => btoa(base64)],
    ['part of a URL', (base64: string) => encodeURIComponent(base64)],
    ['base64 of PEM', (base64: string) => btoa(`-----BEGIN PRIVATE KEY-----\n${base64}`)],
  ])('written as %s', (_form, write) => {
    expect(isSecretText(write(pkcs8().toString('base64')))).toBe(true)
  })

  test.each(kindNames)('of the kind %s, in PKCS #8 and as a JWK', (kind) => {
    const { privateKey } = freshPair(kind)
    const der = privateKey.export({ type: 'pkcs8', format: 'der' })
    expect(isSecretText(der.toString('base64'))).toBe(true)
    if (kind === 'RSA-PSS') return
    expect(isSecretText(JSON.stringify(privateKey.export({ format: 'jwk' })))).toBe(true)
  })
})

test.each([
  ['with an escaped member', String.raw`{"kty":"OKP","crv":"Ed25519","x":"AAAA","\u0064":"AAAA"}`],
  ['in single quotes', "{'kty':'OKP','crv':'Ed25519','x':'AAAA','d':'AAAA'}"],
  ['without its braces', `"crv": "Ed25519", "d": "${'A'.repeat(43)}"`],
])('the console detects a private JWK %s', (_form, text) => {
  expect(isSecretText(text)).toBe(true)
})

test('the console detects PKCS #12, which usually contains a private key, by its version', () => {
  const start = Buffer.from('308209c60201033082098c06092a864886f70d010701a082', 'hex')
  expect(isSecretText(start.toString('base64'))).toBe(true)
})

test('the console detects a private key in a text longer than a request may be', () => {
  const [form] = privateKeyForms('P-256')
  const text = pem(form?.der ?? Buffer.of(0), 'PRIVATE KEY')
  expect(isSecretText(`${'#'.repeat(70_000)}\n${text}`)).toBe(true)
})

test('the console detects an API key', () => {
  expect(isSecretText(`pubring_${'a'.repeat(49)}`)).toBe(true)
})

describe('the console does not take a public key for a secret', () => {
  test.each(
    texts('material/{*.pem,*.pub,t_*,jwk_instead.json}').filter(([name]) => {
      return !name?.startsWith('private_')
    }),
  )('in %s', (_name, text) => {
    expect(isSecretText(text)).toBe(false)
  })

  test.each(kindNames)('of the kind %s, in every encoding', (kind) => {
    const taken = Object.keys(encodings).filter((name) => {
      return isSecretText(encodings[name]?.(publicPemOf(kind)) ?? '')
    })
    expect(taken).toEqual([])
  })
})

describe('a file', () => {
  test('of private DER is read as a private key', () => {
    expect(isSecretText(readKeyFile(pkcs8()))).toBe(true)
  })

  test('of public DER becomes the PEM of the same key', () => {
    const { publicKey } = freshPair('P-256')
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    expect(readKeyFile(publicKey.export({ type: 'spki', format: 'der' }))).toBe(pem)
  })

  test('in UTF-16, as PowerShell writes it, is read', () => {
    const bytes = Buffer.from('\uFEFF-----BEGIN PUBLIC KEY-----', 'utf16le')
    expect(readKeyFile(bytes)).toBe('-----BEGIN PUBLIC KEY-----')
  })

  test.each([
    ['PKCS #12', Buffer.from('3008020103300330010030', 'hex')],
    ['a Java key store', Buffer.from('feedfeed0000000200000001', 'hex')],
    ['UTF-16 without a mark', Buffer.from('-----BEGIN', 'utf16le')],
  ])('of %s is rejected', (_name, bytes) => {
    expect(() => readKeyFile(bytes)).toThrow('Nothing was sent')
  })
})
