import { expect, test } from 'vitest'
import { startKeyChanges } from '../../support/app/key-changes.ts'
import { keyUrl, newProject, registerKey } from '../../support/app/keys.ts'
import { convergenceMs } from '../../support/app/rotations.ts'

const server = await startKeyChanges()

async function statesOf(project: string) {
  const response = await server.send('GET', `/v1/projects/${project}/key-states`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

test('a new key spreads until its convergedTime, and is current from then on', async () => {
  const kid = await registerKey(server)
  const first = await server.send('GET', keyUrl(kid))
  const { state, convergedTime } = first.json().details
  expect(state).toBe('spreading')
  expect(await statesOf('payments')).toContainEqual({ kid, state: 'spreading', convergedTime })
  server.clock.advance(convergenceMs)
  const second = await server.send('GET', keyUrl(kid), {
    headers: { 'if-none-match': String(first.headers.etag) },
  })
  expect(second.statusCode).toBe(200)
  expect(second.json().details.state).toBe('current')
  expect(await statesOf('payments')).toContainEqual({ kid, state: 'current' })
  // The state is no change of the key.
  const changed = await server.send('PATCH', keyUrl(kid), {
    body: { label: 'renamed' },
    headers: { 'if-match': String(first.headers.etag) },
  })
  expect(changed.json(), changed.body).toMatchObject({ details: { state: 'current' } })
})

test('a deactivated key is off, and an expired one expired, whether it is on or off', async () => {
  const { name, keys } = await newProject(server, 'ended')
  const off = await registerKey(server, {}, keys)
  await server.send('PATCH', `${keys}/${off}`, { body: { active: false } })
  const never = await registerKey(server, { active: false }, keys)
  const expireTime = server.inFuture(5_000)
  const expired = await registerKey(server, { expireTime }, keys)
  const both = await registerKey(server, { expireTime, active: false }, keys)
  server.clock.advance(5_000)
  const convergedTime = expect.any(String)
  expect(await statesOf(name)).toEqual([
    { kid: off, state: 'off', convergedTime },
    { kid: never, state: 'off' },
    { kid: expired, state: 'expired', convergedTime },
    { kid: both, state: 'expired', convergedTime },
  ])
  server.clock.advance(convergenceMs)
  expect(await statesOf(name)).toEqual([
    { kid: off, state: 'off' },
    { kid: never, state: 'off' },
    { kid: expired, state: 'expired' },
    { kid: both, state: 'expired' },
  ])
})

test('the states are for readers of the project alone, in the order of its list', async () => {
  const { id, name, keys } = await newProject(server, 'read')
  const kids = [await registerKey(server, {}, keys), await registerKey(server, {}, keys)]
  const reader = await server.apiKey('reader', id)
  const foreign = await server.apiKey('admin', server.project.id)
  const url = `/v1/projects/${name}/key-states`
  const read = await server.send('GET', url, { headers: { 'x-api-key': reader } })
  expect(read.json().map(({ kid }: { kid: string }) => kid)).toEqual(kids)
  const refused = await server.send('GET', url, { headers: { 'x-api-key': foreign } })
  expect(refused.json().code).toBe('project_not_found')
})
