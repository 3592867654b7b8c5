import { describe, expect, test } from 'vitest'
import type { TokenCheckStep } from '../../../src/contract/checks/tokens.ts'
import { noon, startTokenChecks } from '../../support/app/token-checks.ts'

const seconds = noon / 1000

const server = await startTokenChecks()

describe('exp and nbf', () => {
  test.each([
    ['one second ahead', 1, true],
    ['a millisecond ahead', 0.001, true],
    ['this very moment', 0, false],
    ['a second ago', -1, false],
    ['a year ago', -31_536_000, false],
  ])('exp %s', async (_name, offset, valid) => {
    const report = await server.check({ token: server.token('ES256', { exp: seconds + offset }) })
    expect(report.valid).toBe(valid)
    if (!valid) expect(report.reason).toBe('token_expired')
  })

  test.each([
    ['this very moment', 0, true],
    ['a second ago', -1, true],
    ['a millisecond ahead', 0.001, false],
    ['a day ahead', 86_400, false],
  ])('nbf %s', async (_name, offset, valid) => {
    const report = await server.check({ token: server.token('ES256', { nbf: seconds + offset }) })
    expect(report.valid).toBe(valid)
    if (!valid) expect(report.reason).toBe('token_not_yet_valid')
  })

  test.each(['exp', 'nbf'])('%s that is no number fails', async (claim) => {
    for (const value of ['2000000000', null, true, [], {}]) {
      const report = await server.failure({ token: server.token('ES256', { [claim]: value }) })
      expect(report).toMatchObject({ step: claim })
    }
  })

  test('exp in milliseconds is taken, as verifiers take it, and remarked upon', async () => {
    const report = await server.check({ token: server.token('ES256', { exp: noon + 60_000 }) })
    expect(report.valid).toBe(true)
    expect(report.steps.find(({ step }) => step === 'exp')?.detail).toContain('milliseconds')
    const early = await server.failure({ token: server.token('ES256', { nbf: noon }) })
    expect(early).toMatchObject({ reason: 'token_not_yet_valid' })
    expect(early.detail).toContain('milliseconds')
  })

  test('a duration in place of a time is remarked upon', async () => {
    const { detail } = await server.failure({ token: server.token('ES256', { exp: 3_600 }) })
    expect(detail).toContain('1970-01-01T01:00:00.000Z (it must be a time; is it a duration?)')
  })

  test.each([1e300, -1e300, 9e15, -9e15, 0])('%d seconds are a time', async (exp) => {
    expect((await server.check({ token: server.token('ES256', { exp }) })).valid).toBe(
      exp > seconds,
    )
  })

  test('the detail says how long ago', async () => {
    const { detail } = await server.failure({
      token: server.token('ES256', { exp: seconds - 7_200 }),
    })
    expect(detail).toBe('It expired at 2040-05-01T10:00:00.000Z, 2 hours ago.')
  })
})

describe('iss and aud', () => {
  test.each([
    [undefined, /no iss/],
    ['https://issuer/', /final slash/],
    ['https://ISSUER', /upper and lower case/],
    ['https://issuers', /must be the same/],
    ['', /must be the same/],
    [7, /not a string/],
    [['https://issuer'], /not a string/],
    [{ toString: 1, valueOf: 1 }, /not a string/],
  ])('iss %j is issuer_mismatch', async (iss, detail) => {
    const report = await server.failure({
      token: server.token('ES256', { iss }),
      issuer: 'https://issuer',
    })
    expect(report).toMatchObject({ reason: 'issuer_mismatch', step: 'iss' })
    expect(report.detail).toMatch(detail)
  })

  test.each([undefined, 'a', 'B', '', ['a'], [], [['b']], 7, { b: 1 }])(
    'aud %j is audience_mismatch',
    async (aud) => {
      const report = await server.failure({ token: server.token('ES256', { aud }), audience: 'b' })
      expect(report).toMatchObject({ reason: 'audience_mismatch', step: 'aud' })
    },
  )

  test('without an issuer in the request, iss is compared with the issuer of the project', async () => {
    expect(await server.check({ token: server.token('ES256') })).toMatchObject({ valid: true })
    for (const iss of ['https://issuer', `${server.issuer}/`, undefined, 7]) {
      const report = await server.failure({ token: server.token('ES256', { iss }) })
      expect(report).toMatchObject({ reason: 'issuer_mismatch', step: 'iss' })
      expect(report.detail).toContain(server.issuer)
    }
  })

  test.each([
    [['https://Orders', 'a'], 'https://orders', /upper and lower case/],
    ['https://orders/', 'https://orders', /final slash/],
    [' orders', 'orders', /white space/],
    ['billing', 'orders', /^aud is “billing”, not the expected audience\.$/],
    [['a', 'b', 7, 'c', 'd'], 'orders', /^aud is “a”, “b”, “c”, not the expected audience\.$/],
    ['billing orders', 'orders', /several audiences must be an array/],
    ['billing,orders', 'orders', /several audiences must be an array/],
    [[], 'orders', /names no audience/],
    [7, 'orders', /must be a text or an array of texts/],
  ])('aud %j in place of %s: how they differ', async (aud, audience, difference) => {
    const report = await server.failure({ token: server.token('ES256', { aud }), audience })
    expect(report.detail).toMatch(difference)
  })

  test('audience and issuer are not the names of claims', async () => {
    const claims = { audience: 'orders', issuer: 'https://issuer', iss: undefined }
    const issuer = 'https://issuer'
    const failed = await server.failure({ token: server.token('ES256', claims), issuer })
    expect(failed.detail).toContain('the claim is called iss')
    const token = server.token('ES256', { audience: 'orders' })
    const { detail } = await server.failure({ token, audience: 'orders' })
    expect(detail).toContain('the claim is called aud')
    expect(await outcomeOf('aud', { audience: 'orders' })).toBe('warned')
  })
})

/** The outcome of a step of a valid token with these claims. */
async function outcomeOf(step: TokenCheckStep, claims: object) {
  const report = await server.check({ token: server.token('ES256', claims) })
  expect(report.valid).toBe(true)
  return report.steps.find((each) => each.step === step)?.outcome
}

describe('what was not compared has not passed', () => {
  test.each<[TokenCheckStep, object, string]>([
    ['exp', {}, 'warned'],
    ['exp', { exp: seconds + 1 }, 'passed'],
    ['exp', { exp: noon + 1 }, 'warned'],
    ['nbf', {}, 'skipped'],
    ['nbf', { nbf: seconds }, 'passed'],
    ['nbf', { iat: seconds }, 'skipped'],
    ['nbf', { nbf: seconds, iat: seconds + 3_600 }, 'warned'],
    ['nbf', { iat: seconds + 3_600 }, 'warned'],
    ['nbf', { iat: '2040' }, 'warned'],
    ['iss', {}, 'passed'],
    ['aud', { aud: 'orders' }, 'skipped'],
  ])('%s of %j is %s', async (step, claims, outcome) => {
    expect(await outcomeOf(step, claims)).toBe(outcome)
  })
})
