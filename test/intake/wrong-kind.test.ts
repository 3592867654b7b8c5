import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { examineCheaply, identifyKey } from '../../packages/intake/src/examine.ts'
import { jwkFault } from '../../packages/intake/src/formats/jwk.ts'
import {
  codeOf,
  emptyBlocklist,
  fixture,
  none,
  pem,
  rejected,
  spki,
} from '../support/keys/intake.ts'

const blob = `AAAAB3NzaC1yc2EAAAADAQABAAABAQ${'C'.repeat(300)}`

describe('SSH keys', () => {
  test.each([
    `ssh-rsa ${blob} user@host`,
    `ssh-dss ${blob}`,
    `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKq${'B'.repeat(41)}`,
    `ssh-ed448 AAAACXNzaC1lZDQ0OAAAADm${'B'.repeat(70)}`,
    `ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBB me`,
    `ecdsa-sha2-nistp384 AAAA`,
    `ecdsa-sha2-nistp521 AAAA`,
    `sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t me`,
    `sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNh me`,
    `ssh-rsa-cert-v01@openssh.com AAAAHHNzaC1yc2EtY2VydC12MDFAb3BlbnNzaC5jb20 me`,
    `ecdsa-sha2-nistp256-cert-v01@openssh.com AAAAKGVjZHNhLXNoYTI me`,
    `sk-ssh-ed25519-cert-v01@openssh.com AAAAI3NrLXNzaC1lZDI1NTE5 me`,
    `no-pty,command="ls" ssh-rsa ${blob}`,
    `host.example ssh-rsa ${blob}`,
    `# keys\nssh-rsa ${blob}`,
    `"ssh-rsa ${blob}"`,
    `  ssh-rsa ${blob}\n`,
    blob,
    `AAAAC3NzaC1lZDI1NTE5AAAAIKq${'B'.repeat(41)}`,
    `---- BEGIN SSH2 PUBLIC KEY ----\nComment: "x"\n${blob}\n---- END SSH2 PUBLIC KEY ----\n`,
    `-----BEGIN SSH2 PUBLIC KEY-----\n${blob}\n-----END SSH2 PUBLIC KEY-----\n`,
  ])('%s', (text) => {
    expect(codeOf(text)).toBe('ssh_key_submitted')
  })

  test('the detail has a command that works for the type of key', () => {
    expect(rejected(fixture('material/ssh_rsa.pub')).faults[0].detail).toContain('-m PKCS8')
    expect(rejected(fixture('keys/wrongtype/ssh-ed25519.pub')).faults[0].detail).toContain(
      'tail -c',
    )
    expect(rejected(fixture('material/ssh2_rfc4716.pub')).faults[0].detail).toContain('perl')
  })
})

