import { createPublicKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { fetchJwks, newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { keyFor } from '../../support/keys/tokens.ts'

const server = await startApp()

const get = (url: string, headers: Record<string, string> = {}) => fetchJwks(server, headers, url)

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
  const inactive = await registerKey(server, { active: false }, keys)
  const answer = await get(`${folder}keys.pem`)
  expect(answer.body).toBe(`# kid ${first}, alg RS256\n${rsa}# kid a.b, alg EdDSA\n${edwards}`)
  expect(answer.headers['content-type']).toBe('application/x-pem-file')
  expect((await get(`/v1/projects/${id}/.well-known/keys.pem`)).body).toBe(answer.body)
  expect(createPublicKey(answer.body).asymmetricKeyType).toBe('rsa')
  expect((await get(`${folder}${first}.pem`)).body).toBe(rsa)
  expect((await get(`${folder}a.b.pem`)).body).toBe(edwards)
  expect((await get(`${folder}${second}.pem`)).body).toBe(lattice)
  for (const name of [inactive, 'a', 'b', 'no-active-key', crypto.randomUUID()]) {
    const missing = await get(`${folder}${name}.pem`)
    expect(missing.json()).toMatchObject({ status: 404, code: 'key_not_found' })
    expect(missing.headers['cache-control']).toBe('no-store')
    expect(missing.headers['access-control-allow-origin']).toBe('*')
  }
})

test('a kid with a slash is found when it is encoded', async () => {
  const { keys, folder } = await project()
  const { publicKeyPem } = keyFor('ES256')
  await registerKey(server, { publicKeyPem, publishedKid: 'arn:aws:kms/../x' }, keys)
  const encoded = encodeURIComponent('arn:aws:kms/../x')
  expect((await get(`${folder}${encoded}.pem`)).body).toBe(publicKeyPem)
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
