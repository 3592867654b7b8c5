import { sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { TokenCheckStep } from '../../../packages/server/src/features/token-checks/contract.ts'
import { checksUrl, noon, startTokenChecks } from '../../support/app/token-checks.ts'
import { base64url } from '../../support/keys/tokens.ts'
import { rememberSecret } from '../../support/secrets.ts'

const server = await startTokenChecks()

describe('malformed_token', () => {
  const header = base64url({ alg: 'RS256', kid: 'x' })
  const claims = base64url({})
  test.each([
    ['nothing', '', /empty/],
    ['white space', ' \n', /empty/],
    ['a word', 'garbage', /three parts separated by dots; this has 1/],
    ['two parts', `${header}.${claims}`, /this has 2/],
    ['four parts', 'a.b.c.d', /this has 4/],
    ['an encrypted token', 'a.b.c.d.e', /encrypted/],
    [
      'an encrypted token with its header',
      `${base64url({ alg: 'dir', enc: 'A256GCM' })}..b.c.d`,
      /encrypted/,
    ],
    ['two copies', `${`${header}.${claims}.AAAA`.repeat(2)}`, /has 5\. Was it pasted twice/],
    ['PEM', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', /a key or a cert/],
    ['a URL', `https://app/#access_token=${header}.${claims}.AAAA`, /Send only the token/],
    ['a parameter', `access_token=${header}.${claims}.AAAA&state=1`, /Send only the token/],
    ['a cookie', `session=${header}.${claims}.AAAA; Path=/`, /Send only the token/],
    ['URL encoding', `${header}%2E${claims}%2EAAAA`, /URL-encoded/],
    ['base64 of a token', btoa(`${header}.${claims}.AAAA`), /in base64 once more/],
    ['an SD-JWT', `${header}.${claims}.AAAA~WyJhIl0~`, /before the first ~/],
    ['an SD-JWT with a key binding', `${header}.${claims}.AAAA~${header}.e30.AAAA`, /SD-JWT/],
    [
      'a nested token',
      `${header}.${Buffer.from(`${header}.e30.AA`).toString('base64url')}.AAAA`,
      /payload is a token itself/,
    ],
    ['the word Bearer', `Bearer ${header}.${claims}.AAAA`, /Remove the word Bearer/],
    ['a header line', `Authorization: Bearer ${header}.${claims}.AAAA`, /Authorization: Bearer/],
    ['quotes', `"${header}.${claims}.AAAA"`, /quotes/],
    ['one quote', `${header}.${claims}.AAAA'`, /quotes/],
    [
      'a token response',
      JSON.stringify({ access_token: 'x.y.z', expires_in: 1 }),
      /“access_token”/,
    ],
    ['another token response', JSON.stringify({ id_token: 'x.y.z' }), /“id_token”/],
    ['JSON without a token', '{"a":1}', /This is JSON/],
    ['damaged JSON', '{"access_token":', /This is JSON/],
    ['line breaks inside', `${header}.\n${claims}.AAAA`, /white space/],
    ['a signature that is cut off', `${header}.${claims}.`, /truncated/],
    ['a signature of five characters', `${header}.${claims}.AAAAA`, /truncated/],
    ['padding', `${header}.${claims}.AA==`, /signature is in standard base64/],
    ['base64 instead of base64url', `${header}.${claims}.A+/A`, /signature is in standard base64/],
    ['a padded header', `eyJhIjoiYiJ9Cg==.${claims}.AAAA`, /header is in standard base64/],
    ['another alphabet', `${header}.${claims}.AA~A`, /not base64url/],
    ['a header that is no JSON', `AAAA.${claims}.AAAA`, /header/],
    ['a header that is an array', `${base64url([])}.${claims}.AAAA`, /header/],
    ['a header that is null', `${base64url(null)}.${claims}.AAAA`, /header/],
    [
      'a header that is not UTF-8',
      `${Buffer.from('{"a":"\xff"}', 'latin1').toString('base64url')}.${claims}.AAAA`,
      /header/,
    ],
    ['claims that are text', `${header}.${base64url('x')}.AAAA`, /payload/],
    ['no claims', `${header}..AAAA`, /payload is missing.*detached/],
    ['dots alone', '..', /header/],
    ['30,000 dots', '.'.repeat(30_000), /this has 30001/],
    ['60,000 characters of one part', 'A'.repeat(60_000), /this has 1/],
    ['JSON serialisation', JSON.stringify({ payload: claims, protected: header }), /three parts/],
  ])('%s', async (_name, text, detail) => {
    const report = await server.failure({ token: text })
    expect(report).toMatchObject({ reason: 'malformed_token', step: 'well_formed' })
    expect(report.detail).toMatch(detail)
    expect(report).not.toHaveProperty('header')
    expect(report).not.toHaveProperty('key')
  })

  test.each([
    ['crit', { crit: ['exp'], exp: 1 }],
    ['crit that is empty', { crit: [] }],
    ['b64 named by crit', { crit: ['b64'], b64: false }],
    ['b64 alone', { b64: false }],
  ])('%s in the header asks for what no JWT verifier does', async (_name, members) => {
    const report = await server.failure({ token: server.token('RS256', {}, members) })
    expect(report).toMatchObject({ reason: 'malformed_token' })
    expect(report.detail).toContain('crit')
  })

  /** A token with this text as its payload, or its header. */
  function tokenOf(payload: string | Buffer, headerText?: string): string {
    const { kid, privateKey } = server.keyOf('RS256')
    const head = Buffer.from(headerText ?? JSON.stringify({ alg: 'RS256', kid }))
    const input = `${head.toString('base64url')}.${Buffer.from(payload).toString('base64url')}`
    const signature = sign('sha256', Buffer.from(input), privateKey).toString('base64url')
    return rememberSecret('a token', `${input}.${signature}`)
  }

  const formOf = async (text: string) => {
    const { valid, steps } = await server.check({ token: text })
    expect(valid).toBe(true)
    return steps[0]
  }

  test('a byte order mark and duplicate members are warned about, in the header, too', async () => {
    const { kid } = server.keyOf('RS256')
    const payload = `{"iss":"${server.issuer}"}`
    expect(await formOf(tokenOf(payload))).toMatchObject({ outcome: 'passed' })
    expect(await formOf(tokenOf(`\ufeff${payload}`))).toMatchObject({
      outcome: 'warned',
      detail: expect.stringContaining('The payload begins with a byte order mark'),
    })
    const twice = `{"iss":"x","iss":"${server.issuer}"}`
    expect(await formOf(tokenOf(twice))).toMatchObject({
      outcome: 'warned',
      detail: expect.stringContaining('The payload has the member “iss” twice'),
    })
    const head = `{"alg":"RS256","kid":"x","kid":"${kid}"}`
    expect(await formOf(tokenOf(payload, head))).toMatchObject({
      outcome: 'warned',
      detail: expect.stringContaining('The header has the member “kid” twice'),
    })
  })

  test('unused bits that are set are warned about', async () => {
    const text = server.token('RS256')
    // 256 bytes leave four unused bits in the last character.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const other = rememberSecret(
      'a token',
      `${text.slice(0, -1)}${alphabet[alphabet.indexOf(text.slice(-1)) + 1]}`,
    )
    expect(await formOf(other)).toMatchObject({
      outcome: 'warned',
      detail: expect.stringContaining('The signature is not canonical base64url'),
    })
  })

  test('white space around a token does no harm', async () => {
    expect(await server.check({ token: `\n ${server.token('ES256')}\r\n` })).toMatchObject({
      valid: true,
    })
  })

  test('claims of 12,000 levels are read and given back', async () => {
    const deep = `{"a":${'['.repeat(12_000)}${']'.repeat(12_000)}}`
    const text = `${base64url({ alg: 'RS256' })}.${Buffer.from(deep).toString('base64url')}.AAAA`
    const answer = await server.send('POST', checksUrl, { body: { token: text } })
    expect(answer.json()).toMatchObject({ reason: 'kid_missing' })
  })

  test('members named like those of every object are members like any other', async () => {
    const members = `{"__proto__":{"exp":1},"constructor":1,"toString":2,"iss":"${server.issuer}"}`
    const { kid } = server.keyOf('RS256')
    const head = Buffer.from(`{"alg":"RS256","kid":"${kid}","__proto__":{"x":1}}`)
    const text = `${head.toString('base64url')}.${Buffer.from(members).toString('base64url')}`
    const signature = sign('sha256', Buffer.from(text), server.keyOf('RS256').privateKey)
    const answer = await server.send('POST', checksUrl, {
      body: { token: `${text}.${signature.toString('base64url')}` },
    })
    expect(answer.json()).toMatchObject({ valid: true })
    expect(answer.body).toContain(`"claims":${members}`)
  })
})

const seconds = noon / 1000

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
    ['billing', 'orders', /^aud is “billing”, not the expected audience, “orders”\.$/],
    [
      ['a', 'b', 7, 'c', 'd'],
      'orders',
      /^aud is “a”, “b”, “c”, not the expected audience, “orders”\.$/,
    ],
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
