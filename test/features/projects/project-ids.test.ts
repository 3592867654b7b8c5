import { expect, test } from 'vitest'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { startApp } from '../../support/app/app.ts'

const id = '018f0000-0000-7000-8000-000000000001'

const server = await startApp()

const create = (body: object, apiKey?: string) =>
  server.send('POST', '/v1/projects', { body, ...(apiKey && { headers: { 'x-api-key': apiKey } }) })

test('a project that is moved here keeps its id, and so its issuer', async () => {
  const created = await create({ name: 'moved', id })
  expect(created.statusCode).toBe(201)
  expect(created.json()).toMatchObject({ name: 'moved', id, revision: 1 })
  const url = `/v1/projects/${id}/.well-known/openid-configuration`
  expect((await server.inject(url)).json().issuer).toMatch(new RegExp(`/v1/projects/${id}$`))
})

test('an id whose ledger exists is refused, after its project was deleted, too', async () => {
  const taken = { statusCode: 409, code: 'project_id_taken' }
  const other = async (body: object) => {
    const response = await create(body)
    return { statusCode: response.statusCode, code: response.json().code }
  }
  expect(await other({ name: 'twin', id })).toEqual(taken)
  expect((await server.send('DELETE', '/v1/projects/moved')).statusCode).toBe(204)
  expect(await other({ name: 'twin', id })).toEqual(taken)
  expect(await other({ name: 'moved', id: server.project.id })).toEqual(taken)
  expect((await server.send('GET', '/v1/projects/twin')).statusCode).toBe(404)
})

test('a dry run returns the project that would be created, and stores nothing', async () => {
  const tried = { name: 'tried', id: id.replace('8f0', '8f3') }
  for (const statusCode of [200, 200]) {
    const dry = await create({ ...tried, dryRun: true })
    expect(dry).toMatchObject({ statusCode })
    expect(dry.json()).toMatchObject({ ...tried, revision: 1 })
    expect(dry.headers).not.toHaveProperty('location')
  }
  expect((await server.send('GET', '/v1/projects/tried')).statusCode).toBe(404)
  expect((await create(tried)).statusCode).toBe(201)
  expect((await create({ ...tried, dryRun: true })).json().code).toBe('project_id_taken')
})

test('of creations of one id at once, one succeeds', async () => {
  const one = id.replace('8f0', '8f1')
  const names = ['a1', 'a2', 'a3', 'a4']
  const responses = await Promise.all(names.map((name) => create({ name, id: one })))
  expect(responses.map(({ statusCode }) => statusCode).sort()).toEqual([201, 409, 409, 409])
  const codes = responses.map((response) => response.json().code).filter(Boolean)
  expect(new Set(codes)).toEqual(new Set(['project_id_taken']))
})

test.each([systemLedgerId, id.toUpperCase(), 'x', ''])(
  '%j is no id for a project',
  async (wrong) => {
    const response = await create({ name: 'wrong', id: wrong })
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toMatchObject([{ pointer: '/id', code: 'id_invalid' }])
  },
)

test('only an admin of all projects chooses an id', async () => {
  const bound = await server.apiKey('admin', server.project.id)
  expect((await create({ name: 'bound', id: id.replace('8f0', '8f2') }, bound)).statusCode).toBe(
    403,
  )
})
