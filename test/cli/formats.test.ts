import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { codeOf, pem } from '../support/keys/intake.ts'

/* Public keys that the console converts to PEM in the browser, and the texts that it leaves to the service. */

/** Imported without its types, which need those of a browser. */
const console: {
  convert(text: string): { from: string; pem: string; label?: string }[]
} = await import(String(new URL('../../console/src/keys/conversion.ts', import.meta.url)))
const { convert } = console

const file = (name: string) => readFileSync(`test/fixtures/${name}`, 'utf8')
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicKey.export({ format: 'jwk' })
const der = publicKey.export({ type: 'spki', format: 'der' })
const spki = pem(der)
const { e: _e, ...withoutExponent } = JSON.parse(file('formats/n19-jwks.json')).keys[0]

test.each([
  ['a JWK', JSON.stringify(jwk), 'JWK'],
  ['the usable one of a set', JSON.stringify({ keys: [{ kty: 'XY' }, jwk] }), 'JWK'],
  ['base64 of DER', der.toString('base64'), 'key in base64'],
  [
    'base64url of DER in lines',
    der.toString('base64url').replace(/.{20}/g, '$&\n'),
    'key in base64',
  ],
  ['base64 of PEM', Buffer.from(spki).toString('base64'), 'key in base64'],
  ['hexadecimal with colons', der.toString('hex').replace(/..(?=.)/g, '$&:'), 'key in hexadecimal'],
  ['a variable', `export KEY="${spki.replaceAll('\n', '\\n')}"`, 'variable'],
  ['a variable in lines', `KEY='${spki}'`, 'variable'],
  ['a variable with base64', `KEY=${der.toString('base64')}`, 'key in base64'],
])('the console converts %s', (_name, text, from) => {
  const [converted, ...others] = convert(text)
  expect(others).toEqual([])
  expect(converted).toMatchObject({ from })
  expect(createPublicKey(converted?.pem ?? '').equals(publicKey)).toBe(true)
})

test('the console converts a certificate with escaped line breaks', () => {
  const certificate = file('material/cert_valid.pem')
  const pem = createPublicKey(certificate).export({ type: 'spki', format: 'pem' })
  expect(convert(JSON.stringify(certificate))).toEqual([
    { from: 'certificate', pem, label: 'generated.test' },
  ])
})

test.each([
  ['n19-jwks.json', 'ok'],
  ['n24-e-AAAA.jwk.json', 'rsa_exponent_invalid'],
])('of the set in %s the first key is %s', (name, code) => {
  expect(codeOf(convert(file(`formats/${name}`))[0]?.pem ?? '')).toBe(code)
})

test('the console says that a certificate is cut off', () => {
  const cut = file('material/cert_valid.pem').replace(/\n.*\n(?=-----END)/, '\n')
  expect(() => convert(cut)).toThrow('The certificate is damaged. Copy all of it.')
})

test.each([
  spki.replaceAll('PUBLIC KEY', 'CERTIFICATE'),
  file('keys/wrongtype/csr.pem').replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'),
  JSON.stringify(withoutExponent),
  JSON.stringify({ keys: [{ ...jwk, crv: 'P256' }] }),
  JSON.stringify({ ...withoutExponent, n: 'ab'.repeat(256), e: 'AQAB' }),
  JSON.stringify({ keys: [] }),
  `${JSON.stringify(jwk)},`,
  spki.replaceAll('PUBLIC KEY', 'EC PUBLIC KEY'),
  file('formats/n13-x5c-as-public-key.pem'),
  JSON.stringify([jwk, jwk]),
  JSON.stringify({ 1: { public_key: spki }, 2: { public_key: 'not base64!', name: 'ed25519' } }),
  JSON.stringify({ public_key: spki }),
  file('formats/n20-x509-map.json'),
  file('formats/n28-sk-ssh-ed25519.pub'),
  `Modulus=${'AB'.repeat(128)}`,
  'ab'.repeat(128),
  'KEY=no key at all, but a long sentence about keys',
])('the console leaves %s to the service', (text) => expect(convert(text)).toEqual([]))
