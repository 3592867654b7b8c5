import { createClient } from '@pubring/client'
import { expect, test, vi } from 'vitest'
import { createUseReporter } from '../../../packages/client/src/key-set/report.ts'
import { type KeySetOptions, projectKeySet } from '../../../packages/client/src/verify.ts'
import { openKeySet, verifyResult } from '../../support/app/key-set.ts'
import { hourMs, minuteMs, startKeyUses, type UsedKey } from '../../support/app/key-uses.ts'
import { registerKey } from '../../support/app/keys.ts'
import { base64url, keyFor, signToken } from '../../support/keys/tokens.ts'
import { waitUntil } from '../../support/waiting.ts'

const server = await startKeyUses()
const url = await server.listen()

const seconds = (ms: number) => Math.floor((server.clock.now() + ms) / 1_000)
const client = createClient({ url, apiKey: await server.apiKey('reader') })
const report = { as: 'orders-api', client }

/** Verifies the tokens as one process would, which then ends. */
async function verifyAll({ id }: UsedKey, tokens: string[], options: KeySetOptions = { report }) {
  const keys = projectKeySet(`${url}/v1/projects/${id}`, options)
  await keys.ready()
  const results = []
  for (const token of tokens) results.push(await verifyResult(keys, token))
  keys.close()
  return results
}

test.each(['ES256', 'PS384'] as const)(
  'a token that verifies by %s counts, with its exp',
  async (alg) => {
    const used = await server.usedKey()
    const { publicKeyPem, privateKey } = keyFor(alg)
    const kid = await registerKey(server, { algorithm: alg, publicKeyPem }, used.keys)
    const exps = [seconds(hourMs), seconds(2 * hourMs), seconds(90 * minuteMs)]
    const tokens = exps.map((exp) => signToken(privateKey, { alg, kid }, { exp }))
    expect(await verifyAll(used, tokens)).toEqual(exps.map((exp) => ({ exp })))
    const lastExp = new Date(Number(exps[1]) * 1_000).toISOString()
    await waitUntil(async () => (await server.use(used, kid))?.lastExp === lastExp)
    const lastTime = server.timeIn(0)
    expect(await server.use(used, kid)).toMatchObject({ lastTime, lastReporter: 'orders-api' })
  },
)

test('a forged token and an expired one do not count', async () => {
  const used = await server.usedKey()
  const { publicKeyPem, privateKey } = keyFor('ES256')
  const kid = await registerKey(server, { publicKeyPem }, used.keys)
  const token = signToken(privateKey, { alg: 'ES256', kid }, { exp: seconds(hourMs) })
  const [header, , signature] = token.split('.')
  const forged = [header, base64url({ exp: seconds(9_999 * hourMs) }), signature].join('.')
  const expired = signToken(privateKey, { alg: 'ES256', kid }, { exp: seconds(-1_000) })
  expect(await verifyAll(used, [forged, expired])).toEqual([
    'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    'ERR_JWT_EXPIRED',
  ])
  await waitUntil(async () => (await server.use(used, kid)) !== undefined)
  expect(await server.use(used, kid)).not.toHaveProperty('lastTime')
})

test('however many forged tokens arrive at once, 16 of a key are checked', async () => {
  const raw = new Uint8Array(32)
  const imported = await crypto.subtle.importKey('raw', raw, 'Ed25519', true, ['verify'])
  let checks = 0
  const key = async () => {
    checks += 1
    return imported
  }
  const { see } = createUseReporter(`${url}/v1/projects/p/.well-known/jwks.json`, report)
  const [header = '', payload = '', signature = ''] = [{}, { exp: seconds(hourMs) }, {}].map(
    base64url,
  )
  const token = { protected: header, payload, signature }
  const flood = (kid: string) => {
    const alg = 'EdDSA'
    const entry = { kid, alg, jwk: { kty: 'OKP', use: 'sig', kid, alg }, text: '', key } as const
    for (let count = 0; count < 100; count += 1) see(kid, entry, token)
  }
  flood('one')
  flood('other')
  expect(checks).toBe(32)
})

test('it is reported that there was no token, and nothing without the option', async () => {
  const [silent, quiet] = [await server.usedKey(), await server.usedKey()]
  await verifyAll(silent, [], {})
  await verifyAll(quiet, [])
  await waitUntil(async () => (await server.use(quiet)) !== undefined)
  expect(await server.use(quiet)).toMatchObject({ reporters: 1 })
  expect(await server.use(silent)).toBeUndefined()
})

test('a report that fails is an error for the service, and tokens are accepted as before', async () => {
  const used = await server.usedKey()
  await server.report(used, { uses: [] })
  server.clock.advance(minuteMs)
  const onError = vi.fn()
  await verifyAll(used, [], { report: { ...report, onError } })
  await waitUntil(() => onError.mock.calls.length > 0)
  expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: 'reporter_taken' })
})

test.each<[string, string, KeySetOptions]>([
  ['more than one report a minute', '/v1/projects/p', { report: { ...report, every: 59_999 } }],
  ['no background', '/v1/projects/p', { report, background: false }],
  ['the key set of another service', '/jwks.json', { report }],
])('with %s it is an invalid option', (_what, path, options) => {
  expect(() => openKeySet(`${url}${path}`, options)).toThrow(
    expect.objectContaining({ code: 'invalid_option' }),
  )
})
