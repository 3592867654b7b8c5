import { createHmac, createPublicKey, type KeyObject } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl } from '../../support/app/app.ts'
import { exchangeParameters, sendForm, startWorkloadApp } from '../../support/app/workloads.ts'
import { ecKey, edKey, rsaKey } from '../../support/keys/pem.ts'
import { base64url, signToken } from '../../support/keys/tokens.ts'
import { jwkOf } from '../../support/network/issuer.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { flatRefusal } from './flat-refusal.ts'

const otherKey = ecKey().privateKey
const rsa = rsaKey().privateKey
const server = await startWorkloadApp({ config: { exchangeLimit: { limit: 10_000, window: 60 } } })
const { issuer } = server
const ruleId = (await server.rule()).id
const inactiveId = (await server.rule({ active: false, conditions: { ref: 'inactive' } })).id
await server.rule({ conditions: { ref: 'once' }, singleUse: true })
await server.rule({ conditions: { email: 'ci@acme.test' } })
await server.rule({ conditions: { '/email': 'bot@acme.test' } })
await server.rule({ conditions: { ref: 'v*' } })
await server.rule({ conditions: { sub: 'two' } })
await server.rule({ conditions: { '/k/ns': 'two' } })
await server.rule({ issuer: `${issuer.url}/`, conditions: { ref: 'slash' } })
await server.rule({ issuer: `${issuer.url}/elsewhere`, conditions: { ref: 'x' } })
await server.rule({ issuer: 'https://127.0.0.1:1', conditions: { ref: 'x' } })
await server.rule({
  issuer: 'https://other.issuer.test',
  jwks: { keys: [jwkOf(otherKey, { kid: 'other' }), jwkOf(otherKey, { kid: issuer.kid })] },
  conditions: { ref: 'never' },
})
issuer.jwks.keys.push(jwkOf(rsa, { kid: 'rsa' }), jwkOf(rsa, { kid: 'ps', alg: 'PS256' }))
issuer.jwks.keys.push(jwkOf(edKey().privateKey, { kid: 'enc', use: 'enc' }))
// Everything below is refused although these tokens are accepted.
expect((await server.exchange(issuer.token())).statusCode).toBe(200)
const used = issuer.token({ ref: 'once' })
expect((await server.exchange(used)).statusCode).toBe(200)

const seconds = (offset: number) => Math.floor(server.clock.now() / 1_000) + offset

type Attack = () => string | { form: string; headers?: Record<string, string> }

const claims =
  (members: object): Attack =>
  () =>
    server.issuer.token(members)
const header =
  (members: object): Attack =>
  () =>
    server.issuer.token({}, members)
const signedBy =
  (key: () => KeyObject, members: object, alg: 'ES256' | 'RS256' | 'PS256' = 'ES256'): Attack =>
  () =>
    signToken(
      key(),
      { typ: 'JWT', kid: server.issuer.kid, ...members, alg },
      server.issuer.claims(),
    )
/** The token with one of its three parts changed. */
const part =
  (index: number, change: (text: string) => string): Attack =>
  () => {
    const parts = server.issuer.token().split('.')
    parts[index] = change(parts[index] ?? '')
    return rememberSecret('a token', parts.join('.'))
  }
const whole =
  (change: (token: string) => string): Attack =>
  () =>
    change(server.issuer.token())
const parameters =
  (members: Record<string, string>): Attack =>
  () => ({
    form: formOf({ ...exchangeParameters, subject_token: server.issuer.token(), ...members }),
  })
const formOf = (members: Record<string, string>) => new URLSearchParams(members).toString()
const validForm = () => formOf({ ...exchangeParameters, subject_token: server.issuer.token() })

/** A token whose key is the public key of the issuer, used as a secret (CVE-2015-9235). */
const symmetric: Attack = () => {
  const { kid, privateKey } = server.issuer
  const secret = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  const input = `${base64url({ alg: 'HS256', kid })}.${base64url(server.issuer.claims())}`
  const signature = createHmac('sha256', secret).update(input).digest('base64url')
  return rememberSecret('a token', `${input}.${signature}`)
}

/** An unsigned or rewritten token, from the text of its header and claims. */
const raw =
  (header: string, payload: string, signature = 'AAAA'): Attack =>
  () => {
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    return rememberSecret('a token', `${encode(header)}.${encode(payload)}.${signature}`)
  }

