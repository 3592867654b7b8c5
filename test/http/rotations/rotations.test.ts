import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyUrl, patchKey, registerKey } from '../../support/app/keys.ts'
import {
  convergenceMs,
  type RotationScene,
  type RotationsApp,
  startRotationsApp,
} from '../../support/app/rotations.ts'

let server: RotationsApp
beforeAll(async () => {
  server = await startRotationsApp()
})
afterAll(() => server.close())

const absent = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'

test('a rotation goes from spreading to overlapping to finished, and so do the roles of its keys', async () => {
  const scene = await server.scene()
  const { from, to, url } = scene
  const started = await server.start(scene)
  expect(started).toMatchObject({ from, to, state: 'spreading', startedBy: { name: 'a admin' } })
  expect(started).not.toHaveProperty('schedule')
  expect(await server.roles(scene)).toEqual({ [from]: 'current', [to]: 'spreading' })
  server.clock.advance(convergenceMs)
  expect((await server.get(scene, started.id)).state).toBe('overlapping')
  expect(await server.roles(scene)).toEqual({ [from]: 'previous', [to]: 'current' })
  const finished = await server.send('POST', `${url}/${started.id}/finish`)
  expect(finished.json()).toMatchObject({ state: 'finished', endTime: expect.any(String) })
  expect(await server.roles(scene)).toEqual({ [from]: 'off', [to]: 'current' })
  expect((await server.events(scene)).slice(-3).map(({ type }) => type)).toEqual([
    'rotation.started',
    'key.updated',
    'rotation.finished',
  ])
})

test('the details of a key name its role, and a rotation changes its ETag', async () => {
  const scene = await server.scene()
  server.clock.advance(convergenceMs)
  const url = `${scene.project.keys}/${scene.from}`
  const before = await server.send('GET', url)
  expect(before.json().details.role).toBe('current')
  await server.start(scene)
  const headers = { 'if-none-match': String(before.headers.etag) }
  const after = await server.send('GET', url, { headers })
  expect(after.statusCode).toBe(200)
  expect(after.json().details.role).toBe('previous')
})

test('a new expireTime does not make the key in use look unknown to verifiers', async () => {
  const scene = await server.scene()
  await server.start(scene)
  server.clock.advance(convergenceMs)
  for (const kid of [scene.from, scene.to]) {
    await patchKey(server, kid, { expireTime: '2099-01-01T00:00:00Z' }, scene.project.keys)
    await patchKey(server, kid, { expireTime: null }, scene.project.keys)
  }
  expect(await server.roles(scene)).toEqual({ [scene.from]: 'previous', [scene.to]: 'current' })
  await patchKey(server, scene.to, { active: false }, scene.project.keys)
  await patchKey(server, scene.to, { active: true }, scene.project.keys)
  expect(await server.roles(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'spreading' })
})

test('two callers see the same rotation, started by either', async () => {
  const scene = await server.scene()
  const writer = await server.apiKey('writer', scene.project.id)
  const reader = await server.apiKey('reader', scene.project.id)
  const started = await server.start(scene, {}, writer)
  for (const secret of [server.admin, writer, reader]) {
    const headers = { 'x-api-key': secret }
    const one = await server.send('GET', `${scene.url}/${started.id}`, { headers })
    expect(one.json()).toEqual(started)
    const all = await server.send('GET', scene.url, { headers })
    expect(all.json()).toEqual([started])
  }
  expect(started.startedBy.name).toBe('a writer')
})

test('an abandoned rotation leaves the keys as they are, and another one can be started', async () => {
  const scene = await server.scene()
  const first = await server.start(scene)
  const again = await server.send('POST', scene.url, { body: { from: scene.from, to: scene.to } })
  expect(again.json().code).toBe('rotation_exists')
  expect((await server.send('DELETE', `${scene.url}/${first.id}`)).statusCode).toBe(204)
  expect((await server.get(scene, first.id)).state).toBe('abandoned')
  server.clock.advance(convergenceMs)
  expect(await server.roles(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'current' })
  const twice = await server.send('DELETE', `${scene.url}/${first.id}`)
  expect(twice.json().code).toBe('rotation_ended')
  const second = await server.start(scene)
  const all = await server.send('GET', scene.url)
  expect(all.json().map(({ id }: { id: string }) => id)).toEqual([second.id, first.id])
})

