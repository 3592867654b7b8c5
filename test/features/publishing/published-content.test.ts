import { createPrivateKey, createPublicKey } from 'node:crypto'
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { fetchJwks, kidsOf, newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { fixture } from '../../support/keys/intake.ts'
import { keyFor } from '../../support/keys/tokens.ts'

const server = await startApp()

const get = (url: string, headers: Record<string, string> = {}) => fetchJwks(server, headers, url)

const members: Record<string, string[]> = {
  RSA: ['kty', 'use', 'kid', 'n', 'e', 'alg'],
  EC: ['kty', 'use', 'kid', 'crv', 'x', 'y', 'alg'],
  OKP: ['kty', 'use', 'kid', 'crv', 'x', 'alg'],
  AKP: ['kty', 'use', 'kid', 'alg', 'pub'],
}

describe('entries of the key set', () => {
  test('keys of every kind are in order of registration and have only their own members', async () => {
    const { keys, fullJwks } = await newProject(server, 'kinds')
    const algorithms = ['RSA', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA', 'ML-DSA-44'] as const
    const kids: string[] = []
    const modulus = expect.stringMatching(/^[g-z0-9_-][\w-]{341}$/)
    for (const algorithm of algorithms) {
      const { publicKeyPem } = keyFor(algorithm)
      kids.push(await registerKey(server, { name: 'secret label', algorithm, publicKeyPem }, keys))
    }
    const { body } = await get(fullJwks)
    const entries: Record<string, string>[] = JSON.parse(body).keys
    expect(kidsOf(body)).toEqual(kids)
    expect(entries.map(({ alg }) => alg)).toEqual(['RS256', ...algorithms.slice(1)])
    for (const entry of entries) {
      expect(Object.keys(entry)).toEqual(members[entry.kty ?? ''])
      expect(entry.use).toBe('sig')
      // The modulus has no leading zero byte and no padding.
      if (entry.kty === 'RSA') expect([entry.n, entry.e]).toEqual([modulus, 'AQAB'])
      expect(Object.values(entry).every((value) => typeof value === 'string' && value !== '')).toBe(
        true,
      )
    }
    expect(body).not.toMatch(/secret label|null|"(d|p|q|dp|dq|qi|k|x5c|x5t|x5u|key_ops)"/)
  })

  test('an ML-DSA key is in the full set alone, and changes nothing in the other', async () => {
    const { id, keys, jwks, fullJwks } = await newProject(server, 'post-quantum')
    const common = await registerKey(server, {}, keys)
    const before = await get(jwks)
    expect((await get(fullJwks)).body).toBe(before.body)
    const { publicKeyPem } = keyFor('ML-DSA-65')
    const other = await registerKey(server, { algorithm: 'ML-DSA-65', publicKeyPem }, keys)
    const after = await get(jwks)
    expect([after.body, after.headers.etag]).toEqual([before.body, before.headers.etag])
    const full = await get(`/v1/projects/${id}/.well-known/jwks-full.json`)
    expect(kidsOf(full.body)).toEqual([common, other])
    expect(full.headers.etag).not.toBe(after.headers.etag)
    const discovery = await get(`/v1/projects/${id}/.well-known/openid-configuration`)
    expect(discovery.body).not.toContain('ML-DSA-65')
  })

  test.each([
    ['p256', 'y', 'ES256', 43],
    ['p384', 'y', 'ES384', 64],
    ['p521', 'x', 'ES512', 88],
  ])(
    '%s with leading zeros in %s: full length, and a token verifies',
    async (curve, axis, alg, length) => {
      const { keys, jwks } = await newProject(server, `short-${curve}-${axis}`)
      const file = `material/ec_${curve}_short_${axis}`
      const publicKeyPem = fixture(`${file}.pem`)
      const kid = await registerKey(server, { algorithm: alg, publicKeyPem }, keys)
      const [entry] = (await get(jwks)).json().keys
      expect([entry.x.length, entry.y.length]).toEqual([length, length])
      expect(Buffer.from(entry[axis], 'base64url')[0]).toBe(0)
      const token = await new SignJWT({})
        .setProtectedHeader({ alg, kid })
        .sign(createPrivateKey(fixture(`${file}.key`)))
      const verified = await jwtVerify(token, createLocalJWKSet((await get(jwks)).json()))
      expect(verified.protectedHeader.kid).toBe(kid)
    },
  )
})

describe('discovery', () => {
  test('is complete, and lists every algorithm that a key may get', async () => {
    const { id, keys } = await newProject(server, 'found')
    const { publicKeyPem } = keyFor('ES384')
    await registerKey(server, { algorithm: 'ES384', publicKeyPem }, keys)
    await registerKey(server, { active: false }, keys)
    const issuer = `${publicUrl}/v1/projects/${id}`
    const answer = await get(`/v1/projects/${id}/.well-known/openid-configuration`)
    const { jwks_uri } = answer.json()
    expect((await get(jwks_uri.slice(publicUrl.length))).body).toContain('"alg":"ES384"')
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.json()).toEqual({
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [
        ...['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA'],
        ...['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
      ],
    })
  })

  test('lists the algorithms that the server allows, and takes no keys for others', async () => {
    const { database } = server
    const narrow = await startApp({ database, config: { algorithms: ['PS256', 'ML-DSA-44'] } })
    const discovery = async (id: string) =>
      (await narrow.inject(`/v1/projects/${id}/.well-known/openid-configuration`)).json()
    const { id, name } = await newProject(narrow, 'narrow')
    const { id_token_signing_alg_values_supported: listed } = await discovery(id)
    expect(listed).toEqual(['PS256', 'RS256'])
    const { publicKeyPem } = keyFor('RS256')
    const create = (algorithm: string) => {
      const body = { name: 'n', algorithm, publicKeyPem }
      return narrow.send('POST', `/v1/projects/${name}/jwt-keys`, { body })
    }
    const refused = await create('RSA')
    expect(refused.json()).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/algorithm', code: 'algorithm_not_allowed' }],
    })
    expect(refused.json().detail).toContain('PS256, ML-DSA-44 only')
    expect((await create('PS256')).statusCode).toBe(201)
    const older = await newProject(server, 'older')
    await registerKey(server, {}, older.keys)
    const { id_token_signing_alg_values_supported: all } = await discovery(older.id)
    expect(all).toEqual(['ES256', 'PS256', 'RS256'])
  })

  test('by name is a 404 that explains it', async () => {
    const answer = await get('/v1/projects/payments/.well-known/openid-configuration')
    expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found' })
    expect(answer.json().detail).toContain('by project id only')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  })
})

