import { describe, expect, test } from 'vitest'
import { createClient, PubringError } from '../../packages/client/src/index.ts'
import { startApp } from '../support/app/app.ts'
import { ecKey, edKey } from '../support/keys/pem.ts'
import { signToken } from '../support/keys/tokens.ts'
import { rememberSecret } from '../support/secrets.ts'

const server = await startApp()
const client = createClient({ url: await server.listen(), apiKey: server.admin })

const project = 'payments'
const absent = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'
const register = async (name = 'spring') => {
  const key = ecKey()
  const body = { name, algorithm: 'ES256', publicKeyPem: key.publicKeyPem } as const
  return { ...key, ...(await client.keys.create(project, body)) }
}

describe('projects', () => {
  test('are created, read, renamed and deleted', async () => {
    const made = await client.projects.create({ name: 'Orders' })
    expect(made).toMatchObject({ name: 'orders', revision: 1 })
    expect(await client.projects.get('orders')).toEqual(made)
    const renamed = await client.projects.rename(made.id, 'shop')
    expect(renamed).toMatchObject({ id: made.id, name: 'shop', revision: 2 })
    expect(await client.projects.delete('shop')).toBeUndefined()
    const gone = { code: 'project_not_found', status: 404 }
    await expect(client.projects.get(made.id)).rejects.toMatchObject(gone)
  })

  test('are listed page by page, and all together', async () => {
    for (const name of ['a', 'b', 'c']) await client.projects.create({ name })
    const first = await client.projects.list({ limit: 3 })
    expect(first.items.map(({ name }) => name)).toEqual([project, 'a', 'b'])
    const second = await client.projects.list({ limit: 3, after: first.next ?? '' })
    expect(second.items.map(({ name }) => name)).toEqual(['c'])
    expect(second).not.toHaveProperty('next')
    const all = await Array.fromAsync(client.projects.all(), ({ name }) => name)
    expect(all).toEqual([project, 'a', 'b', 'c'])
  })

  test('are all listed if there is more than one page', async () => {
    for (let number = 0; number < 201; number += 1) {
      await client.projects.create({ name: `many-${number}` })
    }
    const all = await Array.fromAsync(client.projects.all(), ({ id }) => id)
    expect(new Set(all).size).toBe(205)
  })

  test('fail to be created with a taken name, and to be deleted with keys', async () => {
    const taken = client.projects.create({ name: project })
    await expect(taken).rejects.toMatchObject({ code: 'project_name_taken', status: 409 })
    await register()
    const full = client.projects.delete(project)
    await expect(full).rejects.toMatchObject({ code: 'project_not_empty', status: 409 })
  })
})

describe('keys', () => {
  test('are registered, read, changed and deleted', async () => {
    const { kid, publicKeyPem } = await register('summer')
    const key = await client.keys.get(project, kid)
    expect(key).toMatchObject({ id: kid, label: 'summer', publicKeyPem, active: true })
    expect(key.details).toMatchObject({ kty: 'EC', crv: 'P-256', jwsAlgorithm: 'ES256' })
    expect((await client.keys.list(project)).map(({ id }) => id)).toContain(kid)
    const off = await client.keys.update(project, kid, { active: false, label: 'old' })
    expect(off).toMatchObject({ id: kid, label: 'old', active: false })
    const active = await client.keys.list(project, { active: true })
    expect(active.map(({ id }) => id)).not.toContain(kid)
    expect(await client.keys.delete(project, kid)).toBeUndefined()
    await expect(client.keys.get(project, kid)).rejects.toMatchObject({ code: 'key_not_found' })
  })

  test('cannot be deleted while they are active', async () => {
    const { kid } = await register()
    const error = { code: 'key_active', status: 409 }
    await expect(client.keys.delete(project, kid)).rejects.toMatchObject(error)
  })

  test('are not changed if the If-Match does not match', async () => {
    const { kid } = await register()
    const stale = { ifMatch: '"another"' }
    const error = { code: 'precondition_failed', status: 412 }
    const update = client.keys.update(project, kid, { active: false }, stale)
    await expect(update).rejects.toMatchObject(error)
    await expect(client.keys.delete(project, kid, stale)).rejects.toMatchObject(error)
    expect((await client.keys.get(project, kid)).active).toBe(true)
  })

  test('cannot be registered twice: the error has the existing kid', async () => {
    const { kid, publicKeyPem } = await register()
    const body = { name: 'again', algorithm: 'ES256', publicKeyPem } as const
    const error = await client.keys.create(project, body).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(PubringError)
    expect(error).toMatchObject({ code: 'duplicate_key', status: 409, problem: { kid } })
    expect(error.requestId).toBe(error.problem.requestId)
  })

  test('are imported together, and a repeated import changes nothing', async () => {
    const keys = [ecKey(), edKey()].map(({ publicKeyPem }, index) => ({
      name: `import ${index}`,
      algorithm: index === 0 ? ('ES256' as const) : ('EdDSA' as const),
      publicKeyPem,
    }))
    const tried = await client.keys.import(project, { keys, dryRun: true })
    expect(tried).toMatchObject({ created: 2, present: 0 })
    const done = await client.keys.import(project, { keys })
    expect(done).toMatchObject({ created: 2, present: 0 })
    const again = await client.keys.import(project, { keys })
    expect(again).toMatchObject({ created: 0, present: 2 })
    expect(again.items.map(({ kid }) => kid)).toEqual(done.items.map(({ kid }) => kid))
  })

  test('are checked without being stored', async () => {
    const { publicKeyPem } = ecKey()
    const before = (await client.keys.list(project)).length
    const good = await client.keys.check({ publicKeyPem, algorithm: 'ES256' })
    expect(good).toMatchObject({ accepted: true, publicKeyPem })
    const bad = await client.keys.check({ publicKeyPem, algorithm: 'ES384' })
    expect(bad).toMatchObject({ accepted: false, problem: 'algorithm_mismatch' })
    expect((await client.keys.list(project)).length).toBe(before)
  })
})

