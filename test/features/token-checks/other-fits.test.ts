import { constants, createPublicKey, hash, type KeyObject, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeToken } from '../../../packages/server/src/tokens/decode.ts'
import { checkSignature } from '../../../packages/server/src/tokens/signatures.ts'
import { ecKey, edKey, rsaKey } from '../../support/keys/pem.ts'
import { base64url } from '../../support/keys/tokens.ts'

const rsa = rsaKey()
const ec = ecKey()
const ed = edKey()
const { RSA_PKCS1_PADDING: pkcs1, RSA_PKCS1_PSS_PADDING: pss } = constants

const raw = (name: string | null, key: object) => (input: Buffer) =>
  sign(name, input, key as Parameters<typeof sign>[2])
const digested = (name: string, then: (input: Buffer) => Buffer) => (input: Buffer) =>
  then(hash(name, input, 'buffer'))

type Pair = { privateKey: KeyObject }
type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA'

test.each<[string, Pair, Algorithm, (input: Buffer) => Buffer, RegExp]>([
  [
    'RS256, signed with PSS',
    rsa,
    'RS256',
    raw('sha256', { key: rsa.privateKey, padding: pss }),
    /valid as PS256, which is not RS256/,
  ],
  [
    'PS256, signed with PKCS #1',
    rsa,
    'PS256',
    raw('sha256', { key: rsa.privateKey, padding: pkcs1 }),
    /valid as RS256, which is not PS256/,
  ],
  [
    'RS256, signed with SHA-512',
    rsa,
    'RS256',
    raw('sha512', { key: rsa.privateKey, padding: pkcs1 }),
    /valid as RS512/,
  ],
  [
    'ES256, signed with SHA-384',
    ec,
    'ES256',
    raw('sha384', { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
    /valid as ECDSA with SHA-384, which is not ES256/,
  ],
  [
    'RS256, hashed twice',
    rsa,
    'RS256',
    digested('sha256', raw('sha256', { key: rsa.privateKey, padding: pkcs1 })),
    /valid for the SHA-256 digest of the token/,
  ],
  [
    'ES256, hashed twice',
    ec,
    'ES256',
    digested('sha256', raw('sha256', { key: ec.privateKey, dsaEncoding: 'ieee-p1363' })),
    /valid for the SHA-256 digest of the token/,
  ],
  [
    'EdDSA of a digest',
    ed,
    'EdDSA',
    digested('sha512', raw(null, { key: ed.privateKey })),
    /valid for the SHA-512 digest of the token/,
  ],
  [
    'RS256 of a digest in hexadecimal',
    rsa,
    'RS256',
    (input) => raw('sha256', { key: rsa.privateKey })(Buffer.from(hash('sha256', input, 'hex'))),
    /valid for the SHA-256 digest of the token/,
  ],
  [
    'RS256 of a token with a line break',
    rsa,
    'RS256',
    (input) => raw('sha256', { key: rsa.privateKey })(Buffer.from(`${input}\n`)),
    /valid for the token with a line break behind it, as echo writes it/,
  ],
  [
    'PS256 without a salt',
    rsa,
    'PS256',
    raw('sha256', { key: rsa.privateKey, padding: pss, saltLength: 0 }),
    /valid but for its salt, which must have 32 bytes/,
  ],
  [
    'RS256 by another key',
    rsa,
    'RS256',
    raw('sha256', { key: rsaKey(2_048).privateKey, padding: pss }),
    /Another private key signed the token/,
  ],
])('a signature for %s is named', async (_name, { privateKey }, alg, signature, detail) => {
  const input = `${base64url({ alg })}.${base64url({ sub: 'a' })}`
  const token = decodeToken(`${input}.${signature(Buffer.from(input)).toString('base64url')}`)
  if ('fault' in token) throw new Error(token.fault)
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as Parameters<
    typeof checkSignature
  >[1]['jwk']
  const finding = await checkSignature(token, { jwk, jwsAlgorithm: alg, bits: 2_048 })
  expect(finding).toEqual({ outcome: 'failed', detail: expect.stringMatching(detail) })
})

test.each([
  ['\u200b', 'U+200B'],
  ['\u00ad', 'U+00AD'],
  ['\u2066', 'U+2066'],
  ['\u{e0061}', 'U+E0061'],
])('an invisible character in a token is named: %j', (character, name) => {
  const parts = `${base64url({ alg: 'RS256' })}.${base64url({})}.AAAA`
  const { fault = '' } = { fault: '', ...decodeToken(parts.replace('.', `${character}.`)) }
  expect(fault).toContain(`an invisible character (${name})`)
})

test.each([
  ['е', 'U+0435'],
  ['…', 'U+2026'],
  ['\0', 'U+0000'],
])('a character that no token has is named: %j', (character, name) => {
  const parts = `${base64url({ alg: 'RS256' })}.${base64url({})}.AAAA`
  const { fault = '' } = { fault: '', ...decodeToken(parts.replace('.', `${character}.`)) }
  expect(fault).toContain(`a character that no token has (${name})`)
})
