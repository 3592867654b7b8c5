import { createPublicKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { rsaKey } from '../../support/keys/pem.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const isoUtc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/
const newKey = () => ({
  name: 'orders service',
  algorithm: 'RSA',
  publicKeyPem: rsaKey().publicKeyPem,
})

const server = await startApp()
const { id, name } = server.project
const keysOf = (project: string) => `/v1/projects/${project}/jwt-keys`
const body = newKey()
const created = await server.send('POST', keysOf(id), { body })
await server.send('POST', keysOf(name), { body: { ...newKey(), active: false } })
await server.send('POST', '/v1/projects', { body: { name: 'other' } })
await server.send('POST', keysOf('other'), { body: newKey() })

test('a key is created by 201 with its kid, a UUID, and nothing else', () => {
  expect(created.statusCode).toBe(201)
  expect(created.headers['content-type']).toBe('application/json')
  expect(created.json()).toEqual({ kid: expect.stringMatching(uuid) })
})

test.each(['POST', 'GET'] as const)('%s requires X-Api-Key', async (method) => {
  const headers = { 'x-api-key': '' }
  const request = method === 'POST' ? { headers, body: newKey() } : { headers }
  expect((await server.send(method, keysOf(id), request)).statusCode).toBe(401)
})

test.each(['name', 'algorithm', 'publicKeyPem'])('the body has %s', async (field) => {
  const { [field]: _left, ...rest }: Record<string, string> = newKey()
  const answer = await server.send('POST', keysOf(id), { body: rest })
  expect(answer.statusCode).toBe(400)
  expect(answer.json().errors).toMatchObject([{ pointer: `/${field}`, code: 'required' }])
})

test.each([id, name])('the list of a project, by id and by name, has its keys: %s', async (ref) => {
  const answer = await server.send('GET', keysOf(ref))
  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-type']).toBe('application/json')
  const [key, inactive, ...others] = answer.json()
  expect(others).toEqual([])
  expect(inactive).toMatchObject({ projectId: id, active: false })
  expect(Object.keys(key)).toEqual([
    'id',
    'projectId',
    'label',
    'algorithm',
    'publicKeyPem',
    'active',
    'createTime',
    'updateTime',
  ])
  expect(key).toEqual({
    id: created.json().kid,
    projectId: id,
    label: 'orders service',
    algorithm: 'RSA',
    publicKeyPem: expect.stringMatching(
      /^-----BEGIN PUBLIC KEY-----\n[\s\S]+\n-----END PUBLIC KEY-----\n$/,
    ),
    active: true,
    createTime: expect.stringMatching(isoUtc),
    updateTime: expect.stringMatching(isoUtc),
  })
  expect(createPublicKey(key.publicKeyPem).equals(createPublicKey(body.publicKeyPem))).toBe(true)
})

test('the filter restricts the list to active keys', async () => {
  const found = (await server.send('GET', `${keysOf(id)}?active=true`)).json()
  expect(found).toMatchObject([{ id: created.json().kid, active: true }])
})

test('a project without keys has an empty array', async () => {
  await server.send('POST', '/v1/projects', { body: { name: 'empty' } })
  expect((await server.send('GET', keysOf('empty'))).body).toBe('[]')
})

test('the path begins with v1: without it there is nothing', async () => {
  const answer = await server.send('GET', keysOf(id).replace('/v1', ''))
  expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found' })
})