let projects = 0
async function project() {
  projects += 1
  const created = await newProject(server, `pem-${projects}`)
  return { ...created, folder: created.jwks.replace(/jwks\.json$/, '') }
}

test('keys.pem has the keys of jwks.json in order, each with its kid and alg', async () => {
  const { id, keys, folder } = await project()
  const pairs = [keyFor('RS256'), keyFor('ML-DSA-44'), keyFor('EdDSA')]
  const [rsa, lattice, edwards] = pairs.map(({ publicKeyPem }) => publicKeyPem)
  const first = await registerKey(server, { algorithm: 'RSA', publicKeyPem: String(rsa) }, keys)
  const dilithium = { algorithm: 'ML-DSA-44', publicKeyPem: String(lattice) }
  const second = await registerKey(server, dilithium, keys)
  const okp = { algorithm: 'EdDSA', publicKeyPem: String(edwards), publishedKid: 'a.b' }
  await registerKey(server, okp, keys)
  const { publicKeyPem } = keyFor('ML-DSA-44')
  const slash = { algorithm: 'ML-DSA-44', publicKeyPem, publishedKid: 'arn:aws:kms/../x' }
  await registerKey(server, slash, keys)
  const inactive = await registerKey(server, { active: false }, keys)
  const answer = await get(`${folder}keys.pem`)
  expect(answer.body).toBe(`# kid ${first}, alg RS256\n${rsa}# kid a.b, alg EdDSA\n${edwards}`)
  expect(answer.headers['content-type']).toBe('application/x-pem-file')
  expect((await get(`/v1/projects/${id}/.well-known/keys.pem`)).body).toBe(answer.body)
  expect(createPublicKey(answer.body).asymmetricKeyType).toBe('rsa')
  expect((await get(`${folder}${first}.pem`)).body).toBe(rsa)
  expect((await get(`${folder}a.b.pem`)).body).toBe(edwards)
  expect((await get(`${folder}${second}.pem`)).body).toBe(lattice)
  const encoded = encodeURIComponent(slash.publishedKid)
  expect((await get(`${folder}${encoded}.pem`)).body).toBe(publicKeyPem)
  for (const name of [inactive, 'a', 'b', 'no-active-key', crypto.randomUUID()]) {
    const missing = await get(`${folder}${name}.pem`)
    expect(missing.json()).toMatchObject({ status: 404, code: 'key_not_found' })
    expect(missing.headers['cache-control']).toBe('no-store')
    expect(missing.headers['access-control-allow-origin']).toBe('*')
  }
})

test('both are cached as the key set is, and change with it at once', async () => {
  const { keys, folder } = await project()
  const kid = await registerKey(server, {}, keys)
  for (const url of [`${folder}keys.pem`, `${folder}${kid}.pem`]) {
    const { headers } = await get(url)
    expect(headers['cache-control']).toBe('public, max-age=60')
    expect(headers['access-control-allow-origin']).toBe('*')
    const again = await get(url, { 'if-none-match': String(headers.etag) })
    expect(again.statusCode).toBe(304)
    for (let n = 0; n < 3; n += 1) expect((await get(url)).statusCode).toBe(200)
  }
  await patchKey(server, kid, { active: false }, keys)
  expect((await get(`${folder}keys.pem`)).body).toBe('# No key is active.\n')
  expect((await get(`${folder}${kid}.pem`)).statusCode).toBe(404)
})
