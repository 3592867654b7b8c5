import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createBlocklist } from '../../../packages/intake/src/blocklists/blocklist.ts'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { publishedKeysIn, readPublishedKeys } from '../../../scripts/generate-blocklist.ts'
import { fixture } from '../../support/keys/intake.ts'

const published = readPublishedKeys()
const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  ec: generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey,
  ed: generateKeyPairSync('ed25519').privateKey,
  mlDsa: generateKeyPairSync('ml-dsa-44').privateKey,
}
const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
const pkcs8 = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const pkcs1 = pairs.rsa.export({ type: 'pkcs1', format: 'pem' }).toString()

/** SHA-256 of the shortest bytes of n or x, or of the raw bytes. */
function materialOf(key: KeyObject): string {
  const { kty, n, x, pub } = Object(jwk(createPublicKey(key)))
  const bytes = Buffer.from(String(n ?? x ?? pub), 'base64url')
  const first = kty === 'RSA' || kty === 'EC' ? bytes.findIndex((byte) => byte !== 0) : 0
  return createHash('sha256').update(bytes.subarray(first)).digest('hex')
}

describe('the key pairs of a document are found', () => {
  const footer =
    '\n\n\nDoe                  Standards Track           [Page 7]\n\fRFC 1  Title  May 2015\n\n'
  const broken = pkcs1.split('\n').toSpliced(9, 0, footer).join('\n   ')
  const folded = JSON.stringify(jwk(pairs.ec), undefined, 2).replace(
    /"d": "(.{20})/,
    '"d": "$1\n      ',
  )
  const quoted = pkcs8(pairs.ed)
    .trim()
    .split('\n')
    .map((line) => `  "${line}\\n" +`)
    .join('\n')
  const php = Object.entries(jwk(pairs.rsa)).map(([name, value]) => `'${name}' => '${value}',`)
  const yaml = `issuer_key:\n  kty: EC\n  crv: P-521\n  d: ${jwk(pairs.ec).d}\nother:\n  a: 1\n`
  test.each<[string, string | Buffer, KeyObject]>([
    ['PKCS#1, indented and over a page break', `   ${broken}`, pairs.rsa],
    ['PKCS#8 in a string with operators', quoted, pairs.ed],
    ['PKCS#8 with escaped line breaks', JSON.stringify({ key: pkcs8(pairs.ec) }), pairs.ec],
    [
      'PKCS#8 without its BEGIN line',
      `key = "${pkcs8(pairs.rsa).replace(/-----.*-----|\n/g, '')}"`,
      pairs.rsa,
    ],
    ['PKCS#8 in DER', pairs.ec.export({ type: 'pkcs8', format: 'der' }), pairs.ec],
    ['a JWK over several lines', `The key is:\n${folded}\n`, pairs.ec],
    ['a JWK in PHP', `[\n${php.join('\n')}\n]`, pairs.rsa],
    ['a JWK in YAML', yaml, pairs.ec],
    ['an AKP JWK', JSON.stringify({ keys: [jwk(pairs.mlDsa)] }), pairs.mlDsa],
  ])('%s', (_name, content, key) => {
    expect(publishedKeysIn(Buffer.from(content))).toEqual([materialOf(key)])
  })

  test('public keys, and numbers that are no key pair, are not', () => {
    const { n, e } = jwk(pairs.rsa)
    const wrong = { kty: 'RSA', n, e, d: jwk(pairs.ec).d }
    for (const value of [jwk(createPublicKey(pairs.rsa)), wrong]) {
      expect(publishedKeysIn(Buffer.from(JSON.stringify(value)))).toEqual([])
    }
    expect(publishedKeysIn(Buffer.from(fixture('keys/good/rsa2048.pem')))).toEqual([])
  })
})

describe('the list', () => {
  /** The fewest key pairs that these documents print. */
  test.each([
    ['RFC 6979', 3],
    ['RFC 7515', 3],
    ['RFC 7516', 2],
    ['RFC 7517', 3],
    ['RFC 7518', 2],
    ['RFC 7520', 10],
    ['RFC 8032', 6],
    ['RFC 8037', 1],
    ['RFC 8410', 1],
    ['RFC 8696', 3],
    ['RFC 8946', 1],
    ['RFC 9180', 40],
    ['RFC 9216', 5],
    ['RFC 9421', 4],
    ['RFC 9500', 6],
    ['RFC 9529', 9],
    ['RFC 9635', 1],
    ['RFC 9881', 3],
    ['RFC 9964', 3],
    ['jwt.io', 18],
    ['hashicorp/vagrant', 2],
    ['IdentityServer/IdentityServer4', 4],
    ['auth0/node-jsonwebtoken', 7],
  ])('%s has at least %i', (document, count) => {
    const named = Object.entries(published).filter(([name]) =>
      new RegExp(`${document}\\b`).test(name),
    )
    expect(named.flatMap(([, hashes]) => hashes).length).toBeGreaterThanOrEqual(count)
  })

  test('has each key once, and only hashes', () => {
    const hashes = Object.values(published).flat()
    expect(new Set(hashes).size).toBe(hashes.length)
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/)
  })

  test('names the document, as the quick-start keys of oidc-provider', async () => {
    const path = '../../../node_modules/oidc-provider/lib/consts/dev_keystore.js'
    const keystore: { default: { keys: object[] } } = await import(path)
    const { keys } = keystore.default
    const pem = createPublicKey({ key: Object(keys[0]), format: 'jwk' })
    const text = pem.export({ format: 'pem', type: 'spki' }).toString()
    expect(JSON.stringify(examineKey(text, undefined, createBlocklist()))).toContain(
      'is published: oidc-provider, its quick-start keys and examples. Anyone can sign with it.',
    )
    const [ours = ''] = publishedKeysIn(Buffer.from(pkcs1))
    const own = { has: (hash: string) => hash === ours }
    const exposed = createPublicKey(pairs.rsa).export({ format: 'pem', type: 'spki' }).toString()
    expect(JSON.stringify(examineKey(exposed, undefined, own))).toContain(
      'published or exposed. Any',
    )
  })

  test('no key of a fixture that must be accepted is on it', () => {
    const blocklist = createBlocklist()
    for (const name of ['ec-p256', 'ec-p384', 'ec-p521', 'ed25519', 'ml-dsa-65', 'rsa2048']) {
      expect(examineKey(fixture(`keys/good/${name}.pem`), undefined, blocklist).ok).toBe(true)
    }
  })
})
