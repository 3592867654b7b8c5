import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isSecretText } from '../../console/src/keys/secret-text.ts'
import { codeOf, pem } from '../support/keys/intake.ts'
import { ecKey } from '../support/keys/pem.ts'
import { startShell } from './support.ts'

/*
 * Public keys in formats that are not PEM: what the API, the command line and the console say.
 */

const shell = await startShell()

/** Imported without its types, which need those of a browser. */
const console: { convert(text: string): { pem: string }[] } = await import(
  String(new URL('../../console/src/keys/conversion.ts', import.meta.url))
)
const { convert } = console

interface Case {
  name: string
  text: string
  /** `errors[0].code` of the API, and a part of its detail. */
  api: [code: string, detail: RegExp]
  /** The message of `key add` before it sends anything; by default it sends the key, and the API refuses it. */
  cli?: RegExp
  /** The message of the console before it sends anything; or the code of the key that it converts. */
  console?: RegExp | 'ok' | 'rsa_exponent_invalid'
}

const file = (name: string) => readFileSync(`test/fixtures/formats/${name}`, 'utf8')
const sshLine = (type: string) => {
  const blob = Buffer.from([0, 0, 0, type.length, ...Buffer.from(type), 0, 0, 0, 3, 1, 0, 1])
  return `${type} ${blob.toString('base64')} alice@host\n`
}
const ec = ecKey()
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsaJwk = JSON.parse(file('n19-jwks.json')).keys[0]
const { e: _e, ...withoutExponent } = rsaJwk

const cases: Case[] = [
  {
    name: 'a certificate under PUBLIC KEY',
    text: file('n13-x5c-as-public-key.pem'),
    api: ['pem_label_content_mismatch', /a certificate\. Convert it: perl .* \| openssl x509/],
  },
  {
    name: 'a public key under CERTIFICATE',
    text: ec.publicKeyPem.replaceAll('PUBLIC KEY', 'CERTIFICATE'),
    api: ['pem_label_unsupported', /a public key \(SPKI\)\. Change the label: sed/],
  },
  {
    name: 'a public key under SSH2 PUBLIC KEY',
    text: ec.publicKeyPem.replaceAll('PUBLIC KEY', 'SSH2 PUBLIC KEY'),
    api: ['pem_label_unsupported', /a public key \(SPKI\)\. Change the label: sed/],
  },
  {
    name: 'JWKs in an array',
    text: JSON.stringify([rsaJwk, rsaJwk]),
    api: [
      'jwk_submitted',
      /contains a JWK\. If tokens carry its kid,.* Convert the first: node -p/,
    ],
    cli: /contains a JWK\. If tokens carry its kid,.* Convert the first: node -p/,
  },
  {
    name: 'a bare Ed25519 key under PUBLIC KEY',
    text: pem(new Uint8Array(32).fill(0x84)),
    api: ['pem_label_content_mismatch', /32 bytes without a structure, such as a bare Ed25519 key/],
  },
  {
    name: 'a point in hexadecimal',
    text: file('n18-hex-point.txt'),
    api: ['pem_not_found', /point on P-256 in hexadecimal\. Convert it: .*openssl pkey/],
  },
  {
    name: 'a modulus in hexadecimal',
    text: file('n18-hex-modulus.txt'),
    api: ['pem_not_found', /modulus in hexadecimal, without its exponent/],
  },
  {
    name: 'the output of openssl rsa -modulus',
    text: file('n18-openssl-modulus.txt'),
    api: ['pem_not_found', /output of openssl rsa -modulus/],
  },
  {
    name: 'a key set',
    text: file('n19-jwks.json'),
    api: ['jwk_submitted', /with 2 keys\. .*pubring import jwks\.json.*node -p/],
    cli: /is a set of 2 keys.*\n.*pubring import/,
    console: 'ok',
  },
  {
    name: 'certificates by kid',
    text: file('n20-x509-map.json'),
    api: ['jwk_submitted', /with 2 certificates\. .*pubring import certs\.json/],
    cli: /with 2 certificates\. .*pubring import certs\.json/,
  },
  {
    name: 'a set with a key whose exponent is zero',
    text: file('n24-e-AAAA.jwk.json'),
    api: ['jwk_submitted', /with one key\. If tokens carry its kid,.* To convert it: node -p/],
    cli: /No public key can be read from the members of this JWK/,
    console: 'rsa_exponent_invalid',
  },
  {
    name: 'a JWK without its exponent',
    text: JSON.stringify(withoutExponent),
    api: ['jwk_submitted', /a JWK whose member e is missing/],
    cli: /a JWK whose member e is missing/,
    console: /JWK is damaged/,
  },
  {
    name: 'a security key of SSH',
    text: file('n28-sk-ssh-ed25519.pub'),
    api: ['ssh_key_submitted', /security key \(FIDO\), which cannot sign JWTs/],
    cli: /security key \(FIDO\), which cannot sign JWTs/,
  },
  {
    name: 'an ECDSA security key of SSH',
    text: sshLine('sk-ecdsa-sha2-nistp256@openssh.com'),
    api: ['ssh_key_submitted', /security key \(FIDO\), which cannot sign JWTs/],
    cli: /security key \(FIDO\), which cannot sign JWTs/,
  },
  {
    name: 'an SSH certificate',
    text: sshLine('ssh-ed25519-cert-v01@openssh.com'),
    api: ['ssh_key_submitted', /an SSH certificate.*without -cert/],
    cli: /an SSH certificate.*without -cert/,
  },
  {
    name: 'a DSA key of SSH',
    text: sshLine('ssh-dss'),
    api: ['ssh_key_submitted', /cannot sign JWTs\. Generate a key pair/],
    cli: /cannot sign JWTs\. Generate a key pair/,
  },
  {
    name: 'two lines of authorized_keys',
    text: sshLine('ssh-rsa') + sshLine('ssh-ed25519'),
    api: ['ssh_key_submitted', /2 SSH keys\. Send one/],
    cli: /These are 2 SSH keys/,
  },
  {
    name: 'the label EC PUBLIC KEY',
    text: ec.publicKeyPem.replaceAll('PUBLIC KEY', 'EC PUBLIC KEY'),
    api: ['pem_label_unsupported', /Change the label: sed/],
  },
  {
    name: 'PEM inside JSON',
    text: JSON.stringify({ public_key: ec.publicKeyPem }),
    api: ['jwk_submitted', /contains PEM\. Send only that text/],
    cli: /contains PEM\. Send only that text/,
  },
  {
    name: 'an OpenSSH private key',
    text: pem(Buffer.from('openssh-key-v1\0none'), 'OPENSSH PRIVATE KEY'),
    api: ['private_key_submitted', /generate a new pair \(openssl genpkey .*\), and send only/],
    cli: /holds a private key\. It was not sent.*\n.*ssh-keygen -y/,
  },
  {
    name: 'a private JWK',
    text: JSON.stringify(privateKey.export({ format: 'jwk' })),
    api: ['private_key_submitted', /generate a new pair \(openssl genpkey .*\), and send only/],
    cli: /holds a private key\. It was not sent.*\n.*node -p/,
  },
]