describe('JSON', () => {
  const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  test.each([
    JSON.stringify(jwk),
    JSON.stringify(jwk, undefined, 2),
    JSON.stringify({ keys: [jwk, jwk] }),
    JSON.stringify({ keys: [] }),
    JSON.stringify([jwk]),
    JSON.stringify(JSON.stringify(jwk)),
    `\uFEFF  ${JSON.stringify(jwk)}\n`,
    '{}',
    '[]',
    JSON.stringify({ publicKeyPem: fixture('keys/good/ec-p256.pem') }),
    JSON.stringify({ kty: 'oct' }),
  ])('%s', (text) => {
    expect(codeOf(text)).toBe('jwk_submitted')
  })

  const hostile = '{"toString": 1, "valueOf": 1}'
  const nested = (inner: string) => `${'['.repeat(7900)}${inner}${']'.repeat(7900)}`
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
  const members = ['kty', 'crv', 'alg', 'use', 'key_ops', 'exp', 'nbf', 'x', 'y', 'n', 'e', 'x5c']
  const documents = ['a', 'key', 'keys', 'data', 'error', 'errors', 'pem', 'apiVersion', 'jwks_uri']
  test.each([
    ['an object without a text', hostile],
    ['nested lists', nested('')],
    ['nested lists around an object', nested('{"0": 1}')],
    ['null', 'null'],
    ['an empty list', '[]'],
    ['a number', '7'],
  ])('every member may be %s', (_name, value) => {
    const texts = documents.map((name) => `{"${name}": ${value}}`)
    texts.push(value, `[${value}]`, `{"keys": [${value}]}`, `{"key": {"kid": ${value}}}`)
    texts.push(`{"data": {"keys": {"1": {"public_key": ${value}}}}}`)
    for (const name of members) {
      for (const key of [{}, ec, rsa.export({ format: 'jwk' })]) {
        const rest = JSON.stringify({ ...key, [name]: undefined }).slice(1)
        const text = `{"${name}": ${value}${rest === '}' ? '' : ','}${rest}`
        texts.push(text, `{"a": ${text}}`)
      }
    }
    for (const text of texts) {
      expect(codeOf(text)).toMatch(/^(?:jwk_submitted|pem_not_found)$/)
      expect(examineCheaply(text, undefined, emptyBlocklist)?.ok).not.toBe(true)
      expect(identifyKey(text)).toBeUndefined()
    }
  })

  test.each([
    { success: true, errors: [], result: jwk },
    { success: true, error: null, errors: {}, result: jwk },
    { errors: ['Use another version.'], result: jwk },
  ])('a response that has a key is no error message: %j', (response) => {
    const [{ detail }] = rejected(JSON.stringify(response)).faults
    expect(detail).toContain('This is a JSON document that contains a JWK.')
  })
  test.each([{ errors: [], result: {} }, { error: '' }, { error: {} }])(
    'a response without an error is no error message: %j',
    (response) => {
      expect(rejected(JSON.stringify(response)).faults[0].detail).toContain('a JSON document.')
    },
  )
  test.each([{ error: 'a' }, { error: 404 }, { error: { code: 1 } }, { error: '', errors: ['a'] }])(
    'an error message is named: %j',
    (response) => {
      expect(rejected(JSON.stringify(response)).faults[0].detail).toContain('an error message.')
    },
  )

  test('members that say never, or nothing, are no fault of a JWK', () => {
    const never = 253_402_300_799
    for (const more of [{ exp: never }, { nbf: never }, { exp: never + 0.5 }, { key_ops: null }]) {
      expect(jwkFault({ ...jwk, ...more })).toBeUndefined()
    }
    expect(jwkFault({ ...jwk, exp: never + 1 })?.detail).toContain('1970, not milliseconds')
    expect(jwkFault({ ...jwk, exp: 0 })?.detail).toContain('must be times after 1979')
  })

  test('damaged JSON is reported as missing PEM', () => {
    expect(codeOf(JSON.stringify(jwk).slice(0, -1))).toBe('pem_not_found')
  })
})

