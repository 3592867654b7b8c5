import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Algorithm, JwsAlgorithm } from '../../../packages/intake/src/algorithms.ts'
import { publicUrl } from '../../support/app/app.ts'
import { newRotatedKey, type RotatedKey, startRotationApp } from '../../support/app/rotation.ts'
import { jwsAlgorithm, signToken } from '../../support/keys/tokens.ts'

const server = await startRotationApp({ maxKeysPerProject: 1_000 })
const { clock, issuer, keysUrl } = server

const at = (ms: number) => new Date(clock.now() + ms).toISOString()
const read = async (kid: string) => (await server.send('GET', `${keysUrl}/${kid}`)).json()
const events = async () =>
  (await server.send('GET', '/v1/projects/payments/events?limit=200')).json()

type Signer = Pick<RotatedKey, 'algorithm' | 'privateKey'>

function proof(key: Signer, claims: object, header: object = {}): string {
  const exp = Math.floor(clock.now() / 1_000) + 240
  const alg: JwsAlgorithm = jwsAlgorithm(key.algorithm)
  return signToken(
    key.privateKey,
    { alg, typ: 'pubring-end+jwt', ...header },
    { iss: issuer, aud: publicUrl, exp, jti: randomUUID(), ...claims },
  )
}

/** Without an API key. */
const end = (kid: string, token: string, project = 'payments', remoteAddress = '192.0.2.1') =>
  server.inject({
    method: 'POST',
    url: `/v1/projects/${project}/jwt-keys/${kid}/end`,
    payload: { token },
    remoteAddress,
  })

test.each<Algorithm>(['RSA', 'ES256', 'ML-DSA-44'])(
  'a key sets its own end without an API key: %s',
  async (algorithm) => {
    const publishedKid = `self-${randomUUID()}`
    const key = await server.registered({ publishedKid }, algorithm)
    const expireTime = at(900_000)
    const answer = await end(publishedKid, proof(key, { sub: publishedKid, expireTime }))
    expect(answer.statusCode, answer.body).toBe(200)
    expect(answer.json()).toEqual({ kid: key.kid, expireTime })
    expect(await read(key.kid)).toMatchObject({ active: true, expireTime })
    const actor = { name: 'orders', jwtKeyId: key.kid }
    expect((await events()).slice(-2)).toMatchObject([
      { type: 'token.used', actor },
      { type: 'key.updated', actor, subject: { id: key.kid }, changes: { expireTime: {} } },
    ])
    expect((await events()).at(-1).actor).toEqual(actor)
    const own = `/v1/projects/payments/events?actor=${key.kid}&limit=200`
    expect((await server.send('GET', own)).json()).toHaveLength(2)
  },
)

test('an end can be brought nearer, and never be put off or cleared', async () => {
  const key = await server.registered()
  const to = (expireTime: unknown) => end(key.kid, proof(key, { sub: key.kid, expireTime }))
  const first = at(900_000)
  expect((await to(first)).json().expireTime).toBe(first)
  const before = (await events()).length
  expect((await to(at(1_800_000))).json().expireTime).toBe(first)
  expect((await events()).slice(before)).toMatchObject([{ type: 'token.used' }])
  const nearer = at(60_000)
  expect((await to(nearer)).json().expireTime).toBe(nearer)
  const [earliest, { expireTime }] = [at(0), (await to(at(-86_400_000))).json()]
  expect(expireTime >= earliest && expireTime <= at(0)).toBe(true)
  expect((await read(key.kid)).active).toBe(false)
  expect((await to(at(0))).json().expireTime).toBe(expireTime)
})

test.each([
  ['changed something', undefined, null],
  ['changed nothing', 60_000, 900_000],
] as const)(
  'a token that %s is not accepted again after a person changed the end',
  async (_what, given, then) => {
    const key = await server.registered()
    const patch = (ms: number | null) => {
      const body = { expireTime: ms === null ? null : at(ms) }
      return server.send('PATCH', `${keysUrl}/${key.kid}`, { body })
    }
    if (given !== undefined) await patch(given)
    const token = proof(key, { sub: key.kid, expireTime: at(120_000) })
    for (let n = 0; n < 2; n += 1) expect((await end(key.kid, token)).statusCode).toBe(200)
    const { expireTime } = (await patch(then)).json()
    const again = await end(key.kid, token)
    expect(again.json()).toMatchObject({ status: 400, code: 'invalid_proof' })
    expect(again.json().detail).toContain('was used before')
    expect((await read(key.kid)).expireTime).toBe(expireTime)
  },
)

