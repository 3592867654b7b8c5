import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'

const server = await startApp()
const { project } = server
const headers = { 'x-api-key': await server.apiKey('auditor') }
const read = (url: string) => server.send('GET', url, { headers })

describe('an auditor', () => {
  test('reads the history, API keys, sessions and rules of all, as an admin does', async () => {
    const boundKey = await server.apiKey('reader', project.id)
    await server.send('POST', '/v1/sessions', { headers: { 'x-api-key': boundKey } })
    for (const url of ['/v1/history', '/v1/events', '/v1/api-keys', '/v1/access-rules']) {
      expect((await read(url)).json()).toEqual((await server.send('GET', url)).json())
    }
    const ids = (answer: { json(): { id: string }[] }) => answer.json().map(({ id }) => id)
    const all = await server.send('GET', '/v1/sessions')
    expect(ids(await read('/v1/sessions'))).toEqual(ids(all))
    const [first = ''] = ids(all)
    const ended = await server.send('DELETE', `/v1/sessions/${first}`, { headers })
    expect([ended.statusCode, ended.json().code]).toEqual([403, 'insufficient_role'])
  })

  test('reads the ledger of a deleted project by its id', async () => {
    const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'gone' } })).json()
    await server.send('DELETE', '/v1/projects/gone')
    expect((await read(`/v1/projects/${id}/events`)).json()).toHaveLength(2)
  })

  test('checks a key, and registers none', async () => {
    const { publicKeyPem } = ecKey()
    const check = await server.send('POST', '/v1/key-checks', { headers, body: { publicKeyPem } })
    expect(check.json()).toMatchObject({ accepted: true })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem }
    const refused = await server.send('POST', `/v1/projects/${project.id}/jwt-keys`, {
      headers,
      body,
    })
    expect(refused.json().code).toBe('insufficient_role')
  })

  test('is made by an admin of all projects, for all projects', async () => {
    const body = { name: 'n', role: 'auditor' }
    const bound = { ...body, project: project.id }
    const refused = await server.send('POST', '/v1/api-keys', { body: bound })
    expect(refused.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
    const ofOne = { 'x-api-key': await server.apiKey('admin', project.id) }
    const wider = await server.send('POST', '/v1/api-keys', { headers: ofOne, body })
    expect(wider.json().code).toBe('insufficient_role')
    const key = await server.send('POST', '/v1/api-keys', { body: { ...bound, role: 'reader' } })
    const patched = await server.send('PATCH', `/v1/api-keys/${key.json().id}`, {
      headers: ofOne,
      body: { role: 'auditor' },
    })
    expect(patched.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
    const own = await server.send('POST', '/v1/api-keys', { headers, body })
    expect(own.json().code).toBe('insufficient_role')
  })
})