test.each(cases)('the API rejects $name', async ({ text, api: [code, detail] }) => {
  const body = { name: 'x', algorithm: 'RSA', publicKeyPem: text }
  const path = `/v1/projects/${shell.test.project.name}/jwt-keys`
  const created = await shell.test.send('POST', path, { body })
  expect(created.statusCode).toBe(400)
  const { errors } = created.json()
  expect(errors[0]).toMatchObject({ pointer: '/publicKeyPem', code })
  expect(errors[0].detail).toMatch(detail)
  const checked = await shell.test.send('POST', '/v1/key-checks', { body: { publicKeyPem: text } })
  expect(checked.json()).toMatchObject({ accepted: false, faults: [{ code }] })
  expect(checked.json().faults[0].detail).toMatch(detail)
})

test.each(cases)('key add rejects $name', async ({ text, api: [, detail], cli }) => {
  const ran = await shell.pubring(['key', 'add', shell.file('submitted', text), '--label', 'x'])
  expect(ran).toMatchObject({ stdout: '' })
  expect(ran.code).toBeGreaterThan(0)
  expect(ran.stderr).toMatch(cli ?? detail)
})

test.each(cases)('the console explains or sends $name', ({ text, console: words }) => {
  if (isSecretText(text)) return
  if (typeof words === 'string') {
    const [converted] = convert(text)
    expect(codeOf(converted?.pem ?? '')).toBe(words)
  } else if (words === undefined) expect(convert(text)).toEqual([])
  else expect(() => convert(text)).toThrow(words)
})

test('key add converts an SSH key inside a PEM block', async () => {
  const submitted = shell.file('submitted', file('n28-ssh-blob-in-block.pem'))
  const ran = await shell.pubring(['key', 'add', submitted, '--label', 'converted'])
  expect(ran).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('is an SSH key; converted'),
  })
})

test('the console converts a certificate with escaped line breaks', async () => {
  const certificate = readFileSync('test/fixtures/material/cert_valid.pem', 'utf8')
  const pem = createPublicKey(certificate).export({ type: 'spki', format: 'pem' })
  expect(convert(JSON.stringify(certificate))).toEqual([
    { from: 'certificate', pem, label: 'generated.test' },
  ])
})

const jwk = publicKey.export({ format: 'jwk' })
const der = publicKey.export({ type: 'spki', format: 'der' })
const spki = pem(der)

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
  ['hexadecimal', der.toString('hex'), 'key in hexadecimal'],
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

test.each([
  `Modulus=${'AB'.repeat(128)}`,
  'ab'.repeat(128),
  'no key',
  'KEY=no key at all, but a long sentence about keys',
])('the console leaves %s to the service', (text) => expect(convert(text)).toEqual([]))

test('a check of a vanity key warns, and the key is accepted', async () => {
  const vanity = 'test/fixtures/keys/rsa/vanity-half.pem'
  const publicKeyPem = readFileSync(vanity, 'utf8')
  const checked = await shell.test.send('POST', '/v1/key-checks', { body: { publicKeyPem } })
  const warnings = [{ code: 'rsa_modulus_structured', detail: expect.stringContaining('vanity') }]
  expect(checked.json()).toMatchObject({ accepted: true, faults: [], warnings })
  const ran = await shell.pubring(['key', 'check', vanity])
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('a vanity key') })
})