test('a reason in the token counts as that of a change by hand, and is never lowered', async () => {
  const key = await server.registered()
  const endAs = (reason: string | undefined) =>
    end(key.kid, proof(key, { sub: key.kid, expireTime: at(0), reason }))
  const ended = async () => (await read(key.kid)).details.ended.reason
  for (const [reason, expected] of [
    [undefined, 'unspecified'],
    ['superseded', 'superseded'],
    ['compromised', 'compromised'],
    ['superseded', 'compromised'],
  ] as const) {
    expect((await endAs(reason)).statusCode).toBe(200)
    expect(await ended()).toBe(expected)
  }
  const activation = { active: true, expireTime: null }
  const again = await server.send('PATCH', `${keysUrl}/${key.kid}`, { body: activation })
  expect(again.json().code).toBe('key_compromised')
})

const cases: [string, claims: object, header: object][] = [
  ['the typ of a rotation token', {}, { typ: 'pubring-rotation+jwt' }],
  ['another issuer', { iss: `${publicUrl}/v1/projects/payments` }, {}],
  ['no audience', { aud: undefined }, {}],
  ['another audience', { aud: 'https://other.example.com' }, {}],
  ['another kid in sub', { sub: randomUUID() }, {}],
  ['no sub', { sub: undefined }, {}],
  ['no exp', { exp: undefined }, {}],
  ['an exp that is past', { exp: Math.floor(clock.now() / 1_000) - 1 }, {}],
  ['an exp too far ahead', { exp: Math.floor(clock.now() / 1_000) + 3_600 }, {}],
  ['an nbf ahead', { nbf: Math.floor(clock.now() / 1_000) + 3_600 }, {}],
  ['no jti', { jti: undefined }, {}],
  ['an expireTime in seconds', { expireTime: 1_900_000_000 }, {}],
  ['an expireTime without a zone', { expireTime: '2027-05-01T12:00:00' }, {}],
  ['an expireTime of no year', { expireTime: '9999-12-31T23:59:59-23:59' }, {}],
  ['a reason that is none', { reason: 'lost' }, {}],
  ['no alg', {}, { alg: 'none' }],
  ['a critical extension', {}, { crit: ['b64'], b64: false }],
]
test('a token that proves less or says something else ends nothing', async () => {
  const key = await server.registered()
  for (const [fault, claims, header] of cases) {
    const members = { expireTime: at(60_000), sub: key.kid, ...claims }
    const answer = await end(key.kid, proof(key, members, header))
    expect(answer.json(), fault).toMatchObject({ status: 400, code: 'invalid_proof' })
    expect(await read(key.kid), fault).not.toHaveProperty('expireTime')
  }
})

test('a key ends no other key, in its project or in another, and does nothing else', async () => {
  const [key, other] = [await server.registered(), await server.registered()]
  const expireTime = at(60_000)
  for (const [kid, subject] of [
    [other.kid, other.kid],
    [other.kid, key.kid],
    [key.kid, other.kid],
  ] as const) {
    const answer = await end(kid, proof(key, { sub: subject, expireTime }))
    expect(answer.json().code).toBe('invalid_proof')
  }
  const token = proof(key, { sub: key.kid, expireTime })
  expect((await server.exchange(token)).statusCode).toBe(400)
  const headers = { 'x-api-key': token }
  expect((await server.send('GET', keysUrl, { headers })).statusCode).toBe(401)
  const unregistered = await newRotatedKey()
  const foreign = await end(key.kid, proof(unregistered, { sub: key.kid, expireTime }))
  expect(foreign.json().code).toBe('invalid_proof')
  for (const each of [key, other]) expect(await read(each.kid)).not.toHaveProperty('expireTime')
})

test('unknown keys and unknown projects are one answer', async () => {
  const key = await server.registered()
  const token = proof(key, { sub: key.kid, expireTime: at(60_000) })
  const answers = [
    await end(randomUUID(), token),
    await end(key.kid, token, 'nothing-here'),
    await end(key.kid, token, randomUUID()),
    await end(key.kid, token, '%00'),
  ].map((answer) => ({ ...answer.json(), requestId: '' }))
  expect(answers[0]).toMatchObject({ status: 404, code: 'key_not_found' })
  expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1)
})

