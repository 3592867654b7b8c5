import { expect, test } from 'vitest'
import { startKeyChanges } from '../../support/app/key-changes.ts'
import { keyUrl, newProject, registerKey } from '../../support/app/keys.ts'
import { convergenceMs } from '../../support/app/rotations.ts'

const server = await startKeyChanges()

async function rolesOf(project: string) {
  const response = await server.send('GET', `/v1/projects/${project}/key-roles`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

test('a new key spreads until its convergedTime, and is current from then on', async () => {
  const kid = await registerKey(server)
  const first = await server.send('GET', keyUrl(kid))
  const { role, convergedTime } = first.json().details
  expect(role).toBe('spreading')
  expect(await rolesOf('payments')).toContainEqual({ kid, role: 'spreading', convergedTime })
  server.clock.advance(convergenceMs)
  const second = await server.send('GET', keyUrl(kid), {
    headers: { 'if-none-match': String(first.headers.etag) },
  })
  expect(second.statusCode).toBe(200)
  expect(second.json().details.role).toBe('current')
  expect(await rolesOf('payments')).toContainEqual({ kid, role: 'current' })
})

test('a key that is read before it is current can be changed afterwards', async () => {
  const kid = await registerKey(server)
  const { headers } = await server.send('GET', keyUrl(kid))
  server.clock.advance(convergenceMs)
  const changed = await server.send('PATCH', keyUrl(kid), {
    body: { label: 'renamed' },
    headers: { 'if-match': String(headers.etag) },
  })
  expect(changed.statusCode, changed.body).toBe(200)
  expect(changed.json().details.role).toBe('current')
})

test('a deactivated key is off, and an expired one expired, whether it is on or off', async () => {
  const { name, keys } = await newProject(server, 'ended')
  const off = await registerKey(server, { active: false }, keys)
  const expireTime = server.inFuture(5_000)
  const expired = await registerKey(server, { expireTime }, keys)
  const both = await registerKey(server, { expireTime, active: false }, keys)
  server.clock.advance(5_000)
  expect(await rolesOf(name)).toEqual([
    { kid: off, role: 'off' },
    { kid: expired, role: 'expired' },
    { kid: both, role: 'expired' },
  ])
})

test('the roles are for readers of the project alone, in the order of its list', async () => {
  const { id, name, keys } = await newProject(server, 'read')
  const kids = [await registerKey(server, {}, keys), await registerKey(server, {}, keys)]
  const reader = await server.apiKey('reader', id)
  const foreign = await server.apiKey('admin', server.project.id)
  const url = `/v1/projects/${name}/key-roles`
  const read = await server.send('GET', url, { headers: { 'x-api-key': reader } })
  expect(read.json().map(({ kid }: { kid: string }) => kid)).toEqual(kids)
  const refused = await server.send('GET', url, { headers: { 'x-api-key': foreign } })
  expect(refused.json().code).toBe('project_not_found')
})