describe('is refused', () => {
  test.each<[string, string, (scene: RotationScene) => Promise<object> | object]>([
    ['to the same key', 'invalid_request', ({ from }) => ({ from, to: from })],
    ['from an absent key', 'key_not_found', ({ to }) => ({ from: absent, to })],
    ['to an absent key', 'key_not_found', ({ from }) => ({ from, to: absent })],
    [
      'to a key of another project',
      'key_not_found',
      async ({ from }) => ({ from, to: await registerKey(server) }),
    ],
    [
      'to an inactive key',
      'key_inactive',
      async ({ from, project }) => ({
        from,
        to: await registerKey(server, { active: false }, project.keys),
      }),
    ],
    [
      'from an inactive key',
      'key_inactive',
      async ({ to, project }) => ({
        from: await registerKey(server, { active: false }, project.keys),
        to,
      }),
    ],
    ['without a new key', 'invalid_request', ({ from }) => ({ from })],
    [
      'with a step before verifiers know the new key',
      'invalid_request',
      ({ from, to }) => ({ from, to, disableTime: server.inFuture(convergenceMs - 1_000) }),
    ],
    [
      'with a deletion without a deactivation',
      'invalid_request',
      ({ from, to }) => ({ from, to, deleteTime: server.inFuture(3 * convergenceMs) }),
    ],
    [
      'with a deletion before verifiers know of the deactivation',
      'invalid_request',
      ({ from, to }) => {
        const disableTime = server.inFuture(2 * convergenceMs)
        return { from, to, disableTime, deleteTime: disableTime }
      },
    ],
    ['with an invalid time', 'invalid_request', ({ from, to }) => ({ from, to, disableTime: 'x' })],
    ['with an unknown member', 'invalid_request', ({ from, to }) => ({ from, to, until: 'x' })],
  ])('a rotation %s', async (_name, code, bodyOf) => {
    const scene = await server.scene()
    const response = await server.send('POST', scene.url, { body: await bodyOf(scene) })
    expect(response.json().code, response.body).toBe(code)
    expect((await server.send('GET', scene.url)).json()).toEqual([])
  })

  test.each(['reader', 'registrar'] as const)('a change by a %s', async (role) => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const headers = { 'x-api-key': await server.apiKey(role, scene.project.id) }
    const body = { from: scene.to, to: scene.from }
    for (const response of [
      await server.send('POST', scene.url, { body, headers }),
      await server.send('PATCH', `${scene.url}/${id}`, { body: { disableTime: null }, headers }),
      await server.send('POST', `${scene.url}/${id}/finish`, { headers }),
      await server.send('DELETE', `${scene.url}/${id}`, { headers }),
    ]) {
      expect(response.json().code).toBe('insufficient_role')
    }
  })

  test('everything with an API key of another project, as if there were no such project', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const headers = { 'x-api-key': await server.apiKey('admin', server.project.id) }
    for (const url of [scene.url, `${scene.url}/${id}`]) {
      expect((await server.send('GET', url, { headers })).json().code).toBe('project_not_found')
    }
    const elsewhere = await server.send('GET', `/v1/projects/payments/rotations/${id}`, { headers })
    expect(elsewhere.json().code).toBe('rotation_not_found')
  })

  test('the end before every verifier knows the new key', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const response = await server.send('POST', `${scene.url}/${id}/finish`)
    expect(response.json().code).toBe('rotation_not_ready')
    expect((await server.roles(scene))[scene.from]).toBe('current')
  })

  test('a change with an outdated If-Match', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const url = `${scene.url}/${id}`
    const { headers } = await server.send('GET', url)
    const body = { disableTime: server.inFuture(3 * convergenceMs) }
    const match = { 'if-match': String(headers.etag) }
    expect((await server.send('PATCH', url, { body, headers: match })).statusCode).toBe(200)
    const outdated = await server.send('PATCH', url, {
      body: { disableTime: null },
      headers: match,
    })
    expect(outdated.json().code).toBe('precondition_failed')
    expect((await server.send('DELETE', url, { headers: match })).statusCode).toBe(412)
  })
})

