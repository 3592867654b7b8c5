import { expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'

const server = await startApp()
const { project } = server
const headers = { 'x-api-key': await server.apiKey('auditor') }
const read = (url: string) => server.send('GET', url, { headers })

test('an auditor reads what an admin reads, the ledger of a deleted project included', async () => {
  const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'gone' } })).json()
  await server.send('DELETE', '/v1/projects/gone')
  const boundKey = await server.apiKey('reader', project.id)
  await server.send('POST', '/v1/sessions', { headers: { 'x-api-key': boundKey } })
  const lists = ['/v1/history', '/v1/events', '/v1/api-keys', '/v1/access-rules']
  for (const url of [...lists, '/v1/sessions', `/v1/projects/${id}/events`]) {
    const found = (await read(url)).json()
    expect(found).toEqual((await server.send('GET', url)).json())
    expect(found.length > 0).toBe(url !== '/v1/access-rules')
  }
  const [session] = (await read('/v1/sessions')).json()
  const ended = await server.send('DELETE', `/v1/sessions/${session.id}`, { headers })
  expect(ended.json().code).toBe('insufficient_role')
})

test('an auditor is made by an admin of all projects, for all projects', async () => {
  const body = { name: 'n', role: 'auditor' }
  const bound = { ...body, project: project.id }
  const ofOne = { 'x-api-key': await server.apiKey('admin', project.id) }
  const refused = await server.send('POST', '/v1/api-keys', { body: bound })
  expect(refused.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
  for (const caller of [ofOne, headers]) {
    const wider = await server.send('POST', '/v1/api-keys', { headers: caller, body })
    expect(wider.json().code).toBe('insufficient_role')
  }
  const key = await server.send('POST', '/v1/api-keys', { body: { ...bound, role: 'reader' } })
  const url = `/v1/api-keys/${key.json().id}`
  const patched = await server.send('PATCH', url, { headers: ofOne, body: { role: 'auditor' } })
  expect(patched.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
})
