import { generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { examineCheaply } from '../../../../packages/intake/src/examine.ts'
import { newApiKeySecret } from '../../../../packages/server/src/kernel/access/secrets.ts'
import {
  containsApiKey,
  redact,
} from '../../../../packages/server/src/kernel/exposure/redaction.ts'
import { newId } from '../../../../packages/server/src/kernel/values/ids.ts'
import { emptyBlocklist } from '../../../support/keys/intake.ts'
import { edKey, privatePem, rsaKey } from '../../../support/keys/pem.ts'
import { base64url, signToken } from '../../../support/keys/tokens.ts'
import { findSecret, rememberPrivateKey, rememberSecret } from '../../../support/secrets.ts'
import { expectWithin } from '../../../support/timing.ts'

const apiKey = newApiKeySecret()
const pem = privatePem(rsaKey())
const ed = edKey()
const token = signToken(ed.privateKey, { alg: 'EdDSA' }, { sub: 'someone' })
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
rememberPrivateKey(privateKey)
const der = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')

describe('redact', () => {
  test.each([
    ['an API key', apiKey],
    ['an API key that was not copied whole', apiKey.slice(0, 40)],
    ['a PEM block', pem],
    ['a PEM block with written-out line breaks', pem.replaceAll('\n', '\\n')],
    ['a PEM block that was cut off', pem.slice(0, 900)],
    [
      'PEM with headers',
      pem.replace('\n', '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n'),
    ],
    ['PEM behind a broken line', pem.replace('\n', '\n \t\r\n')],
    ['DER in base64', der],
    ['a token', token],
    ['a token without its signature', token.slice(0, token.lastIndexOf('.') + 1)],
  ])('redacts %s in a log line, and nothing else', (_name, secret) => {
    for (const line of [
      JSON.stringify({ before: 1, text: `it was ${secret} in here`, after: 2 }),
      JSON.stringify({ before: 1, [secret]: 'x', after: 2 }),
      JSON.stringify({ before: 1, url: `/v1/projects?key=${secret}&x=1`, after: 2 }),
    ]) {
      const rest = redact(line)
      expect(rest).toContain('[redacted]')
      expect(JSON.parse(rest)).toMatchObject({ before: 1, after: 2 })
      expect(rest).not.toContain(secret.slice(12, 36))
    }
  })

  test.each([
    '{"level":30,"route":"/v1/projects/:projectIdOrName/jwt-keys","status":200,"ms":1.2}',
    'Error: no\n    at listKeys (file:///srv/pubring/src/http/keys.ts:12:34)\n    at node:internal/process/task_queues:103:5',
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71 pubring_4fTz pubring_http_requests_total',
    'MAIN/MAP/eyes.keyes and every other word',
  ])('leaves non-secret text unchanged: %s', (text) => {
    expect(redact(text)).toBe(text)
  })

  test('leaves every sentence about a rejected key unchanged', () => {
    const folder = join(import.meta.dirname, '../../../fixtures')
    const texts = globSync(`${folder}/{keys,material}/**/*.{pem,txt,pub,json}`).map((file) =>
      readFileSync(file, 'utf8'),
    )
    const verdicts = texts.map((text) =>
      examineCheaply(text.slice(0, 300), 'ES256', emptyBlocklist),
    )
    const details = verdicts.flatMap((verdict) =>
      verdict === undefined || verdict.ok ? [] : verdict.faults.map(({ detail }) => detail),
    )
    expect(details.some((detail) => detail.includes('-----BEGIN PUBLIC KEY-----'))).toBe(true)
    for (const detail of details) expect(redact(detail)).toBe(detail)
    expect(redact(JSON.stringify(details))).toBe(JSON.stringify(details))
  })

  test('runs in linear time on hostile texts', () => {
    for (const part of [
      '-----BEGIN ',
      '-----BEGIN A----- ',
      '-----BEGIN A-----\na: b\n',
      'pubring_',
      'ey',
      'eyaaaaaaaa.',
      'MA',
      '-----END ',
    ]) {
      const start = performance.now()
      redact(part.repeat(20_000))
      expectWithin(500, performance.now() - start)
    }
  })
})

test('an API key in a URL is recognized by its form, one with a typing error is not', () => {
  expect(containsApiKey(`/v1/projects?key=${apiKey}&x`)).toBe(true)
  expect(containsApiKey(`/v1/${apiKey}`)).toBe(true)
  expect(containsApiKey(`/v1/${apiKey.slice(0, -1)}`)).toBe(false)
  expect(containsApiKey('/v1/projects')).toBe(false)
})

describe('the search for secrets in test output', () => {
  const body = (text: string) => text.replace(/-----[^-]+-----|\s/g, '')
  const noise = 'x'.repeat(5_003)
  rememberSecret('an API key', apiKey)

  test.each([
    ['an API key', () => apiKey],
    ['24 characters of an API key', () => apiKey.slice(21, 45)],
    ['24 characters of a token', () => token.slice(-30, -6)],
    ['a private key in JSON', () => JSON.stringify({ pem })],
    ['24 characters of a private key', () => body(pem).slice(500, 524)],
    ['a private key as base64url', () => der.replaceAll('+', '-').replaceAll('/', '_')],
    ['the seed of an Ed25519 key', () => ed.privateKey.export({ format: 'jwk' }).d ?? ''],
    [
      'a private exponent in hexadecimal',
      () => Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url').toString('hex'),
    ],
  ])('finds %s in any file', (_name, planted) => {
    rememberPrivateKey(ed.privateKey)
    for (let shift = 0; shift < 12; shift += 1) {
      expect(findSecret(`${noise.slice(shift)}${planted()}${noise}`)).toBeDefined()
    }
  })

  test('finds nothing in public keys, in prefixes and in other secrets', () => {
    const others = [newApiKeySecret(), rsaKey().publicKeyPem, apiKey.slice(0, 23), ed.publicKeyPem]
    // No secret contains `#`, so the noise cannot complete a prefix.
    expect(findSecret(others.join(`#${noise}`))).toBeUndefined()
    const own = rsaKey()
    rememberPrivateKey(own.privateKey)
    const jwk = JSON.stringify(own.privateKey.export({ format: 'jwk' }).n)
    expect(findSecret(own.publicKeyPem + jwk)).toBeUndefined()
  })

  test('finds no token in the base64 of an id that begins as the kid of the token does', () => {
    const kid = newId()
    signToken(privateKey, { alg: 'ES256', kid })
    expect(findSecret(base64url({ ledgerId: kid }))).toBeUndefined()
  })
})