describe('a change of the keys by hand', () => {
  test('of the old key: its deactivation finishes the rotation, in the name of who did it', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    await patchKey(server, scene.from, { active: false }, scene.project.keys)
    expect((await server.get(scene, id)).state).toBe('finished')
    const event = (await server.events(scene)).at(-1)
    expect(event).toMatchObject({ type: 'rotation.finished', actor: { name: 'a admin' } })
    expect(event?.changes).not.toHaveProperty('scheduledStep')
    const ended = await server.send('POST', `${scene.url}/${id}/finish`)
    expect(ended.json().code).toBe('rotation_ended')
  })

  test('of the old key: it is superseded when it is activated again', async () => {
    const scene = await server.scene()
    await server.start(scene)
    await patchKey(server, scene.from, { active: false }, scene.project.keys)
    await patchKey(server, scene.from, { active: true }, scene.project.keys)
    server.clock.advance(convergenceMs)
    expect(await server.roles(scene)).toEqual({ [scene.from]: 'previous', [scene.to]: 'current' })
    // Back again.
    const body = { from: scene.to, to: scene.from }
    expect((await server.send('POST', scene.url, { body })).statusCode).toBe(201)
    expect(await server.roles(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'previous' })
  })

  test('of the old key: its expiry ends the rotation', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const expireTime = server.inFuture(5_000)
    await patchKey(server, scene.from, { expireTime }, scene.project.keys)
    server.clock.advance(5_000)
    expect(await server.get(scene, id)).toMatchObject({ state: 'finished', endTime: expireTime })
    expect((await server.send('DELETE', `${scene.url}/${id}`)).json().code).toBe('rotation_ended')
  })

  test('of the new key: the rotation cannot be finished while it is off', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    server.clock.advance(convergenceMs)
    await patchKey(server, scene.to, { active: false }, scene.project.keys)
    const rotation = await server.get(scene, id)
    expect(rotation.state).toBe('spreading')
    expect(rotation).not.toHaveProperty('convergedTime')
    const refused = await server.send('POST', `${scene.url}/${id}/finish`)
    expect(refused.json().code).toBe('rotation_not_ready')
    expect((await server.roles(scene))[scene.from]).toBe('current')
  })

  test('of the new key: its deletion abandons the rotation', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    await patchKey(server, scene.to, { active: false }, scene.project.keys)
    await server.send('DELETE', `${scene.project.keys}/${scene.to}`)
    expect((await server.get(scene, id)).state).toBe('abandoned')
  })

  test('of all keys: the project can be deleted, and its rotations with it', async () => {
    const scene = await server.scene()
    await server.start(scene, { disableTime: server.inFuture(2 * convergenceMs) })
    for (const kid of [scene.from, scene.to]) {
      await patchKey(server, kid, { active: false }, scene.project.keys)
      expect((await server.send('DELETE', `${scene.project.keys}/${kid}`)).statusCode).toBe(204)
    }
    const deleted = await server.send('DELETE', `/v1/projects/${scene.project.name}`)
    expect(deleted.statusCode, deleted.body).toBe(204)
    server.clock.advance(2 * convergenceMs)
    const before = await server.events(scene)
    await server.takeDue()
    expect(await server.events(scene)).toEqual(before)
  })
})

test('the keys of a rotation are named by their publishedKid too', async () => {
  const scene = await server.scene()
  const to = await registerKey(server, { publishedKid: 'autumn' }, scene.project.keys)
  const rotation = await server.start({ ...scene, to: 'autumn' })
  expect(rotation.to).toBe(to)
})

test('a private key in a member is refused', async () => {
  const { privatePem, ecKey } = await import('../../support/keys/pem.ts')
  const scene = await server.scene()
  const body = { from: scene.from, to: privatePem(ecKey()) }
  const response = await server.send('POST', scene.url, { body })
  expect(response.json().code).toBe('private_key_submitted')
})

test('the default project has no rotations', async () => {
  const kid = await registerKey(server)
  expect((await server.send('GET', keyUrl(kid))).json().details.role).toBe('spreading')
  expect((await server.send('GET', '/v1/projects/payments/rotations')).json()).toEqual([])
})
