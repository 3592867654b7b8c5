import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pageHeaders, startApp, type TestApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { base64url, signToken } from '../../support/keys/tokens.ts'
import { startIssuer } from '../../support/network/issuer.ts'
import { rememberSecret } from '../../support/secrets.ts'

const clientId = 'pubring'
const clientSecret = rememberSecret('a secret with special characters', 'p+ss/w:rd %&é~9f2c')

/** A provider whose answers a test sets. */
const issuer = await startIssuer()
const endpoint = (name: string) => `${issuer.url}/${name}`
const second = 1_000

interface Answer {
  status?: number
  headers?: Record<string, string>
  body: string | object
}

const clock = testClock()
let server: TestApp
let log: string[] = []
let requests: { path: string; body: string; authorization: string | undefined }[]
let answers: Record<'token' | 'me', (idToken: string) => Answer>
let claims: Record<string, unknown>
/** Signs the claims of the ID token. */
let sign: (claims: Record<string, unknown>) => string

const start = () =>
  startApp({
    fetch: issuer.server.fetchWith(),
    clock,
    config: { oidc: { issuer: issuer.url, clientId, clientSecret, scopes: 'openid email' } },
    http: { logStream: { write: (line: string) => void log.push(line) } },
  })

beforeAll(async () => {
  server = await start()
  const conditions = [{ groups: 'platform' }, { email: 'ada@example.com' }, { name: 'root' }]
  for (const each of conditions) {
    const members = { for: 'people', name: 'n', conditions: each, allProjects: true }
    await server.send('POST', '/v1/access-rules', { body: { ...members, role: 'reader' } })
  }
})
beforeEach(() => {
  issuer.rotate()
  issuer.discovery = {
    issuer: issuer.url,
    jwks_uri: endpoint('jwks'),
    authorization_endpoint: endpoint('authorize'),
    token_endpoint: endpoint('token'),
    userinfo_endpoint: endpoint('me'),
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  }
  // Everything that was read of the provider is read again.
  clock.advance(3_600_000)
  log = []
  requests = []
  claims = { sub: 'ada', groups: ['platform'] }
  sign = (all) => issuer.token(all)
  answers = {
    token: (token) => ({ body: { access_token: 'a', token_type: 'Bearer', id_token: token } }),
    me: () => ({ body: { sub: 'ada' } }),
  }
})

/** Signs in; `callback` changes what the provider sends the browser with. */
async function signIn(
  callback: (parameters: URLSearchParams) => void = () => {},
  { query = '', app = server } = {},
) {
  const begun = await app.inject({ url: `/sign-in${query}` })
  if (begun.statusCode !== 302) return { ...outcome(begun), reload: () => expect.fail() }
  const { searchParams } = new URL(String(begun.headers.location))
  const { state = '', nonce = '' } = Object.fromEntries(searchParams)
  for (const name of ['token', 'me'] as const) {
    issuer.pages.set(`/${name}`, async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      requests.push({ path: name, body, authorization: request.headers.authorization })
      const iat = now()
      const standard = { iss: issuer.url, aud: clientId, nonce, iat, exp: iat + 300 }
      const answer = answers[name](sign({ ...standard, ...claims }))
      const { headers = { 'content-type': 'application/json' } } = answer
      response.writeHead(answer.status ?? 200, headers)
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
    })
  }
  const parameters = new URLSearchParams({ code: 'c', state })
  callback(parameters)
  const [cookie = ''] = [begun.headers['set-cookie'] ?? []].flat()
  const headers = { cookie: cookie.split(';')[0] ?? '' }
  const comeBack = async () =>
    outcome(await app.inject({ url: `/sign-in/callback?${parameters}`, headers }))
  return { ...(await comeBack()), reload: comeBack }
}

type Response = Awaited<ReturnType<TestApp['inject']>>
function outcome({ statusCode, body, headers }: Response) {
  const [, text = ''] = /<p>(.*?)<\/p>/.exec(body) ?? []
  const shown = text.replaceAll('&#39;', "'").replaceAll('&quot;', '"')
  const [, secret] = /(pubring_\w+);/.exec(String(headers['set-cookie'])) ?? []
  return { statusCode, shown, logged: log.join(''), secret, cookies: headers['set-cookie'] }
}