/** One attack for each fault, and the nastiest: what a token may look like is tested with token checks. */
const attacks: [name: string, attack: Attack][] = [
  // Texts that are no token
  ['an API key', () => server.admin],
  ['a token twice', whole((token) => `${token}.${token}`)],
  ['a payload that is a list', raw('{"alg":"ES256"}', '[]')],
  ['invalid UTF-8 in the claims', part(1, () => 'e_99')],
  ['NUL in the token', whole((token) => `${token}\0`)],

  // Signatures
  ['an altered signature', part(2, (text) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1))],
  ['no signature', part(2, () => '')],
  [
    'a signature with unused bits',
    part(2, (text) => text.replace(/.$/, (last) => (last === 'Q' ? 'R' : `${last}=`))),
  ],
  ['altered claims', part(1, () => base64url(server.issuer.claims({ ref: 'refs/heads/x' })))],
  ['alg none', raw('{"alg":"none"}', '{}', '')],
  ['alg none with our claims', part(0, () => base64url({ alg: 'none', kid: server.issuer.kid }))],
  ['alg HS256 with the public key in PEM', symmetric],
  ['another algorithm of the same key', signedBy(() => rsa, { kid: 'ps' }, 'RS256')],
  ['an alg that is a list', part(0, () => base64url({ alg: ['ES256'], kid: server.issuer.kid }))],

  // Keys
  ['another key under the kid of the issuer', signedBy(() => otherKey, {})],
  ['the key of another issuer', signedBy(() => otherKey, { kid: 'other' })],
  ['no kid', header({ kid: undefined })],
  ['a kid that is a list', header({ kid: [] })],
  ['an unknown kid', header({ kid: 'unknown' })],
  ['the kid of a key for encryption', header({ kid: 'enc' })],
  ['a key in the header', signedBy(() => otherKey, { jwk: jwkOf(otherKey, {}) })],
  [
    'a key address in the header',
    signedBy(() => otherKey, { kid: 'x', jku: 'https://other.test/jwks' }),
  ],
  ['a critical extension', header({ crit: ['exp'] })],

  // Types
  ['a logout token', header({ typ: 'logout+jwt' })],

  // Issuers
  ['no iss', claims({ iss: undefined })],
  ['an iss with a final slash', claims({ iss: `${server.issuer.url}/`, ref: 'slash' })],
  ['an issuer without a rule', claims({ iss: 'https://accounts.google.com' })],
  ['an issuer that has no keys', claims({ iss: `${server.issuer.url}/elsewhere`, ref: 'x' })],
  ['an issuer at a private address', claims({ iss: 'https://127.0.0.1:1', ref: 'x' })],
  ['an iss that another issuer signed', claims({ iss: 'https://other.issuer.test', ref: 'never' })],

  // Audiences and times
  ['an aud with a final slash', claims({ aud: `${publicUrl}/` })],
  ['an aud in a list in a list', claims({ aud: [[publicUrl]] })],
  ['no exp', claims({ exp: undefined })],
  ['an expired token', claims({ exp: seconds(-1) })],
  ['an exp beyond all dates', claims({ exp: 1e300 })],
  ['an nbf in two minutes', claims({ nbf: seconds(120) })],
  ['an iat in two minutes', claims({ iat: seconds(120) })],

  // Subjects and conditions
  ['no sub', claims({ sub: undefined })],
  ['a sub of 2 KB', claims({ sub: 's'.repeat(2_048) })],
  ['a sub with NUL', claims({ sub: 'a\0' })],
  ['a sub that holds a secret', claims({ sub: server.admin })],
  ['a matched claim with NUL', claims({ repository_id: '75', ref: 'v\0' })],
  ['another repository', claims({ repository_id: '75' })],
  ['a repository as a number', claims({ repository_id: 74 })],
  ['the conditions of two rules at once', claims({ sub: 'two', k: { ns: 'two' }, ref: 'x' })],
  ['an email that is not verified', claims({ email: 'ci@acme.test', ref: 'x' })],
  ['the same by a JSON pointer', claims({ email: 'bot@acme.test', ref: 'x' })],
  [
    'claims nested 20,000 deep',
    part(1, () =>
      Buffer.from(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`).toString('base64url'),
    ),
  ],
  ['an inactive rule', claims({ ref: 'inactive' })],
  ['once, a second time', () => used],
  ['once, without a jti', claims({ ref: 'once', jti: undefined })],
  ['once, for more than a day', claims({ ref: 'once', exp: seconds(90_000) })],

  // Requests
  ['an unknown rule', () => ({ form: `${validForm()}&rule=${newId()}` })],
  ['the inactive rule by name', () => ({ form: `${validForm()}&rule=${inactiveId}` })],
]

const asJson = () => JSON.stringify({ ...exchangeParameters, subject_token: server.issuer.token() })
const accessToken = 'urn:ietf:params:oauth:token-type:access_token'
const aForm = /^Send the parameters as a form/

/** Faults of the form, which say nothing about tokens and rules: `invalid_request` without another error. */
const formFaults: [name: string, attack: Attack, description: RegExp, error?: string][] = [
  ['no token', parameters({ subject_token: '' }), /^subject_token is missing/],
  [
    'another grant type',
    parameters({ grant_type: 'client_credentials' }),
    /^grant_type must be urn:.*token-exchange\.$/,
    'unsupported_grant_type',
  ],
  ['no grant type', parameters({ grant_type: '' }), /^grant_type must be/],
  ['another type of token', parameters({ subject_token_type: accessToken }), /type must be .* or /],
  ['another wish', parameters({ requested_token_type: accessToken }), /^requested_.* be urn:pubr/],
  ['a scope', parameters({ scope: 'admin' }), /^scope is not supported/, 'invalid_scope'],
  ['a resource', parameters({ resource: publicUrl }), /^resource is not/, 'invalid_target'],
  ['an actor', parameters({ actor_token: 'x' }), /^actor_token is not/],
  ['a rule that is no id', parameters({ rule: 'payments' }), /^rule must be the id/],
  [
    'two rules',
    () => ({ form: `${validForm()}&rule=${ruleId}&rule=${ruleId}` }),
    /parameter twice/,
  ],
  [
    'a form that is no UTF-8',
    () => ({ form: `${validForm()}&x=\xff`, headers: { 'x-bytes': '1' } }),
    /malformed/,
  ],
  ['JSON', () => ({ form: asJson(), headers: { 'content-type': 'application/json' } }), aForm],
  ['a gzip', () => ({ form: validForm(), headers: { 'content-encoding': 'gzip' } }), aForm],
  ['70 KB', () => ({ form: `${validForm()}&x=${'x'.repeat(70_000)}` }), /too large/],
]

let refusedHeaders: object | undefined

function send(attack: Attack) {
  const made = attack()
  const { form, headers = {} } =
    typeof made === 'string'
      ? { form: formOf({ ...exchangeParameters, subject_token: made }) }
      : made
  const { 'x-bytes': isLatin1, ...others } = headers
  const body = isLatin1 === undefined ? form : Buffer.from(form, 'latin1')
  return sendForm(server, body, others)
}

test.each(formFaults)(
  '%s is named as a fault of the form',
  async (_name, attack, description, error = 'invalid_request') => {
    const { statusCode, headers, body } = await send(attack)
    expect([statusCode, headers['cache-control']]).toEqual([400, 'no-store'])
    expect(JSON.parse(body)).toEqual({
      error,
      error_description: expect.stringMatching(description),
    })
  },
)

test.each(attacks)('%s is refused with the same bytes', async (_name, attack) => {
  const response = await send(attack)
  expect(response.body).toBe(flatRefusal)
  expect(response.statusCode).toBe(400)
  const { 'x-request-id': _id, date: _date, connection: _connection, ...same } = response.headers
  refusedHeaders ??= same
  expect(same).toEqual(refusedHeaders)
  expect(same).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'application/json',
  })
})

test('only issuers of active rules are ever fetched', async () => {
  const fetched = server.issuer.server.requests.length
  for (const iss of [`${server.issuer.url}/a`, server.issuer.server.urlOf('other.test')]) {
    await server.exchange(server.issuer.token({ iss }))
  }
  expect(server.issuer.server.requests).toHaveLength(fetched)
})

test('a refusal takes its time with any fault, and beyond the limit too', async () => {
  const exchangeLimit = { limit: 3, window: 60 }
  const slow = await startWorkloadApp({ config: { refusalDelayMs: 150, exchangeLimit } })

  await slow.rule()
  const time = async (token: string, status: number, headers = {}) => {
    const start = performance.now()
    const form = formOf({ ...exchangeParameters, subject_token: token })
    const { statusCode } = await sendForm(slow, form, headers)
    expect(statusCode).toBe(status)
    return performance.now() - start
  }
  const tokens = ['x', slow.issuer.token({ ref: 'x' }), slow.issuer.token({ iss: 'https://a' })]
  const times = await Promise.all([
    ...tokens.map((token) => time(token, 400)),
    time('x', 400, { 'content-type': 'text/plain' }),
  ])
  times.push(await time('x', 429))
  for (const ms of times) expect(ms).toBeGreaterThanOrEqual(149)
})
