import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { base64 } from '../../support/keys/encodings.ts'
import { accepted, codeOf, fixture, pem, rejected } from '../../support/keys/intake.ts'
import {
  expectNoEcho,
  kindNames as names,
  pairOf,
  privateKeyForms,
  publicPemOf,
} from '../../support/keys/key-pairs.ts'

describe('a private JWK', () => {
  const withJwk = names.filter((name) => name !== 'RSA-PSS')
  test.each(withJwk)('%s', (name) => {
    const jwk = pairOf(name).privateKey.export({ format: 'jwk' })
    const key = accepted(publicPemOf(name)).key
    const expected = { thumbprint: key.thumbprint, materialSha256: key.materialSha256 }
    const plain = JSON.stringify(jwk)
    const texts = [
      plain,
      JSON.stringify(jwk, undefined, 2),
      JSON.stringify(plain),
      JSON.stringify({ keys: [pairOf(name).publicKey.export({ format: 'jwk' }), jwk] }),
      JSON.stringify([{ a: { b: jwk } }]),
      JSON.stringify({ publicKeyPem: plain }),
      base64(plain),
      Buffer.from(plain).toString('base64url'),
      encodeURIComponent(plain),
      `\uFEFF${plain}`,
      `const key = ${plain};`,
    ]
    for (const text of texts) {
      expect(rejected(text).exposed).toEqual(expected)
      expect(codeOf(text)).toBe('private_key_submitted')
      expectNoEcho(rejected(text), text)
    }
    for (const text of [
      plain.slice(0, -3),
      plain.replaceAll('"', "'"),
      plain.replace(/"(\w+)":/g, '$1:'),
      JSON.stringify(plain).slice(1, -1),
    ]) {
      expect(codeOf(text)).toBe('private_key_submitted')
    }
  })

  test('an RSA one without primes is proven by its exponent', () => {
    const { p, q, dp, dq, qi, ...rest } = pairOf('RSA-2048').privateKey.export({ format: 'jwk' })
    const key = accepted(publicPemOf('RSA-2048')).key
    expect(rejected(JSON.stringify(rest)).exposed?.thumbprint).toBe(key.thumbprint)
    const forged = { ...rest, d: rest.n?.slice(0, 300) }
    expect(rejected(JSON.stringify(forged))).not.toHaveProperty('exposed')
  })

  test('no public key is derived from a symmetric one', () => {
    expect(rejected(fixture('keys/wrongtype/jwk-oct.json'))).not.toHaveProperty('exposed')
  })
})

test('a caller cannot put the key of another owner on the block list', () => {
  const victim = pairOf('RSA-2048').publicKey.export({ format: 'jwk' })
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    format: 'jwk',
  })
  const mixed = { ...own, n: victim.n, e: victim.e }
  expect(rejected(JSON.stringify(mixed))).not.toHaveProperty('exposed')

  const victimPoint = pairOf('P-256').publicKey.export({ format: 'jwk' })
  const ownPoint = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const mixedPoint = { ...victimPoint, d: ownPoint.privateKey.export({ format: 'jwk' }).d }
  const ownPem = ownPoint.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  expect(rejected(JSON.stringify(mixedPoint)).exposed?.thumbprint).toBe(
    accepted(ownPem).key.thumbprint,
  )
})