const selfOf = async ({ secret }: { secret: string | undefined }) =>
  (await server.inject({ url: '/v1/self', headers: pageHeaders(secret) })).json()

const token = (answer: Answer) => {
  answers.token = () => answer
}
/** Answers with this user info about the person. */
const userInfo = (members: object | string) => {
  const body = typeof members === 'string' ? `{"sub":"ada"${members}}` : { sub: 'ada', ...members }
  answers.me = () => ({ body })
}
const signedUserInfo = (members: object, header?: object) => {
  const body = issuer.token({ sub: 'ada', ...members }, header)
  answers.me = () => ({ headers: { 'content-type': 'application/jwt' }, body })
}
const now = () => Math.floor(clock.now() / second)
const hidden = (step: string) =>
  new RegExp(`^The OpenID provider sent something that is not accepted \\(step ${step}\\)`)

describe('a fault of the provider is named in the log, and to the person where that is safe', () => {
  test.each<[string, () => void, RegExp, RegExp]>([
    [
      'a wrong client secret',
      () => token({ status: 401, body: { error: 'invalid_client', error_description: 'expired' } }),
      /refused the sign-in: “invalid_client”, “expired”\.$/,
      /token: .*\/token responded with the status 401 refused with “invalid_client”, “expired”.*client secret.* client_id “pubring”, redirect_uri https?:\S*\/sign-in\/callback .*, authenticated by client_secret_post\./,
    ],
    [
      'a wrong client secret, as Keycloak says it',
      () => token({ status: 401, body: { error: 'unauthorized_client' } }),
      /refused the sign-in: “unauthorized_client”\.$/,
      /“unauthorized_client”\. The client id, the client secret or/,
    ],
    [
      'a client that may not use the grant',
      () => token({ status: 400, body: { error: 'unauthorized_client' } }),
      /refused the sign-in: “unauthorized_client”\.$/,
      /“unauthorized_client”\. The provider does not allow this client the authorization code grant\./,
    ],
    [
      'a code that is refused with the status of a wrong client',
      () => token({ status: 401, body: { error: 'invalid_grant' } }),
      /refused the sign-in: “invalid_grant”\.$/,
      /“invalid_grant”.*The code was used before/,
    ],
    [
      'a status without a reason',
      () => token({ status: 404, body: 'no' }),
      hidden('token'),
      /token: .*\/token responded with the status 404, and without JSON/,
    ],
    [
      'no ID token',
      () => token({ body: { access_token: 'a' } }),
      hidden('token'),
      /sent no id_token. PUBRING_OIDC_SCOPES must have openid/,
    ],
    [
      'a key that the provider does not serve',
      () => {
        sign = (all) => issuer.token(all, { kid: 'unknown' })
      },
      hidden('signature'),
      /signature: The issuer has no key with this kid \(“unknown”\); its keys have “[\w-]{36}”\./,
    ],
    [
      'a signature of another key under the kid of the provider',
      () => {
        const { privateKey } = ecKey()
        sign = (all) => signToken(privateKey, { alg: 'ES256', kid: issuer.kid }, all)
      },
      hidden('signature'),
      /signature: The signature does not match/,
    ],
    [
      'no signature',
      () => {
        sign = (all) => `${base64url({ alg: 'none' })}.${base64url(all)}.`
      },
      hidden('signature'),
      /signature: The header says “none”, but the key verifies ES256 only/,
    ],
    [
      'a signature by the client secret',
      () => {
        sign = (all) => issuer.token(all, { alg: 'HS256' })
      },
      hidden('signature'),
      /signature: The header says “HS256”, which is made with a shared secret/,
    ],
    [
      'no kid, with several keys',
      () => {
        issuer.jwks = {
          keys: ['a', 'b'].flatMap((kid) => issuer.jwks.keys.map((key) => ({ ...key, kid }))),
        }
        sign = (all) => issuer.token(all, { kid: undefined })
      },
      hidden('signature'),
      /signature: The header has no kid, and the issuer has several keys for “ES256”/,
    ],
    [
      'a clock that is ahead',
      () => Object.assign(claims, { iat: now(), nbf: now() + 90 }),
      /clock of the OpenID provider is (89|90) s ahead of that of this server.*NTP/,
      /clock: The clock of the OpenID provider is/,
    ],
    [
      'a clock that is behind',
      () => Object.assign(claims, { iat: now() - 390, exp: now() - 90 }),
      /The ID token expired at .* is 39\d s behind/,
      /clock: The ID token expired/,
    ],
    [
      'the user info of another person',
      () => userInfo({ sub: 'eve' }),
      hidden('user_info'),
      /user_info: The user info is of “eve”, not of the subject/,
    ],
    [
      '5,000 groups',
      () => userInfo({ memberOf: Array.from({ length: 5_000 }, (_one, at) => `group-${at}`) }),
      /claims of \d{5} characters; at most 16384 can be stored.*Have it send fewer/,
      /sign_in_failed/,
    ],
  ])('%s', async (_name, change, shown, logged) => {
    change()
    const found = await signIn()
    expect([found.statusCode, found.secret]).toEqual([400, undefined])
    expect(found.shown).toMatch(shown)
    expect(found.logged).toMatch(logged)
    expect(found.logged).not.toContain('[object')
  })

  test.each<[string, object, string, RegExp]>([
    [
      'another issuer',
      { iss: 'https://x.test' },
      'iss',
      /iss is “https:\/\/x.test”, not .*\/issuer/,
    ],
    ['another client', { aud: 'other' }, 'aud', /aud is “other”, not the expected .*“pubring”/],
    ['two clients', { aud: ['other', clientId] }, 'aud', /The token has no azp, not the client id/],
    ['azp of another', { azp: 'other' }, 'aud', /azp is “other”, not the client id “pubring”/],
    ['no subject', { sub: undefined }, 'aud', /The token has no sub/],
    ['no exp', { exp: undefined }, 'clock', /The token has no exp or no iat/],
    ['an nbf that is a text', { nbf: '1' }, 'clock', /nbf is not a number/],
    ['another nonce', { nonce: 'x' }, 'nonce', /The nonce is not that of this sign-in/],
    [
      'an odd auth_time',
      { auth_time: -1e300 },
      'auth_time',
      /auth_time is not a number of seconds/,
    ],
  ])('an ID token with %s', async (_name, members, step, logged) => {
    Object.assign(claims, members)
    const found = await signIn()
    expect(found).toMatchObject({ statusCode: 400, shown: expect.stringMatching(hidden(step)) })
    expect(found.secret).toBeUndefined()
    expect(found.logged).toMatch(new RegExp(`${step}: ${logged.source}`))
  })

  test('an outage of the token endpoint is not taken for a refusal, and a reload goes on', async () => {
    const { token: usual } = answers
    token({ status: 502, body: '<html>' })
    const { reload, ...found } = await signIn()
    expect(found).toMatchObject({
      statusCode: 503,
      shown: expect.stringContaining('cannot be reached'),
      cookies: undefined,
    })
    expect(found.logged).toMatch(/token: .*responded with the status 502/)
    answers.token = usual
    expect((await reload()).statusCode).toBe(302)
  })

  test('a browser that comes back after more than ten minutes begins again', async () => {
    const late = await signIn(() => clock.advance(601_000))
    expect(late).toMatchObject({ statusCode: 400, secret: undefined })
    expect((await signIn(() => clock.advance(590_000))).statusCode).toBe(302)
  })

  test.each([
    ['invalid_scope', 'AADSTS650053: asked for scope groups', /“invalid_scope”, “AADSTS650053: /],
    ['access_denied', 'Please verify your email', /did not let you in.*“Please verify your email”/],
    ['temporarily_unavailable', '', /refused the sign-in: “temporarily_unavailable”\.$/],
  ])('the browser comes back with %s', async (error, description, shown) => {
    const found = await signIn((parameters) => {
      parameters.delete('code')
      parameters.set('error', error)
      parameters.set('error_description', description)
    })
    expect(found).toMatchObject({ statusCode: 400, shown: expect.stringMatching(shown) })
    expect(found.logged).toContain(error)
    expect(found.logged).toContain('scope “openid email”')
  })

  test.each<[string, object, RegExp]>([
    [
      'another issuer',
      { issuer: 'http://issuer.test' },
      /names the issuer “http:\/\/issuer\.test”. It must name https:\/\/issuer\.test/,
    ],
    [
      'no token endpoint',
      { token_endpoint: undefined },
      /openid-configuration has no token_endpoint/,
    ],
  ])('a discovery document with %s', async (_name, change, logged) => {
    Object.assign(issuer.discovery, change)
    const found = await signIn(undefined, { app: await start() })
    expect(found).toMatchObject({
      statusCode: 400,
      shown: expect.stringMatching(hidden('discovery')),
    })
    expect(found.logged).toMatch(logged)
  })

  test('no auth_time, where a recent sign-in is needed', async () => {
    const shown = async (age?: number) => {
      if (age !== undefined) claims.auth_time = now() - age
      return (await signIn(undefined, { query: '?recent=true' })).shown
    }
    expect(await shown()).toMatch(/does not say when .* \(its ID token has no auth_time\)/)
    // A session of that age would not count as recent either.
    expect(await shown(905)).toMatch(/signed in there 9\d\d s ago/)
    expect(await shown(0)).toBe('')
  })
})

