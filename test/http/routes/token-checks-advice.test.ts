import { sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { registerKey } from '../../support/app/keys.ts'
import { startTokenChecks } from '../../support/app/token-checks.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { base64url, signToken } from '../../support/keys/tokens.ts'

const server = await startTokenChecks()

describe('a kid that is not one', () => {
  const keyOf = async (algorithm: 'RS256' | 'ES256') => {
    const { kid } = server.keyOf(algorithm)
    return (await server.send('GET', `/v1/projects/payments/jwt-keys/${kid}`)).json()
  }

  test.each<[string, (key: { id: string; details: Record<string, string> }) => string, RegExp]>([
    ['a blank before it', ({ id }) => ` ${id}`, /white space/],
    ['a line break after it', ({ id }) => `${id}\n`, /white space/],
    ['the label', () => 'a key for RS256', /is the label of a key/],
    ['the thumbprint', ({ details }) => `${details.thumbprint}`, /is the thumbprint of a key/],
    ['spkiSha256', ({ details }) => `${details.spkiSha256}`, /is the spkiSha256 of a key/],
    ['spkiSha256 in upper case', ({ details }) => `${details.spkiSha256}`.toUpperCase(), /spkiSha/],
  ])('%s: kid_unknown, with the right one', async (_name, kidOf, cause) => {
    const key = await keyOf('RS256')
    const token = server.token('RS256', {}, { kid: kidOf(key) })
    const report = await server.failure({ token })
    expect(report).toMatchObject({ reason: 'kid_unknown', step: 'kid_known' })
    expect(report.detail).toMatch(cause)
    expect(report.detail).toContain(key.id)
    expect(report.detail).toContain('The signature fits the key “a key for RS256”')
  })

  test('the label of several keys names none of them, but the signature does', async () => {
    const [first, second] = [ecKey(), ecKey()]
    const ids = []
    for (const { publicKeyPem } of [first, second]) {
      ids.push(await registerKey(server, { name: 'twins', publicKeyPem }))
    }
    const token = signToken(second.privateKey, { alg: 'ES256', kid: 'twins' })
    const { detail } = await server.failure({ token })
    expect(detail).toContain('label of several keys')
    expect(detail).toContain(`set the kid to ${ids[1]}`)
    expect(detail).not.toContain(ids[0])
  })

  test.each([
    ['unknown', { kid: 'x' }, 'kid_unknown'],
    ['missing', { kid: undefined }, 'kid_missing'],
    ['a number', { kid: 7 }, 'kid_missing'],
  ])('%s: says which key the signature fits', async (_name, header, reason) => {
    for (const algorithm of ['RS256', 'PS384', 'ES512', 'EdDSA', 'ML-DSA-44'] as const) {
      const report = await server.failure({ token: server.token(algorithm, {}, header) })
      expect(report.reason).toBe(reason)
      expect(report.detail).toContain(`set the kid to ${server.keyOf(algorithm).kid}`)
    }
  })

  test('says that the signature fits none', async () => {
    const token = signToken(ecKey().privateKey, { alg: 'ES256', kid: 'x' })
    const { detail } = await server.failure({ token })
    expect(detail).toContain('The signature fits no key of the project')
  })

  test('a token without a signature fits nothing', async () => {
    const unsigned = `${base64url({ alg: 'none', kid: 'x' })}.${base64url({})}.`
    const { detail } = await server.failure({ token: unsigned })
    expect(detail).not.toContain('fits')
  })
})

describe('a signature of another length', () => {
  const parts = (algorithm: 'RS256' | 'ES256' | 'EdDSA') => {
    const [header = '', claims = '', signature = ''] = server.token(algorithm).split('.')
    return { input: `${header}.${claims}`, bytes: Buffer.from(signature, 'base64url') }
  }
  const detailOf = async (token: string) => {
    const report = await server.failure({ token })
    expect(report).toMatchObject({ reason: 'signature_invalid', step: 'signature' })
    return report.detail
  }

  test.each([
    ['RS256', /with this key needs 256 bytes/],
    ['ES256', /R and S with 32 bytes each, 64 in total/],
    ['EdDSA', /with this key needs 64 bytes/],
  ] as const)('%s: its encoding is named, and what is expected', async (algorithm, expected) => {
    const { input, bytes } = parts(algorithm)
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    const cases: [string, RegExp][] = [
      [bytes.toString('hex'), /is in hexadecimal;/],
      [bytes.toString('hex').toUpperCase(), /is in hexadecimal;/],
      [encode(bytes.toString('hex')), /hexadecimal and then in base64url/],
      // A zero in ASCII is the first byte of a signature in DER.
      [encode(`0${bytes.toString('hex').slice(1)}`), /hexadecimal and then in base64url/],
      [encode(bytes.toString('base64')), /is in base64 twice/],
      [encode(bytes.toString('base64url')), /is in base64 twice/],
      [bytes.subarray(1).toString('base64url'), /Keep leading zero bytes/],
      [bytes.subarray(0, 20).toString('base64url'), /has 20 bytes/],
      [Buffer.concat([bytes, bytes]).toString('base64url'), /another key/],
    ]
    for (const [signature, cause] of cases) {
      const detail = await detailOf(`${input}.${signature}`)
      expect(detail).toMatch(cause)
      expect(detail).toMatch(expected)
    }
  })

  test('ES256 in DER names how to avoid it', async () => {
    const { input } = parts('ES256')
    const der = sign('sha256', Buffer.from(input), server.keyOf('ES256').privateKey)
    expect(await detailOf(`${input}.${der.toString('base64url')}`)).toMatch(/in DER.*ieee-p1363/)
  })
})