describe('private keys of other tools', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  beforeAll(() => {
    for (const type of ['rsa', 'ed25519', 'ecdsa']) {
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', join(folder, type)])
      execFileSync('ssh-keygen', [
        '-q',
        '-t',
        type,
        '-N',
        'secret',
        '-f',
        join(folder, `${type}-x`),
      ])
    }
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(['rsa', 'ed25519', 'ecdsa'])('OpenSSH %s', (type) => {
    const text = readFileSync(join(folder, type), 'utf8')
    for (const form of [
      text,
      base64(text),
      text.replace(/-----.*-----\n/g, ''),
      text.slice(0, 90),
    ]) {
      expect(codeOf(form)).toBe('private_key_submitted')
      expectNoEcho(rejected(form), form)
    }
    expect(rejected(text).exposed?.thumbprint).toMatch(/^[\w-]{43}$/)
    if (type !== 'ed25519') {
      const exported = ['-e', '-m', 'PKCS8', '-f', `${join(folder, type)}.pub`]
      const key = accepted(execFileSync('ssh-keygen', exported).toString()).key
      expect(rejected(text).exposed?.thumbprint).toBe(key.thumbprint)
    }
    const encrypted = readFileSync(join(folder, `${type}-x`), 'utf8')
    expect(codeOf(encrypted)).toBe('private_key_submitted')
    expect(rejected(encrypted)).not.toHaveProperty('exposed')
  })

  test.each([
    'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 2\nAAAA\n',
    '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "x"\nP2/56wAAA\n',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQPGBGX\n-----END PGP PRIVATE KEY BLOCK-----\n',
    'AGE-SECRET-KEY-1QQPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQ',
    '{"key":[{"keyData":{"value":"CAAa","keyMaterialType":"ASYMMETRIC_PRIVATE"}}]}',
    'Private-key-format: v1.3\nAlgorithm: 8 (RSASHA256)\nModulus: AAAA\n',
    'Private-Key: (2048 bit, 2 primes)\nmodulus:\n    00:aa:bb\n',
    `{"KeyId":"a","Parameters":{"D":"${'A+/'.repeat(12)}","Exponent":"AQAB","Modulus":"AAAA"}}`,
    `{"InverseQ": "${'A+/'.repeat(12)}"}`,
    '<RSAKeyValue><Modulus>AAAA</Modulus><Exponent>AQAB</Exponent><D>AAAAAAAAAAAAAAAAAAAAAAAA</D></RSAKeyValue>',
    '-----BEGIN RSA PRIVATE KEY',
    'BEGIN PRIVATE KEY',
    '-----BEGIN ANY PRIVATE KEY-----',
    '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n-----BEGIN EC PRIVATE KEY-----\n',
  ])('%s', (text) => {
    expect(codeOf(text)).toBe('private_key_submitted')
  })

  describe('PKCS#12', () => {
    const key = join(folder, 'p12.key')
    const openssl = (args: string) => execFileSync('openssl', args.split(' '), { stdio: 'pipe' })
    const store = (args: string) =>
      openssl(`pkcs12 -export -in ${key}.crt -passout pass:x ${args}`.trim())
    beforeAll(() => {
      openssl(`req -x509 -newkey rsa:2048 -nodes -keyout ${key} -out ${key}.crt -subj /CN=x`)
    })

    test.each(['', '-keypbe NONE', '-certpbe NONE', '-keypbe NONE -certpbe NONE', '-descert'])(
      'with a key: %s',
      (args) => {
        const bytes = store(`-inkey ${key} ${args}`)
        const texts = [base64(bytes), pem(bytes, 'PKCS12'), base64(bytes.subarray(0, -600))]
        for (const text of texts) expect(codeOf(text)).toBe('private_key_submitted')
      },
    )

    test.each(['', '-certpbe NONE', '-descert'])('with certificates alone: %s', (args) => {
      const bytes = store(`-nokeys ${args}`)
      expect(codeOf(base64(bytes))).toBe('pem_not_found')
      expect(codeOf(pem(bytes, 'PKCS12'))).toBe('pem_label_unsupported')
      expect(codeOf(base64(bytes.subarray(0, -600)))).toBe('private_key_submitted')
    })

    test('whose content cannot be read', () => {
      const sealed = Buffer.from(
        `3081800201033079${'06092a864886f70d010703'}a06c${'ff'.repeat(108)}`,
        'hex',
      )
      expect(codeOf(base64(sealed))).toBe('private_key_submitted')
    })
  })

  test('a private key in a text over the length limit is detected', () => {
    const text = `${'#'.repeat(20_000)}\n${pem(privateKeyForms('P-256')[0]?.der ?? Buffer.of(0), 'PRIVATE KEY')}`
    expect(codeOf(text)).toBe('private_key_submitted')
  })
})