describe('a provider that does things in its own way is understood', () => {
  test.each<[string, () => void]>([
    [
      'signed user info',
      () => {
        delete claims.groups
        signedUserInfo({ groups: ['platform'] })
      },
    ],
    [
      'signed user info whose signature is wrong, beside a complete ID token',
      () => signedUserInfo({}, { kid: 'unknown' }),
    ],
    [
      'email_verified as a text',
      () => Object.assign(claims, { groups: [], email: 'ada@example.com', email_verified: 'true' }),
    ],
    [
      'no kid, with one key',
      () => {
        issuer.jwks = { keys: issuer.jwks.keys.map((key) => ({ ...key, kid: undefined })) }
        sign = (all) => issuer.token(all, { kid: undefined })
      },
    ],
    ['a clock that is 50 s ahead', () => Object.assign(claims, { iat: now() + 50 })],
    [
      'a token that expired 50 s ago',
      () => Object.assign(claims, { iat: now() - 350, exp: now() - 50 }),
    ],
    ['a session there that no database stores', () => Object.assign(claims, { sid: 'a\0' })],
    ['numbers', () => userInfo(',"name":7,"email":1e300,"preferred_username":[]')],
    ['lists of objects', () => userInfo({ roles: [{ name: 'platform' }, [null, []]] })],
    [
      'names of members of every object',
      () => userInfo(',"__proto__":{"groups":"x"},"constructor":1'),
    ],
    ['texts that cannot be stored', () => userInfo(',"name":"\\u0000","x":"\\ud800"')],
    ['4 KB of groups', () => userInfo({ memberOf: Array(100).fill('g'.repeat(40)) })],
  ])('%s', async (_name, change) => {
    change()
    const found = await signIn()
    expect([found.statusCode, found.shown]).toEqual([302, ''])
    expect((await selfOf(found)).name).toMatch(/^ada(@example\.com)?$/)
  })

  test.each<[string, () => void, RegExp]>([
    [
      'a clock that is behind',
      () => Object.assign(claims, { iat: now() - 90 }),
      /clock of the OpenID provider is (90|91) s behind that of this server/,
    ],
    [
      'user info that fails',
      () => {
        answers.me = () => ({ status: 500, body: 'no' })
      },
      /claims of the user info are missing: .*\/me responded with the status 500/,
    ],
  ])('the log says so: %s', async (_name, change, logged) => {
    change()
    const found = await signIn()
    expect(found.statusCode).toBe(302)
    expect(found.logged).toMatch(logged)
  })

  const basic = ({ authorization = '' }: (typeof requests)[number]) =>
    Buffer.from(authorization.slice(6), 'base64').toString().slice(`${clientId}:`.length)

  test.each<[string, string[], (request: (typeof requests)[number]) => unknown, attempts: number]>([
    [
      'offers client_secret_post',
      ['client_secret_basic', 'client_secret_post'],
      ({ body }) => new URLSearchParams(body).get('client_secret'),
      1,
    ],
    [
      'offers Basic alone, in which it is form-encoded',
      ['client_secret_basic'],
      (request) => new URLSearchParams(`secret=${basic(request)}`).get('secret'),
      1,
    ],
    ['does not decode Basic, its only way', ['client_secret_basic'], basic, 2],
  ])('a secret with special characters at one that %s', async (_name, methods, read, attempts) => {
    Object.assign(issuer.discovery, { token_endpoint_auth_methods_supported: methods })
    const { token } = answers
    answers.token = (idToken) =>
      requests.slice(-1).some((request) => read(request) === clientSecret)
        ? token(idToken)
        : { status: 401, body: { error: 'invalid_client' } }
    expect((await signIn()).statusCode).toBe(302)
    expect(requests.filter(({ path }) => path === 'token')).toHaveLength(attempts)
  })
})