describe('certificates, requests and PGP', () => {
  const certificate = fixture('keys/wrongtype/certificate.pem')
  const request = fixture('keys/wrongtype/csr.pem')
  test.each([
    ['certificate_submitted', certificate],
    ['certificate_submitted', certificate + certificate],
    ['certificate_submitted', certificate.replaceAll('CERTIFICATE', 'X509 CERTIFICATE')],
    ['certificate_submitted', certificate.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE')],
    ['certificate_submitted', `subject=CN = x\nissuer=CN = x\n${certificate}`],
    ['certificate_submitted', certificate.replaceAll('\n', '\\n')],
    ['certificate_submitted', certificate.replaceAll('\n', '\r')],
    ['certificate_submitted', certificate.slice(0, 200)],
    ['csr_submitted', request],
    ['csr_submitted', request.replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST')],
    ['pgp_key_submitted', '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENB\n'],
    ['pgp_key_submitted', '-----BEGIN PGP MESSAGE-----\n'],
    ['pgp_key_submitted', fixture('keys/wrongtype/pgp-public.asc').replaceAll('\n', '\r\n')],
    ['pem_multiple_blocks', certificate + fixture('keys/good/ec-p256.pem')],
    ['pem_multiple_blocks', certificate + request],
    ['pem_label_content_mismatch', certificate.replaceAll('CERTIFICATE', 'PUBLIC KEY')],
    ['pem_label_content_mismatch', certificate.replaceAll('CERTIFICATE', 'RSA PUBLIC KEY')],
    ['pem_label_content_mismatch', request.replaceAll('CERTIFICATE REQUEST', 'PUBLIC KEY')],
  ])('%s %#', (code, text) => {
    expect(codeOf(text)).toBe(code)
  })
})

test.each([
  'EC PUBLIC KEY',
  'DSA PUBLIC KEY',
  'ED25519 PUBLIC KEY',
  'PKCS7',
  'CMS',
  'DH PARAMETERS',
  'X9.42 DH PARAMETERS'.replace('.', ''),
  'EC PARAMETERS',
  'X509 CRL',
  'ATTRIBUTE CERTIFICATE',
  'ANY PUBLIC KEY',
  'KEY',
])('the label %s is rejected', (label) => {
  const der = Buffer.from(fixture('keys/good/ec-p256.pem').replace(/-----.*-----/g, ''), 'base64')
  expect(codeOf(pem(der, label))).toBe('pem_label_unsupported')
})

test('a PKCS#7 bundle is rejected under any label', () => {
  const bundle = execFileSync('openssl', [
    'crl2pkcs7',
    '-nocrl',
    '-certfile',
    'test/fixtures/keys/wrongtype/certificate.pem',
  ])
  expect(codeOf(bundle.toString())).toBe('pem_label_unsupported')
  expect(codeOf(bundle.toString().replaceAll('PKCS7', 'PUBLIC KEY'))).toBe(
    'pem_label_content_mismatch',
  )
})

describe('key types that cannot sign JWTs', () => {
  const format = { type: 'spki', format: 'pem' } as const
  test.each([
    ['key_agreement_only', generateKeyPairSync('x25519').publicKey.export(format)],
    ['key_agreement_only', generateKeyPairSync('x448').publicKey.export(format)],
    ['key_agreement_only', generateKeyPairSync('ml-kem-512').publicKey.export(format)],
    ['key_agreement_only', generateKeyPairSync('ml-kem-768').publicKey.export(format)],
    ['key_agreement_only', generateKeyPairSync('ml-kem-1024').publicKey.export(format)],
    ['key_type_unsupported', generateKeyPairSync('ed448').publicKey.export(format)],
    ['key_type_unsupported', generateKeyPairSync('slh-dsa-sha2-128f').publicKey.export(format)],
    ['key_type_unsupported', generateKeyPairSync('slh-dsa-shake-256s').publicKey.export(format)],
    ['key_type_unsupported', pem(spki('1.2.840.113549.1.3.1', none, none))],
    ['key_type_unsupported', pem(spki('1.2.840.10046.2.1', none, none))],
    [
      'key_type_unsupported',
      generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }).publicKey.export(
        format,
      ),
    ],
  ])('%s %#', (code, text) => {
    for (const algorithm of [undefined, 'RSA', 'ES256', 'EdDSA', 'ML-DSA-44'] as const) {
      expect(codeOf(text.toString(), algorithm)).toBe(code)
    }
  })

  test('the detail names the key type', () => {
    const slh = generateKeyPairSync('slh-dsa-sha2-128f').publicKey.export(format).toString()
    expect(rejected(slh).faults[0].detail).toContain('SLH-DSA')
    expect(rejected(fixture('material/dsa2048.pem')).faults[0].detail).toContain('DSA')
    expect(rejected(fixture('keys/ec/sm2.pem')).faults[0].detail).toContain('SM2')
  })
})
