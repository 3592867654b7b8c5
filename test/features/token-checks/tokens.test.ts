import { constants, createPublicKey, hash, type KeyObject, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JwsAlgorithm } from '../../../packages/intake/src/algorithms.ts'
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkNotBefore,
} from '../../../packages/server/src/tokens/claims.ts'
import { type DecodedToken, decodeToken } from '../../../packages/server/src/tokens/decode.ts'
import type { Finding } from '../../../packages/server/src/tokens/findings.ts'
import { checkSignature } from '../../../packages/server/src/tokens/signatures.ts'
import { ecKey, edKey, rsaKey } from '../../support/keys/pem.ts'
import { base64url, keyFor } from '../../support/keys/tokens.ts'

const encode = (text: string | Buffer) => Buffer.from(text).toString('base64url')
const header = base64url({ alg: 'RS256', kid: 'x' })
const claims = base64url({})
const token = `${header}.${claims}.AAAA`

function decoded(text: string): DecodedToken {
  const found = decodeToken(text)
  if ('fault' in found) throw new Error(found.fault)
  return found
}

describe('a text that is no token is told what it is:', () => {
  test.each([
    ['white space', ' \n', /empty/],
    ['a word', 'garbage', /three parts separated by dots; this has 1/],
    ['30,000 dots', '.'.repeat(30_000), /this has 30001/],
    ['an encrypted token', 'a.b.c.d.e', /encrypted/],
    ['one with its header', `${base64url({ alg: 'dir', enc: 'A256GCM' })}..b.c.d`, /encrypted/],
    ['two copies', token.repeat(2), /has 5\. Was it pasted twice/],
    ['a private key', '-----BEGIN EC PRIVATE KEY-----\nAAAA', /private key\. .* as compromised/],
    ['PEM', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', /a key or a cert/],
    ['a URL', `https://app/#access_token=${token}`, /Send only the token/],
    ['a cookie', `session=${token}; Path=/`, /Send only the token/],
    ['URL encoding', `${header}%2E${claims}%2EAAAA`, /URL-encoded/],
    ['base64 of a token', btoa(token), /in base64 once more/],
    ['an SD-JWT', `${token}~WyJhIl0~`, /before the first ~/],
    ['an SD-JWT with a key binding', `${token}~${header}.e30.AAAA`, /SD-JWT/],
    ['a nested token', `${header}.${encode(`${header}.e30.AA`)}.AAAA`, /payload is a token itself/],
    ['the word Bearer', `Bearer ${token}`, /Remove the word Bearer/],
    ['a header line', `Authorization: Bearer ${token}`, /Authorization: Bearer/],
    ['quotes', `"${token}"`, /quotes/],
    ['one quote', `${token}'`, /quotes/],
    ['a token response', JSON.stringify({ id_token: 'x.y.z', expires_in: 1 }), /“id_token”/],
    ['JSON without a token', '{"a":1}', /This is JSON/],
    ['JSON serialization', JSON.stringify({ payload: claims, protected: header }), /three parts/],
    ['line breaks inside', `${header}.\n${claims}.AAAA`, /white space/],
    ['an invisible character', `${header}\u200b.${claims}.AAAA`, /invisible character \(U\+200B\)/],
    ['another one', `${header}\u{e0061}.${claims}.AAAA`, /invisible character \(U\+E0061\)/],
    ['a Cyrillic letter', `${header}е.${claims}.AAAA`, /no token has \(U\+0435\)/],
    ['a control character', `${header}\0.${claims}.AAAA`, /no token has \(U\+0000\)/],
    ['a signature that is cut off', `${header}.${claims}.`, /truncated/],
    ['a signature of five characters', `${header}.${claims}.AAAAA`, /truncated/],
    ['base64 instead of base64url', `${header}.${claims}.A+/A`, /signature is in standard base64/],
    ['a padded header', `eyJhIjoiYiJ9Cg==.${claims}.AAAA`, /header is in standard base64/],
    ['another alphabet', `${header}.${claims}.AA~A`, /not base64url/],
    ['a header that is no JSON', `AAAA.${claims}.AAAA`, /header/],
    ['a header that is null', `${base64url(null)}.${claims}.AAAA`, /header/],
    [
      'a header that is not UTF-8',
      `${encode(Buffer.from('{"a":"\xff"}', 'latin1'))}.${claims}.AAAA`,
      /header/,
    ],
    ['claims that are text', `${header}.${base64url('x')}.AAAA`, /payload/],
    ['no claims', `${header}..AAAA`, /payload is missing.*detached/],
    ['dots alone', '..', /header/],
    ['crit', `${base64url({ alg: 'RS256', crit: ['exp'], exp: 1 })}.${claims}.AAAA`, /crit/],
    ['b64', `${base64url({ alg: 'RS256', b64: false })}.${claims}.AAAA`, /crit, b64/],
  ])('%s', (_name, text, detail) => {
    expect(decodeToken(text)).toEqual({ fault: expect.stringMatching(detail) })
  })

  test('white space around a token does no harm, and what some verifiers reject is a warning', () => {
    expect(decoded(`\n ${token}\r\n`).warnings).toEqual([])
    const bom = `${header}.${encode('\ufeff{"iss":"x"}')}.AAAA`
    expect(decoded(bom).warnings).toEqual([
      expect.stringContaining('The payload begins with a byte order mark'),
    ])
    const twice = `${encode('{"kid":"x","kid":"y"}')}.${encode('{"iss":"x","iss":"y"}')}.AAAA`
    expect(decoded(twice).warnings).toEqual([
      'The header has the member “kid” twice.',
      'The payload has the member “iss” twice.',
    ])
    expect(decoded(`${header}.${claims}.AB`).warnings).toEqual([
      expect.stringContaining('The signature is not canonical base64url'),
    ])
  })
})

const now = Date.parse('2040-05-01T12:00:00.000Z')
const seconds = now / 1_000

/** Finds what the outcome is, and matches the detail. */
function expectFinding({ outcome, detail }: Finding, expected: string, text = /./) {
  expect([outcome, detail]).toEqual([expected, expect.stringMatching(text)])
}

describe('times', () => {
  test.each<[unknown, string, RegExp?]>([
    [undefined, 'warned', /no exp/],
    [seconds + 0.001, 'passed'],
    [seconds, 'failed'],
    [seconds - 7_200, 'failed', /^It expired at 2040-05-01T10:00:00\.000Z, 2 hours ago\.$/],
    [now + 60_000, 'warned', /milliseconds/],
    [3_600, 'failed', /1970-01-01T01:00:00\.000Z \(it must be a time; is it a duration\?\)/],
    [1e300, 'warned'],
    [-1e300, 'failed'],
    [0, 'failed'],
    ...['2000000000', null, true, [], {}].map((value): [unknown, string, RegExp] => [
      value,
      'failed',
      /not a number of seconds/,
    ]),
  ])('exp %j is %s', (exp, outcome, detail) => {
    expectFinding(checkExpiry({ exp }, now), outcome, detail)
  })

  test.each<[object, string, RegExp?]>([
    [{}, 'skipped'],
    [{ nbf: seconds }, 'passed'],
    [{ nbf: seconds + 0.001 }, 'failed', /signer's clock/],
    [{ nbf: now }, 'failed', /milliseconds/],
    [{ nbf: '2000000000' }, 'failed', /not a number of seconds/],
    [{ iat: seconds }, 'skipped'],
    [{ nbf: seconds, iat: seconds + 3_600 }, 'warned', /1 hour in the future/],
    [{ iat: seconds + 3_600 }, 'warned'],
    [{ iat: '2040' }, 'warned', /iat is not a number/],
  ])('nbf and iat of %j are %s', (times, outcome, detail) => {
    expectFinding(checkNotBefore({ ...times }, now), outcome, detail)
  })
})

describe('iss and aud', () => {
  const own = 'https://keys.example.com/v1/projects/p'

  test.each<[unknown, RegExp]>([
    [undefined, /no iss/],
    ['https://issuer/', /final slash/],
    ['https://ISSUER', /upper and lower case/],
    ['https://issuers', /must be the same/],
    ['', /must be the same/],
    [7, /not a string/],
    [['https://issuer'], /not a string/],
    [{ toString: 1, valueOf: 1 }, /not a string/],
  ])('iss %j is not the issuer', (iss, detail) => {
    expectFinding(checkIssuer({ iss }, { own, requested: 'https://issuer' }), 'failed', detail)
    const finding = checkIssuer({ iss }, { own, requested: undefined })
    expectFinding(finding, 'failed', /keys\.example\.com\/v1\/projects\/p/)
  })

  test('the issuer that the request names is compared, and otherwise that of the project', () => {
    const requested = 'https://issuer'
    expect(checkIssuer({ iss: requested }, { own, requested }).outcome).toBe('passed')
    expect(checkIssuer({ iss: own }, { own, requested }).outcome).toBe('failed')
    expect(checkIssuer({ iss: own }, { own, requested: undefined }).outcome).toBe('passed')
  })

  test.each<[unknown, string, RegExp]>([
    [['https://Orders', 'a'], 'https://orders', /upper and lower case/],
    ['https://orders/', 'https://orders', /final slash/],
    [' orders', 'orders', /white space/],
    ['billing', 'orders', /^aud is “billing”, not the expected audience, “orders”\.$/],
    [
      ['a', 'b', 7, 'c', 'd'],
      'orders',
      /^aud is “a”, “b”, “c”, not the expected audience, “orders”\.$/,
    ],
    ['billing orders', 'orders', /several audiences must be an array/],
    ['billing,orders', 'orders', /several audiences must be an array/],
    [undefined, 'orders', /no aud/],
    ['', 'orders', /aud is “”/],
    [[], 'orders', /names no audience/],
    [[['orders']], 'orders', /names no audience/],
    [{ orders: 1 }, 'orders', /must be a text or an array of texts/],
  ])('aud %j is not %s: how they differ', (aud, audience, difference) => {
    expectFinding(checkAudience({ aud }, audience), 'failed', difference)
  })

  test('aud is compared only if there is an audience, with each of several', () => {
    expect(checkAudience({ aud: ['billing', 'orders'] }, 'orders').outcome).toBe('passed')
    expect(checkAudience({ aud: 'orders' }, undefined).outcome).toBe('skipped')
  })

  test('audience and issuer are not the names of claims', () => {
    const wrong = { audience: 'orders', issuer: 'https://issuer' }
    const issuer = checkIssuer(wrong, { own, requested: 'https://issuer' })
    expectFinding(issuer, 'failed', /the claim is called iss/)
    expectFinding(checkAudience(wrong, 'orders'), 'failed', /the claim is called aud/)
    expectFinding(checkAudience(wrong, undefined), 'warned', /the claim is called aud/)
  })
})

const pairs = { rsa: rsaKey(), ec: ecKey(), ed: edKey(), mlDsa: keyFor('ML-DSA-44') }
type Name = keyof typeof pairs
const { RSA_PKCS1_PSS_PADDING: pss } = constants
const p1363 = { dsaEncoding: 'ieee-p1363' } as const

/** What the check finds of a signature of an empty token by the key. */
function findSignature(name: Name, alg: JwsAlgorithm, signatureOf: (input: Buffer) => string) {
  const input = `${base64url({ alg })}.${base64url({ sub: 'a' })}`
  type Jwk = Parameters<typeof checkSignature>[1]['jwk']
  const jwk = createPublicKey(pairs[name].privateKey).export({ format: 'jwk' }) as Jwk
  const signed = decoded(`${input}.${signatureOf(Buffer.from(input))}`)
  return checkSignature(signed, { jwk, jwsAlgorithm: alg, bits: 2_048 })
}

const raw =
  (
    digest: string | null,
    name: Name,
    options: object = {},
    key: KeyObject = pairs[name].privateKey,
  ) =>
  (input: Buffer | string) =>
    sign(digest, Buffer.from(input), { key, ...options })
const digested = (name: string, then: (input: Buffer) => Buffer) => (input: Buffer) =>
  then(hash(name, input, 'buffer'))

const rs256 = raw('sha256', 'rsa')
const ps256 = raw('sha256', 'rsa', { padding: pss })
const es256 = raw('sha256', 'ec', p1363)
const hexOf = (input: Buffer) => hash('sha256', input, 'hex')
const twice = /valid for the SHA-256 digest of the token/

test.each<[string, Name, JwsAlgorithm, (input: Buffer) => Buffer, RegExp]>([
  ['PSS', 'rsa', 'RS256', ps256, /valid as PS256, which is not RS256/],
  ['PKCS #1', 'rsa', 'PS256', rs256, /valid as RS256, which is not PS256/],
  ['SHA-512', 'rsa', 'RS256', raw('sha512', 'rsa'), /valid as RS512/],
  ['SHA-384', 'ec', 'ES256', raw('sha384', 'ec', p1363), /ECDSA with SHA-384, which is not ES256/],
  ['a digest of RS256', 'rsa', 'RS256', digested('sha256', rs256), twice],
  ['a digest of EdDSA', 'ed', 'EdDSA', digested('sha512', raw(null, 'ed')), /SHA-512 digest/],
  ['a digest in hexadecimal', 'ec', 'ES256', (input) => es256(hexOf(input)), twice],
  [
    'a line break behind',
    'rsa',
    'RS256',
    (input) => rs256(`${input}\n`),
    /line break behind it, as echo/,
  ],
  [
    'no salt',
    'rsa',
    'PS256',
    raw('sha256', 'rsa', { padding: pss, saltLength: 0 }),
    /have 32 bytes/,
  ],
  [
    'another key',
    'rsa',
    'RS256',
    raw('sha256', 'rsa', {}, rsaKey().privateKey),
    /Another private key/,
  ],
  ['DER', 'ec', 'ES256', raw('sha256', 'ec'), /R and S with 32 bytes each, 64.*ieee-p1363/],
])('a signature by %s is named', async (_name, key, alg, signature, detail) => {
  const finding = await findSignature(key, alg, (input) => encode(signature(input)))
  expectFinding(finding, 'failed', detail)
})

test.each<[Name, JwsAlgorithm, (input: Buffer | string) => Buffer, RegExp]>([
  ['rsa', 'RS256', rs256, /with this key needs 256 bytes/],
  ['ec', 'ES256', es256, /R and S with 32 bytes each, 64 in total/],
  ['ed', 'EdDSA', raw(null, 'ed'), /with this key needs 64 bytes/],
  ['mlDsa', 'ML-DSA-44', raw(null, 'mlDsa'), /with this key needs 2420 bytes/],
])('the encoding of a signature by %s for %s is named', async (name, alg, signature, needed) => {
  const forms: [(bytes: Buffer) => string, RegExp][] = [
    [(bytes) => bytes.toString('hex'), /is in hexadecimal;/],
    [(bytes) => bytes.toString('hex').toUpperCase(), /is in hexadecimal;/],
    [(bytes) => encode(bytes.toString('hex')), /hexadecimal and then in base64url/],
    // A zero in ASCII is the first byte of a signature in DER.
    [(bytes) => encode(`0${bytes.toString('hex').slice(1)}`), /hexadecimal and then in base64url/],
    [(bytes) => encode(bytes.toString('base64')), /is in base64 twice/],
    [(bytes) => encode(bytes.toString('base64url')), /is in base64 twice/],
    [(bytes) => encode(bytes.subarray(1)), /Keep leading zero bytes/],
    [(bytes) => encode(bytes.subarray(0, 20)), /has 20 bytes/],
    [(bytes) => encode(bytes.subarray(0, 1)), /has 1 bytes/],
    [(bytes) => encode(Buffer.concat([bytes, bytes])), /another key/],
  ]
  expect((await findSignature(name, alg, (input) => encode(signature(input)))).outcome).toBe(
    'passed',
  )
  for (const [form, detail] of forms) {
    const finding = await findSignature(name, alg, (input) => form(signature(input)))
    expectFinding(finding, 'failed', detail)
    expectFinding(finding, 'failed', needed)
  }
})