describe('claims of the user info', () => {
  test('do not count without the signature that they claim', async () => {
    delete claims.groups
    signedUserInfo({ groups: ['platform'] }, { kid: 'unknown' })
    const found = await signIn()
    expect(found.statusCode).toBe(403)
    expect(found.shown).toMatch(/The claims of the user info are missing: .*no key with this kid/)
  })

  test('do not say when a person proved who they are', async () => {
    userInfo({ auth_time: now() })
    expect(await selfOf(await signIn())).not.toHaveProperty('recentSignInUntil')
  })

  test('give no email, verify none, and change no claim of the ID token', async () => {
    const email = 'ada@example.com'
    const attempts: [object, object][] = [
      [{}, { email, email_verified: true }],
      [{ email }, { email, email_verified: true }],
      [{ email_verified: true }, { email }],
      [{ name: 'eve' }, { name: 'root' }],
    ]
    for (const [own, more] of attempts) {
      claims = { sub: 'ada', ...own }
      userInfo(more)
      expect((await signIn()).statusCode).toBe(403)
    }
    userInfo({ email })
    claims = { sub: 'ada' }
    expect((await signIn()).shown).toContain('email of the user info does not count')
    claims = { sub: 'ada', email, email_verified: true }
    expect((await signIn()).statusCode).toBe(302)
  })
})

