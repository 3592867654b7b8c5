import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { crossCheck } from '../../packages/intake/src/cross-check.ts'
import { examineDer } from '../../packages/intake/src/kinds/spki.ts'
import type { ParsedKey } from '../../packages/intake/src/parsed-key.ts'

const kinds = {
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: generateKeyPairSync('ed25519'),
  RSA: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
}

describe.each(Object.entries(kinds))('%s', (_, { publicKey }) => {
  const { key } = examineDer('PUBLIC KEY', publicKey.export({ type: 'spki', format: 'der' }))
  if (key === undefined) throw new Error('The key was not read.')
  const parsed: ParsedKey = key

  test('a key that Node reads as the intake does passes', () => {
    expect(() => crossCheck(parsed)).not.toThrow()
  })

  test('DER that is not canonical does not pass, although Node reads it', () => {
    const spki = Buffer.concat([parsed.spki, Buffer.from([0])])
    createPublicKey({ key: spki, format: 'der', type: 'spki' })
    expect(() => crossCheck({ ...parsed, spki })).toThrow(/its DER/)
  })

  test('a JWK that is not canonical does not pass, although Node reads it', () => {
    const { jwk: canonical } = parsed
    const padded = 'x' in canonical ? { x: `${canonical.x}=` } : { e: 'AQAB=' }
    const jwk: ParsedKey['jwk'] = Object.assign({}, canonical, padded)
    createPublicKey({ key: { ...jwk }, format: 'jwk' })
    expect(() => crossCheck({ ...parsed, jwk })).toThrow(/its JWK/)
  })
})

test('no package has Node read PEM, or DER that the intake has not read', () => {
  const own = /createPublicKey\((?:\{ key[:,]|(?:key|privateKey)\))/
  // They contain commands for a shell.
  const exclude = ['**/commands.ts', '**/public-half.ts']
  for (const file of globSync('packages/*/src/**/*.ts', { exclude })) {
    const code = readFileSync(file, 'utf8')
    expect(code, file).not.toMatch(/X509Certificate\(|import(?:SPKI|X509)\(/)
    for (const [call] of code.matchAll(/createPublicKey\(.{0,20}/g)) expect(call, file).toMatch(own)
  }
})
