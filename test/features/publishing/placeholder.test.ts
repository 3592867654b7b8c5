import { createHash } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import {
  fetchJwks,
  kidsOf,
  newProject,
  patchKey,
  patchKeyInStore,
  registerKey,
} from '../../support/app/keys.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { base64url, keyFor } from '../../support/keys/tokens.ts'

const clock = testClock()

const server = await startApp({ clock })

const kids = async (url: string) => kidsOf((await fetchJwks(server, {}, url)).body)

let projects = 0
async function project() {
  projects += 1
  return newProject(server, `placeholder-${projects}`)
}

/** A square root modulo the prime of P-256, which is 3 modulo 4. */
function squareRoot(square: bigint, prime: bigint): bigint {
  let [result, base] = [1n, square % prime]
  for (let exponent = (prime + 1n) / 4n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % prime
    base = (base * base) % prime
  }
  return result
}

test('its point is the one of the published sentence, whose private key no one knows', async () => {
  const { keys, jwks } = await project()
  const kid = await registerKey(server, {}, keys)
  await patchKey(server, kid, { active: false }, keys)
  const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n
  const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn
  const digest = createHash('sha256').update('pubring: no active key 0').digest()
  const x = BigInt(`0x${digest.toString('hex')}`)
  const right = (x ** 3n - 3n * x + b) % prime
  const root = squareRoot(right, prime)
  expect((root * root) % prime).toBe(right)
  const y = root % 2n === 0n ? root : prime - root
  const encode = (value: bigint) =>
    Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url')
  const entry = { kty: 'EC', use: 'sig', kid: 'no-active-key', crv: 'P-256' }
  expect((await fetchJwks(server, {}, jwks)).json()).toEqual({
    keys: [{ ...entry, x: encode(x), y: encode(y), alg: 'ES256' }],
  })
})

test('it stands alone while a project that published keys has no active one, and for ever', async () => {
  const { id, keys, jwks, fullJwks } = await project()
  expect(await kids(jwks)).toEqual([])
  const first = await registerKey(server, { active: false }, keys)
  expect(await kids(jwks)).toEqual([])
  await patchKey(server, first, { active: true }, keys)
  expect(await kids(jwks)).toEqual([first])
  await patchKey(server, first, { active: false }, keys)
  expect(await kids(jwks)).toEqual(['no-active-key'])
  expect(await kids(fullJwks)).toEqual([])
  expect((await server.send('DELETE', `${keys}/${first}`)).statusCode).toBe(204)
  expect(await kids(jwks)).toEqual(['no-active-key'])
  expect((await server.send('GET', keys)).json()).toEqual([])
  const second = await registerKey(server, {}, keys)
  expect(await kids(jwks)).toEqual([second])
  await patchKeyInStore(server, id, second, { active: false })
  await expect.poll(() => kids(jwks)).toEqual(['no-active-key'])
})

test('it comes and goes with the expiry of the last key, without a write', async () => {
  const { keys, jwks } = await project()
  const expireTime = new Date(clock.now() + 60_000).toISOString()
  const kid = await registerKey(server, { expireTime }, keys)
  expect(await kids(jwks)).toEqual([kid])
  clock.advance(60_000)
  expect(await kids(jwks)).toEqual(['no-active-key'])
  clock.advance(-60_000)
  expect(await kids(jwks)).toEqual([kid])
})

test('a project that only ever had ML-DSA, inactive or restored expired keys publishes an empty set', async () => {
  const { keys, jwks, fullJwks } = await project()
  const { publicKeyPem } = keyFor('ML-DSA-44')
  const kid = await registerKey(server, { algorithm: 'ML-DSA-44', publicKeyPem }, keys)
  await registerKey(server, { active: false }, keys)
  await patchKey(server, kid, { label: 'renamed' }, keys)
  const times = { createTime: '2020-01-01T00:00:00Z', expireTime: '2021-01-01T00:00:00Z' }
  const url = keys.replace('jwt-keys', 'key-imports')
  const { publicKeyPem: oldPem } = ecKey()
  const old = { name: 'old', algorithm: 'ES256', publicKeyPem: oldPem, ...times }
  const body = { keys: [old] }
  expect((await server.send('POST', url, { body })).statusCode).toBe(200)
  expect(await kids(jwks)).toEqual([])
  expect(await kids(fullJwks)).toEqual([kid])
})

test('a token in its name verifies nowhere', async () => {
  const { keys, jwks, name } = await project()
  const kid = await registerKey(server, {}, keys)
  await patchKey(server, kid, { active: false }, keys)
  const keySet = createLocalJWKSet((await fetchJwks(server, {}, jwks)).json())
  const header = base64url({ alg: 'ES256', kid: 'no-active-key' })
  for (const signature of [Buffer.alloc(64), Buffer.alloc(64, 1)]) {
    const token = `${header}.${base64url({})}.${signature.toString('base64url')}`
    await expect(jwtVerify(token, keySet)).rejects.toThrow('signature verification failed')
    const url = `/v1/projects/${name}/token-checks`
    const report = (await server.send('POST', url, { body: { token } })).json()
    expect(report).toMatchObject({ valid: false, reason: 'kid_unknown' })
  }
})
