import { expect, test } from 'vitest'
import { keyToRow } from '../../../packages/server/src/features/keys/stored.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
  secretPrefix,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { fetchJwks, kidsOf, newProject, registerKey } from '../../support/app/keys.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { keyRecord } from '../../support/store/key-records.ts'

const server = await startApp()

const insert = (table: string, row: Record<string, unknown>) => {
  const values = Object.values(row) as (string | number | null)[]
  const marks = values.map(() => '?').join(', ')
  const columns = Object.keys(row).join(', ')
  return server.database.execute(`insert into ${table} (${columns}) values (${marks})`, ...values)
}

test('an API key that was inserted, or got rights or a secret, by SQL gets the 401 of an unknown one', async () => {
  const unknown = await server.send('GET', '/v1/api-keys', {
    headers: { 'x-api-key': rememberSecret('a secret', newApiKeySecret()) },
  })
  expect(unknown.statusCode).toBe(401)
  const mine = rememberSecret('a secret', newApiKeySecret())
  const row = { role: 'admin', prefix: secretPrefix(mine), digest: apiKeyDigest(mine), enabled: 1 }
  const id = newId()
  await insert('api_key', { id, name: 'mine', ...row, create_time: new Date().toISOString() })
  const promoted = await server.apiKey('reader', server.project.id)
  await server.database.execute(
    "update api_key set role = 'admin', project_id = null where digest = ?",
    apiKeyDigest(promoted),
  )
  for (const secret of [mine, promoted]) {
    const sent = await server.send('GET', '/v1/api-keys', { headers: { 'x-api-key': secret } })
    expect(sent.statusCode).toBe(401)
    const { requestId: _one, ...problem } = sent.json()
    const { requestId: _other, ...expected } = unknown.json()
    expect(problem).toEqual(expected)
  }
  const listed = (await server.send('GET', '/v1/api-keys')).json()
  expect(listed.find((apiKey: { id: string }) => apiKey.id === id)).toMatchObject({ active: false })
  expect(JSON.stringify(listed)).not.toContain('contradicted')
  expect((await server.send('DELETE', `/v1/api-keys/${id}`)).statusCode).toBe(204)
})

test('a caller whose row got rights after it was authenticated does not get them', async () => {
  const secret = await server.apiKey('admin', server.project.id)
  const headers = { 'x-api-key': secret }
  expect((await server.send('GET', '/v1/api-keys', { headers })).statusCode).toBe(200)
  const widen = 'update api_key set project_id = null where digest = ?'
  await server.database.execute(widen, apiKeyDigest(secret))
  const body = { name: 'wider', role: 'admin' }
  const sent = await server.send('POST', '/v1/api-keys', { headers, body })
  expect([401, 403]).toContain(sent.statusCode)
})

test('a session that was changed by SQL shows no member of its record that is not public', async () => {
  const created = await server.send('POST', '/v1/sessions', { body: {} })
  const { id } = created.json()
  await server.database.execute("update session set sign_in_time = '2026-01-01' where id = ?", id)
  const listed: { id: string }[] = (await server.send('GET', '/v1/sessions')).json()
  const shown = listed.find((session) => session.id === id)
  expect(Object.keys(shown ?? {}).toSorted()).toEqual(Object.keys(created.json()).toSorted())
})

test('a key that was inserted by SQL is not published, is listed as inactive, and can only be deleted', async () => {
  const { id, keys, jwks } = await newProject(server, 'inserted')
  const kid = await registerKey(server, {}, keys)
  const { id: mine, ...others } = keyRecord(id)
  await insert('jwt_key', { ...keyToRow({ id: mine, ...others }) })
  await server.send('PATCH', `${keys}/${kid}`, { body: { label: 'changed' } })
  expect(kidsOf((await fetchJwks(server, {}, jwks)).body)).toEqual([kid])
  const discovery = await server.inject(`/v1/projects/${id}/.well-known/openid-configuration`)
  expect(discovery.statusCode).toBe(200)
  const one = await server.send('GET', `${keys}/${mine}`)
  expect(one.json()).toMatchObject({ active: false })
  expect((await server.send('GET', `${keys}?active=true`)).json()).toHaveLength(1)
  const changed = await server.send('PATCH', `${keys}/${mine}`, { body: { active: true } })
  expect(changed.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
  expect((await server.send('DELETE', `${keys}/${mine}`)).statusCode).toBe(204)
})

test('a project that was renamed by SQL is served under no name', async () => {
  const { id, jwks } = await newProject(server, 'renamed')
  await server.database.execute("update project set name = 'mine' where id = ?", id)
  expect((await fetchJwks(server, {}, jwks.replace('renamed', 'mine'))).statusCode).toBe(503)
  const sent = await server.send('GET', `/v1/projects/${id}`)
  expect(sent.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
})