describe('after a rollover of the keys of the provider', () => {
  test.each([
    ['with a new kid', () => issuer.rotate()],
    [
      'with the same kid',
      () => {
        const { kid } = issuer
        issuer.rotate()
        issuer.jwks = { keys: issuer.jwks.keys.map((key) => ({ ...key, kid })) }
        sign = (all) => issuer.token(all, { kid })
      },
    ],
  ])('%s, the next sign-in succeeds', async (_name, rollOver) => {
    expect((await signIn()).statusCode).toBe(302)
    rollOver()
    expect((await signIn()).statusCode).toBe(302)
  })

  test('keys are not fetched again more than once in 5 s', async () => {
    sign = (all) => issuer.token(all, { kid: 'unknown' })
    const fetches = () => issuer.server.requests.filter((path) => path.endsWith('/jwks')).length
    const before = fetches()
    for (let attempt = 0; attempt < 4; attempt += 1) await signIn()
    expect((await signIn()).shown).toMatch(/try again in a few seconds\.$/)
    expect(fetches() - before).toBe(2)
    clock.advance(5 * second)
    await signIn()
    expect(fetches() - before).toBe(3)
  })
})

describe('a person to whom no rule gives a role learns what may be the reason', () => {
  test.each<[string, object, RegExp]>([
    [
      'groups that were left out',
      { _claim_names: { groups: 'src1' } },
      /left out the claim “groups”, because the person has too many values/,
    ],
    ['groups that were left out of a short token', { hasgroups: true }, /left out .* “groups”/],
    [
      'an email that is not verified',
      { email: 'ada@example.com', email_verified: 'no' },
      /email_verified is “"no"”, and must be true/,
    ],
    ['an email without email_verified', { email: 'ada@example.com' }, /email_verified is missing/],
  ])('%s', async (_name, change, reason) => {
    claims = { sub: 'ada', ...change }
    const found = await signIn()
    expect(found).toMatchObject({ statusCode: 403, shown: expect.stringMatching(reason) })
    expect(found.logged).toContain('notes')
  })

  test('which claims rules compare is in the log alone', async () => {
    claims = { sub: 'ada' }
    const found = await signIn()
    expect(found.statusCode).toBe(403)
    expect(found.shown).not.toMatch(/compare|groups/)
    expect(found.logged).toMatch(/compare claims that are missing \(“groups”, “email”, “name”\)/)
  })
})
