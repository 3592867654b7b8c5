import { createPrivateKey } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { readKeyFile } from '../../console/src/keys/file.ts'
import { isSecretText } from '../../console/src/keys/secret-text.ts'
import { freshPair } from '../support/keys/key-pairs.ts'

/** The forms and encodings in which intake finds private keys are tested in test/intake/secrets. */
const texts = (pattern: string) =>
  globSync(`test/fixtures/${pattern}`).map((path): [string, string] => [
    basename(path),
    readFileSync(path, 'utf8'),
  ])
const privatePkcs8 = readFileSync('test/fixtures/material/private_pkcs8.pem', 'utf8')
const privateDer = createPrivateKey(privatePkcs8).export({ type: 'pkcs8', format: 'der' })

test.each([
  ...texts('{keys/private/*,material/private_*,material/*.key}'),
  ['a text longer than a request may be', `${'#'.repeat(70_000)}\n${privatePkcs8}`],
  ['a file of DER', readKeyFile(privateDer)],
  ['an API key', `pubring_${'a'.repeat(49)}`],
])('the console detects a secret in %s', (_name, text) => {
  expect(isSecretText(text)).toBe(true)
})

test.each(
  texts('material/{*.pem,*.pub,t_*,jwk_instead.json}').filter(([name]) => !/^private_/.test(name)),
)('the console does not take a public key for a secret: %s', (_name, text) => {
  expect(isSecretText(text)).toBe(false)
})

test('a file of public DER becomes the PEM of the same key', () => {
  const { publicKey } = freshPair('P-256')
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  expect(readKeyFile(publicKey.export({ type: 'spki', format: 'der' }))).toBe(pem)
})

test('a file in UTF-16, as PowerShell writes it, is read', () => {
  const bytes = Buffer.from('\uFEFF-----BEGIN PUBLIC KEY-----', 'utf16le')
  expect(readKeyFile(bytes)).toBe('-----BEGIN PUBLIC KEY-----')
})

test.each([
  ['PKCS #12', Buffer.from('3008020103300330010030', 'hex')],
  ['a Java key store', Buffer.from('feedfeed0000000200000001', 'hex')],
  ['UTF-16 without a mark', Buffer.from('-----BEGIN', 'utf16le')],
])('a file of %s is rejected', (_name, bytes) => {
  expect(() => readKeyFile(bytes)).toThrow('Nothing was sent')
})
