import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noon, startTokenChecks, type TokenChecks } from '../../support/app/token-checks.ts'

const seconds = noon / 1000

let server: TokenChecks
beforeAll(async () => {
  server = await startTokenChecks()
})
afterAll(() => server.close())

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
    ['https://ISSUER', /must be the same/],
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

  test('what is not asked for is not compared', async () => {
    const report = await server.check({ token: server.token('ES256', { iss: 1, aud: 2 }) })
    expect(report.valid).toBe(true)
    expect(report.steps.slice(-2).map(({ detail }) => detail)).toEqual([
      'Not compared: the request has no issuer.',
      'Not compared: the request has no audience.',
    ])
  })
})