test('only a proof tells a key that was never public from one that does not exist', async () => {
  const publishedKid = 'orders-next'
  const key = await server.registered({ publishedKid, active: false })
  const of = (signer: Signer, sub: string, header = {}) =>
    end(sub, proof(signer, { sub, expireTime: at(60_000) }, header))
  const stranger = await newRotatedKey()
  for (const [guess, signer, header] of [
    [publishedKid, stranger, {}],
    [key.kid, stranger, {}],
    [publishedKid, key, { typ: 'JWT' }],
    [publishedKid, stranger, { alg: 'RS256' }],
    [publishedKid, await newRotatedKey('RSA'), {}],
  ] as const) {
    const [hidden, unknown] = [await of(signer, guess, header), await of(signer, 'other', header)]
    expect(hidden.json()).toEqual({ ...unknown.json(), requestId: hidden.json().requestId })
    expect(hidden.json()).toMatchObject({ status: 404, code: 'key_not_found' })
  }
  expect((await end(publishedKid, 'a.b.c')).statusCode).toBe(404)
  expect((await end('other', proof(key, { sub: publishedKid }))).statusCode).toBe(404)
  expect((await of(key, publishedKid)).statusCode).toBe(200)
  expect((await of(stranger, publishedKid)).statusCode).toBe(404)
  await server.send('PATCH', `${keysUrl}/${key.kid}`, { body: { active: true, expireTime: null } })
  await server.send('PATCH', `${keysUrl}/${key.kid}`, { body: { active: false } })
  expect((await of(stranger, publishedKid)).json().code).toBe('invalid_proof')
})

test('a key that is switched off can still be given an end', async () => {
  const key = await server.registered()
  await server.send('PATCH', `${keysUrl}/${key.kid}`, { body: { active: false } })
  const expireTime = at(60_000)
  const answer = await end(key.kid, proof(key, { sub: key.kid, expireTime }))
  expect(answer.json()).toEqual({ kid: key.kid, expireTime })
})

test('a key changes its end 60 times a minute, and ends at once whenever it wants', async () => {
  const key = await server.registered()
  const send = (ms: number, reason?: string) =>
    end(key.kid, proof(key, { sub: key.kid, expireTime: at(ms), reason }))
  for (let n = 60; n > 0; n -= 1) expect((await send(n * 60_000)).statusCode).toBe(200)
  const before = (await events()).length
  for (const ms of [30_000, 90_000]) expect((await send(ms)).json().code).toBe('rate_limited')
  expect(await events()).toHaveLength(before)
  expect((await send(30_000, 'superseded')).statusCode).toBe(200)
  expect((await send(0)).statusCode).toBe(200)
  expect((await read(key.kid)).active).toBe(false)
  expect((await send(0, 'compromised')).statusCode).toBe(200)
  expect((await send(0)).json().code).toBe('rate_limited')
  clock.advance(60_000)
  expect((await send(0)).statusCode).toBe(200)
})

/** Sends proofs to another server with these limits. */
async function limitedBy(http: Parameters<typeof startRotationApp>[1]) {
  const limited = await startRotationApp({}, http)
  const key = await limited.registered()
  const url = `${limited.keysUrl}/${key.kid}/end`
  return {
    proofOf: (minutes: number) =>
      proof(key, { iss: limited.issuer, sub: key.kid, expireTime: at(minutes * 60_000) }),
    send: async (token: string, remoteAddress = '192.0.2.1') =>
      (await limited.inject({ method: 'POST', url, payload: { token }, remoteAddress })).statusCode,
  }
}

test('failures count against the address, and a valid proof is never kept out', async () => {
  const { send, proofOf } = await limitedBy({ authFailureLimit: { limit: 5, window: 60 } })
  const statuses: number[] = []
  for (let n = 0; n < 7; n += 1) statuses.push(await send('a.b.c'))
  expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429])
  expect(await send('a.b.c', '192.0.2.10')).toBe(400)
  expect(await send(proofOf(1))).toBe(200)
})

test('the changes of a key count as its own', async () => {
  const { send, proofOf } = await limitedBy({ writeLimit: { limit: 3, window: 60 } })
  const statuses: number[] = []
  for (let n = 9; n > 4; n -= 1) statuses.push(await send(proofOf(n)))
  expect(statuses).toEqual([200, 200, 200, 429, 429])
})