describe('tokens', () => {
  test('are checked, with the reason of a failure', async () => {
    const { kid, privateKey } = await register()
    const { issuer } = await client.jwks.discovery(server.project.id)
    const token = signToken(privateKey, { alg: 'ES256', kid }, { iss: issuer })
    expect(await client.tokens.check(project, { token })).toMatchObject({ valid: true })
    const elsewhere = await client.tokens.check(project, { token, audience: 'orders' })
    expect(elsewhere).toMatchObject({ valid: false, reason: 'audience_mismatch' })
  })
})

describe('API keys', () => {
  test('are created, listed, changed and revoked', async () => {
    const made = await client.apiKeys.create({ name: 'deploy', role: 'writer', project })
    rememberSecret('an API key', made.apiKey)
    expect(made).toMatchObject({ role: 'writer', projectId: server.project.id })
    const bound = createClient({ url: client.url, apiKey: made.apiKey })
    expect(await bound.apiKeys.self()).toMatchObject({ id: made.id, name: 'deploy' })
    const low = bound.projects.create({ name: 'more' })
    await expect(low).rejects.toMatchObject({ code: 'insufficient_role', status: 403 })
    expect((await client.apiKeys.list()).map(({ id }) => id)).toContain(made.id)
    const off = await client.apiKeys.update(made.id, { active: false })
    expect(off).toMatchObject({ id: made.id, active: false })
    expect(await client.apiKeys.get(made.id)).toMatchObject({ active: false })
    await expect(bound.apiKeys.self()).rejects.toMatchObject({ code: 'invalid_api_key' })
    expect(await client.apiKeys.delete(made.id)).toBeUndefined()
    const gone = { code: 'api_key_not_found', status: 404 }
    await expect(client.apiKeys.get(absent)).rejects.toMatchObject(gone)
  })
})

describe('events', () => {
  test('of a project and of the system are listed after a revision', async () => {
    const { id } = await client.projects.create({ name: 'ledger' })
    await client.projects.rename(id, 'ledger-2')
    const events = await client.events.list({ project: id })
    expect(events.map(({ type }) => type)).toEqual(['project.created', 'project.renamed'])
    expect(await client.events.list({ project: id, after: 1 })).toEqual(events.slice(1))
    const system = await client.events.list({ limit: 1 })
    expect(system).toMatchObject([{ revision: 1 }])
  })
})

describe('the published documents', () => {
  test('are read without the API key', async () => {
    const { kid } = await register()
    const jwks = await client.jwks.get(project)
    expect(jwks.keys.find((jwk) => jwk.kid === kid)).toMatchObject({ kty: 'EC', alg: 'ES256' })
    const history = await client.jwks.history(project)
    expect(history.keys.find((jwk) => jwk.kid === kid)).toMatchObject({ kty: 'EC', alg: 'ES256' })
    const { issuer } = await client.jwks.discovery(server.project.id)
    expect(issuer).toMatch(new RegExp(`/v1/projects/${server.project.id}$`))
    const byName = client.jwks.discovery(project)
    await expect(byName).rejects.toMatchObject({ code: 'route_not_found', status: 404 })
    const revoked = createClient({ url: client.url, apiKey: 'wrong' })
    expect(await revoked.jwks.get(project)).toEqual(jwks)
  })
})

test('the error for an invalid body points to the member', async () => {
  const wrong = JSON.parse('{"name":"x","algorithm":"ES256"}')
  const error = await client.keys.create(project, wrong).catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'invalid_request', status: 400 })
  expect(error.problem.errors).toMatchObject([{ pointer: '/publicKeyPem' }])
})
