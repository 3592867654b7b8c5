import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { rsaKey } from '../../support/keys/pem.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const isoUtc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/
const { publicKeyPem } = rsaKey()
const body = { name: 'orders service', algorithm: 'RSA', publicKeyPem }

const server = await startApp()
const keys = `/v1/projects/${server.project.id}/jwt-keys`
const kid: string = (await server.send('POST', keys, { body })).json().kid
await server.send('POST', keys, {
  body: { ...body, name: 'off', publicKeyPem: rsaKey().publicKeyPem, active: false },
})

const listed = async () => (await server.send('GET', keys)).json()
const fresh = () => ({ ...body, publicKeyPem: rsaKey().publicKeyPem })

describe('create a JWT key', () => {
  test('POST /v1/projects/{projectIdOrName}/jwt-keys answers 201', async () => {
    const answer = await server.send('POST', keys, { body: fresh() })
    expect(answer.statusCode).toBe(201)
  })

  test('projectIdOrName may be the id', () => expect(kid).toMatch(uuid))

  test('projectIdOrName may be the name', async () => {
    const url = `/v1/projects/${server.project.name}/jwt-keys`
    const answer = await server.send('POST', url, { body: fresh() })
    expect(answer.statusCode).toBe(201)
  })

  test('Content-Type: application/json is what the body has', async () => {
    const headers = { 'content-type': 'application/json' }
    const answer = await server.send('POST', keys, { body: fresh(), headers })
    expect(answer.statusCode).toBe(201)
  })

  test('X-Api-Key is required', async () => {
    const headers = { 'x-api-key': '' }
    const answer = await server.send('POST', keys, { body: fresh(), headers })
    expect(answer.statusCode).toBe(401)
  })

  test.each(['name', 'algorithm', 'publicKeyPem'])('the body has %s', async (field) => {
    const { [field]: _left, ...rest }: Record<string, string> = fresh()
    const answer = await server.send('POST', keys, { body: rest })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors).toMatchObject([{ pointer: `/${field}`, code: 'required' }])
  })

  test('the algorithm RSA is taken', async () => {
    expect((await listed())[0].algorithm).toBe('RSA')
  })

  test('the answer is application/json', async () => {
    const answer = await server.send('POST', keys, { body: fresh() })
    expect(answer.headers['content-type']).toBe('application/json')
  })

  test('the answer is an object with the kid, a UUID, and nothing else', async () => {
    const answer = await server.send('POST', keys, { body: fresh() })
    expect(answer.json()).toEqual({ kid: expect.stringMatching(uuid) })
  })
})

describe('list the JWT keys of a project', () => {
  test('GET /v1/projects/{projectIdOrName}/jwt-keys answers 200 with a JSON array', async () => {
    const answer = await server.send('GET', keys)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(Array.isArray(answer.json())).toBe(true)
  })

  test.each(['id', 'name'] as const)('projectIdOrName may be the %s', async (which) => {
    const answer = await server.send('GET', `/v1/projects/${server.project[which]}/jwt-keys`)
    expect(answer.json()[0].id).toBe(kid)
  })

  test('X-Api-Key is required', async () => {
    const answer = await server.send('GET', keys, { headers: { 'x-api-key': '' } })
    expect(answer.statusCode).toBe(401)
  })

  test('without the filter it has active and inactive keys', async () => {
    const states = (await listed()).map((key: { active: boolean }) => key.active)
    expect(new Set(states)).toEqual(new Set([true, false]))
  })

  test('the filter restricts it to active keys', async () => {
    const found = (await server.send('GET', `${keys}?active=true`)).json()
    expect(found.length).toBe((await listed()).length - 1)
    expect(found.every((key: { active: boolean }) => key.active)).toBe(true)
  })

  test('a project without keys has an empty array', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'empty' } })
    const answer = await server.send('GET', '/v1/projects/empty/jwt-keys')
    expect(answer.body).toBe('[]')
  })

  test('it has keys of its own project alone', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'other' } })
    await server.send('POST', '/v1/projects/other/jwt-keys', { body: fresh() })
    const owners = (await listed()).map((key: { projectId: string }) => key.projectId)
    expect(new Set(owners)).toEqual(new Set([server.project.id]))
  })
})

describe('a JWT key in the list', () => {
  test('has exactly the eight fields', async () => {
    expect(Object.keys((await listed())[0])).toEqual([
      'id',
      'projectId',
      'label',
      'algorithm',
      'publicKeyPem',
      'active',
      'createTime',
      'updateTime',
    ])
  })

  test('id is the kid of the create', async () => expect((await listed())[0].id).toBe(kid))

  test('projectId is the id of the project', async () =>
    expect((await listed())[0].projectId).toBe(server.project.id))

  test('label is the name of the create', async () =>
    expect((await listed())[0].label).toBe('orders service'))

  test('algorithm is as it was sent', async () => expect((await listed())[0].algorithm).toBe('RSA'))

  test('publicKeyPem is the key, as a PUBLIC KEY block with line feeds', async () => {
    const pem: string = (await listed())[0].publicKeyPem
    expect(pem).toMatch(/^-----BEGIN PUBLIC KEY-----\n[\s\S]+\n-----END PUBLIC KEY-----\n$/)
    expect(createPublicKey(pem).equals(createPublicKey(publicKeyPem))).toBe(true)
  })

  test('active is a boolean, true for a new key', async () =>
    expect((await listed())[0].active).toBe(true))

  test.each(['createTime', 'updateTime'])('%s is ISO 8601 in UTC', async (field) =>
    expect((await listed())[0][field]).toMatch(isoUtc),
  )
})

describe('versioning', () => {
  test('the path begins with v1: without it there is nothing', async () => {
    const answer = await server.send('GET', keys.replace('/v1', ''))
    expect(answer.statusCode).toBe(404)
    expect(answer.json().code).toBe('route_not_found')
  })
})
