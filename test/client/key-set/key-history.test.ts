import { describe, expect, test } from 'vitest'
import { pastKeySet } from '../../../packages/client/src/verify.ts'
import { generateHistory, wasActive } from '../../support/app/key-history-model.ts'
import { keyOfEach } from '../../support/app/key-set.ts'
import { base64url, signToken } from '../../support/keys/tokens.ts'

type KeyHistory = Parameters<typeof pastKeySet>[0]

const iss = 'https://keys.example.com/v1/projects/a'
/** An hour of the past, in seconds. */
const [start, end] = [1_700_000_000, 1_700_003_600]
const iat = start + 1_800
const middle = new Date(iat * 1_000)
const all = keyOfEach()
const times = { iat: start, active_from: start, exp: end }
const revoked = { revoked_at: start, reason: 'compromised' }
const history = pastKeySet({
  iss,
  keys: [
    ...all.map(({ jwk }) => ({ ...jwk, ...times })),
    { ...all[0]?.jwk, ...times, kid: 'compromised', revoked },
  ],
  deleted: [{ kid: 'deleted', thumbprint: 'its-thumbprint', active_from: start, deleted_at: end }],
} as unknown as KeyHistory)
const [{ tokenOf } = expect.fail()] = all

describe('a token is verified as of a time', () => {
  test.each(all)('signed with $jwk.alg', async ({ tokenOf }) => {
    const token = tokenOf({ iss, sub: 'alice' })
    expect(await history.verifyAt(token, middle)).toMatchObject({
      valid: true,
      claims: { sub: 'alice' },
      restsOnTime: false,
    })
    const [head, , signature] = token.split('.')
    const forged = [head, base64url({ iss, sub: 'bob' }), signature].join('.')
    expect(await history.verifyAt(forged, middle)).toMatchObject({ reason: 'signature_invalid' })
  })

  test('by the key and the claims as they were then', async () => {
    const verdict = (claims: object, time: Date | 'iat' = middle, audience?: string) =>
      history.verifyAt(
        tokenOf({ iss, ...claims }),
        time,
        audience === undefined ? {} : { audience },
      )
    expect(await verdict({ iat, exp: iat + 60, nbf: iat })).toMatchObject({ valid: true })
    expect(await verdict({ iat }, 'iat')).toMatchObject({ valid: true })
    expect(await verdict({ aud: ['orders'] }, middle, 'orders')).toMatchObject({ valid: true })
    for (const [claims, time, reason] of [
      [{}, new Date(end * 1_000), 'key_inactive'],
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
    const token = tokenOf({ iss, iat }, 'compromised')
    expect(await history.verifyAt(token, 'iat')).toMatchObject({ reason: 'key_inactive' })
    expect(await history.verifyAt(token, middle)).toMatchObject({ valid: true, restsOnTime: true })
  })

  const unsigned = (header: object, ...more: string[]) =>
    [base64url(header), 'e30', '', ...more].join('.')
  test.each([
    ['malformed_token', ''],
    ['malformed_token', 'a.b'],
    ['malformed_token', unsigned({}, '')],
    ['malformed_token', 'bnVsbA.e30.'],
    ['malformed_token', 'W10.e30.'],
    ['malformed_token', 'e30.e30.!'],
    ['malformed_token', unsigned({ kid: 'x', crit: ['b64'] })],
    ['kid_missing', unsigned({})],
    ['kid_unknown', unsigned({ kid: 'x' })],
    ['kid_unknown', unsigned({ kid: 'deleted' })],
    ['algorithm_mismatch', unsigned({ kid: all[0]?.jwk.kid, alg: 'none' })],
  ])('%s: %s', async (reason, token) => {
    expect(await history.verifyAt(token, middle)).toMatchObject({ valid: false, reason })
  })
})

test('the document claims a second of a generated history if, and only if, the key was active during all of it', async () => {
  const made = await generateHistory(400, 'seconds')
  const url = '/v1/projects/payments/.well-known/key-history.json'
  const document = (await made.server.inject({ method: 'GET', url })).json()
  expectHistoricalKeys(document)
  const history = pastKeySet(document)
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

/** Those with an end are historical keys of OpenID Federation 1.0, section 8.7.2. */
function expectHistoricalKeys({ iss, keys }: KeyHistory): void {
  const isTime = (value: unknown) => Number.isInteger(value) && Number(value) > 0
  expect(iss).toMatch(/^https:/)
  for (const { kid, kty, iat, exp, revoked } of keys.filter(({ exp }) => exp !== undefined)) {
    expect([typeof kid, typeof kty]).toEqual(['string', 'string'])
    expect([iat, exp].every(isTime)).toBe(true)
    if (revoked === undefined) continue
    const { revoked_at, reason, ...others } = revoked
    expect(revoked_at).toSatisfy(isTime)
    // Section 8.7.3.
    expect(['unspecified', 'compromised', 'superseded']).toContain(reason)
    expect(others).toEqual({})
  }
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length)
}
