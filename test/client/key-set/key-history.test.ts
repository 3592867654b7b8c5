import { createPublicKey } from 'node:crypto'
import { compactVerify, type JWK, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { pastKeySet } from '../../../packages/client/src/verify.ts'
import { algorithmNames } from '../../../packages/intake/src/algorithms.ts'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { generateHistory, wasActive } from '../../support/app/key-history-model.ts'
import { patchKey, registerKey } from '../../support/app/keys.ts'
import { ecKey, type TestKey } from '../../support/keys/pem.ts'
import { jwsAlgorithm, keyFor, signToken } from '../../support/keys/tokens.ts'

const clock = stoppedClock()
// The client compares with the real clock, and the times of the keys are to be past for it.
const past = { ...clock, now: () => clock.now() - 86_400_000 }
const server = await startApp({ clock: past, config: { maxJwksBytes: 1e6 } })
const url = '/v1/projects/payments/.well-known/key-history.json'
const documentOf = async (app = server) => (await app.inject({ method: 'GET', url })).json()
const issuer = `${server.context.config.publicUrl}/v1/projects/${server.project.id}`

const tokenOf = ({ privateKey }: TestKey, kid: string, claims: object = {}) =>
  signToken(privateKey, { alg: 'ES256', kid }, { iss: issuer, ...claims })

/** A key that was active for an hour. */
async function endedKey(reason?: 'compromised') {
  const key = ecKey()
  const kid = await registerKey(server, { publicKeyPem: key.publicKeyPem })
  clock.advance(1_800_000)
  const middle = new Date(past.now())
  clock.advance(1_800_000)
  await patchKey(server, kid, { active: false, ...(reason && { reason }) })
  const after = new Date(past.now() + 1_000)
  clock.advance(3_600_000)
  return { key, kid, middle, after, iat: Math.floor(middle.getTime() / 1_000) }
}

describe('a token is verified as of a time', () => {
  test.each(algorithmNames)('signed with %s', async (algorithm) => {
    const { privateKey, publicKeyPem } = keyFor(algorithm)
    const kid = await registerKey(server, { algorithm, publicKeyPem })
    clock.advance(2_000)
    const time = new Date(past.now())
    await patchKey(server, kid, { active: false })
    const header = { alg: jwsAlgorithm(algorithm), kid }
    const token = signToken(privateKey, header, { iss: issuer, sub: 'alice' })
    const history = pastKeySet(await documentOf())
    const before = new Date(time.getTime() - 1_000)
    expect(await history.verifyAt(token, before)).toMatchObject({
      valid: true,
      claims: { sub: 'alice' },
      restsOnTime: false,
    })
    const [head, , signature] = token.split('.')
    const forged = `${head}.${Buffer.from('{"sub":"bob"}').toString('base64url')}.${signature}`
    expect(await history.verifyAt(forged, before)).toMatchObject({ reason: 'signature_invalid' })
  })

  test('by the key and the claims as they were then', async () => {
    const { key, kid, middle, after, iat } = await endedKey()
    const history = pastKeySet(await documentOf())
    const verdict = (claims: object, time: Date | 'iat' = middle, audience?: string) =>
      history.verifyAt(tokenOf(key, kid, claims), time, audience === undefined ? {} : { audience })
    expect(await verdict({ iat, exp: iat + 60, nbf: iat })).toMatchObject({ valid: true })
    expect(await verdict({ iat }, 'iat')).toMatchObject({ valid: true })
    expect(await verdict({ aud: ['orders'] }, middle, 'orders')).toMatchObject({ valid: true })
    for (const [claims, time, reason] of [
      [{}, after, 'key_inactive'],
      [{}, new Date(0), 'key_inactive'],
      [{}, new Date(Date.now() + 1e9), 'key_inactive'],
      [{}, new Date(Number.NaN), 'key_inactive'],
      [{}, 'iat', 'key_inactive'],
      [{ exp: iat }, middle, 'token_expired'],
      [{ exp: 'never' }, middle, 'token_expired'],
      [{ nbf: iat + 60 }, middle, 'token_not_yet_valid'],
      [{ iss: 'https://other.example' }, middle, 'issuer_mismatch'],
    ] as const) {
      expect(await verdict(claims, time)).toMatchObject({ valid: false, reason })
    }
    expect(await verdict({}, middle, 'orders')).toMatchObject({ reason: 'audience_mismatch' })
  })

  test('not if its key is compromised, unless the time is yours', async () => {
    const { key, kid, middle, iat } = await endedKey('compromised')
    const history = pastKeySet(await documentOf())
    const token = tokenOf(key, kid, { iat })
    expect(await history.verifyAt(token, 'iat')).toMatchObject({ reason: 'key_inactive' })
    expect(await history.verifyAt(token, middle)).toMatchObject({ valid: true, restsOnTime: true })
  })

  test.each([
    ['malformed_token', ''],
    ['malformed_token', 'a.b'],
    ['malformed_token', 'e30.e30.e30.e30'],
    ['malformed_token', 'bnVsbA.e30.'],
    ['malformed_token', 'W10.e30.'],
    ['malformed_token', `${Buffer.from('{"kid":"x","crit":["b64"]}').toString('base64url')}.e30.`],
    ['kid_missing', 'e30.e30.'],
    ['kid_unknown', `${Buffer.from('{"kid":"x"}').toString('base64url')}.e30.`],
  ])('%s: %s', async (reason, token) => {
    const history = pastKeySet(await documentOf())
    expect(await history.verifyAt(token, new Date(0))).toMatchObject({ valid: false, reason })
  })

  test('its algorithm is that of the key', async () => {
    const { key, kid, middle } = await endedKey()
    const token = signToken(key.privateKey, { alg: 'EdDSA', kid }, { iss: issuer })
    expect(await pastKeySet(await documentOf()).verifyAt(token, middle)).toMatchObject({
      reason: 'algorithm_mismatch',
    })
  })
})

test('the document claims a second of a generated history if, and only if, the key was active during all of it', async () => {
  const made = await generateHistory(400, 'seconds')
  const history = pastKeySet(await documentOf(made.server))
  for (const key of made.keys.filter(({ isDeleted }) => !isDeleted)) {
    const header = { alg: 'ES256', kid: key.kid } as const
    const token = signToken(key.privateKey, header, { iss: made.issuer })
    for (const second of new Set(made.timesOf(key).map((ms) => Math.floor(ms / 1_000)))) {
      const times = Array.from({ length: 1_000 }, (_, ms) => second * 1_000 + ms)
      const isWhole = times.every((ms) => wasActive(key, ms))
      const { valid } = await history.verifyAt(token, new Date(second * 1_000))
      expect([second, valid], `seed ${made.seed}, key ${key.kid}`).toEqual([second, isWhole])
    }
  }
})

describe('the keys are historical keys of OpenID Federation 1.0, section 8.7', () => {
  test('in a JWT that a federation signs', async () => {
    const ended = await endedKey('compromised')
    const active = await registerKey(server)
    const { iss, keys } = await documentOf()
    const signer = ecKey()
    // The payload of section 8.7.2: keys that have an end, with the time of issue.
    const listed = keys.filter(({ exp }: { exp?: number }) => exp !== undefined)
    const jwt = await new SignJWT({ iss, keys: listed })
      .setProtectedHeader({ alg: 'ES256', kid: 'federation', typ: 'jwk-set+jwt' })
      .setIssuedAt()
      .sign(signer.privateKey)
    const { payload, protectedHeader } = await compactVerify(
      jwt,
      createPublicKey(signer.publicKeyPem),
    )
    expect(protectedHeader.typ).toBe('jwk-set+jwt')
    const read = readHistoricalKeys(JSON.parse(new TextDecoder().decode(payload)))
    expect(read.get(ended.kid)).toMatchObject({ revoked: { reason: 'compromised' } })
    expect(read.has(active)).toBe(false)
    for (const { kid } of listed) expect(read.has(kid)).toBe(true)
  })
})

/** Reads the claims of a historical keys response, as section 8.7.2 of the specification defines them. */
function readHistoricalKeys(claims: Record<string, unknown>): Map<string, JWK> {
  const isTime = (value: unknown) => Number.isInteger(value) && Number(value) > 0
  expect(String(claims.iss)).toMatch(/^https:/)
  expect(claims.iat).toSatisfy(isTime)
  const keys = claims.keys as (JWK & Record<string, unknown>)[]
  for (const { kid, kty, iat, exp, revoked } of keys) {
    expect([typeof kid, typeof kty]).toEqual(['string', 'string'])
    expect(iat).toSatisfy(isTime)
    expect(exp).toSatisfy(isTime)
    if (revoked === undefined) continue
    const { revoked_at, reason, ...others } = revoked as Record<string, unknown>
    expect(revoked_at).toSatisfy(isTime)
    // Section 8.7.3.
    expect(['unspecified', 'compromised', 'superseded']).toContain(reason)
    expect(others).toEqual({})
  }
  const byKid = new Map(keys.map((key) => [String(key.kid), key]))
  expect(byKid.size).toBe(keys.length)
  return byKid
}
