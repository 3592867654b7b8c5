import { describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { rotationChanges } from '../../../packages/server/src/features/rotations/changes.ts'
import { signInChanges } from '../../../packages/server/src/features/sign-in/changes.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { patchKey, registerKey } from '../../support/app/keys.ts'
import {
  convergenceMs,
  type RotationScene,
  startRotationsApp,
  tokenLifetime,
} from '../../support/app/rotations.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { sessionRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'

const server = await startRotationsApp()

const absent = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'

test('a rotation goes from spreading to overlapping to finished, and so do the states of its keys', async () => {
  const scene = await server.scene()
  const { from, to, project } = scene
  const writer = await server.apiKey('writer', project.id)
  const started = await server.start(scene, {}, writer)
  expect(started).toMatchObject({ from, to, state: 'spreading', tokenLifetime })
  expect(started.startedBy.name).toBe('a writer')
  const headers = { 'x-api-key': await server.apiKey('reader', project.id) }
  expect((await server.send('GET', scene.url, { headers })).json()).toEqual([started])
  const health = async () => (await server.send('GET', '/v1/project-health', { headers })).json()
  expect(await health()).toMatchObject([{ rotations: 1, warnings: [] }])
  expect(await server.get(scene, started.id)).toEqual(started)
  expect(await server.states(scene)).toEqual({ [from]: 'current', [to]: 'spreading' })
  const read = () => server.send('GET', `${project.keys}/${from}`)
  server.clock.advance(convergenceMs / 2)
  const { etag } = (await read()).headers
  server.clock.advance(convergenceMs / 2)
  expect((await read()).headers.etag).not.toBe(etag)
  expect((await read()).json().details.state).toBe('previous')
  expect((await server.get(scene, started.id)).state).toBe('overlapping')
  expect(await server.states(scene)).toEqual({ [from]: 'previous', [to]: 'current' })
  const finished = (await server.finish(scene, started.id)).json()
  expect(finished.state).toBe('finished')
  expect(await health()).toMatchObject([{ rotations: 0, warnings: [] }])
  const { endTime, expireTime } = finished
  expect(Date.parse(expireTime) - Date.parse(endTime)).toBe(tokenLifetime * 1_000)
  const old = (await server.send('GET', `${scene.project.keys}/${from}`)).json()
  expect(old).toMatchObject({ active: true, expireTime, updateTime: endTime })
  expect(await server.states(scene)).toEqual({ [from]: 'previous', [to]: 'current' })
  server.clock.advance(tokenLifetime * 1_000)
  expect(await server.states(scene)).toEqual({ [from]: 'expired', [to]: 'current' })
  const { details } = (await read()).json()
  expect(details.ended).toEqual({ time: expireTime, reason: 'superseded' })
  expect((await server.events(scene)).slice(-3).map(({ type }) => type)).toEqual([
    'rotation.started',
    'key.updated',
    'rotation.finished',
  ])
})

test('another token lifetime counts when the rotation is finished', async () => {
  const scene = await server.scene()
  const { id } = await server.start(scene)
  const patched = await server.send('PATCH', `${scene.url}/${id}`, { body: { tokenLifetime: 60 } })
  expect(patched.json()).toMatchObject({ tokenLifetime: 60, state: 'spreading' })
  const before = await server.events(scene)
  await server.send('PATCH', `${scene.url}/${id}`, { body: { tokenLifetime: 60 } })
  expect(await server.events(scene)).toEqual(before)
  server.clock.advance(convergenceMs)
  const { endTime, expireTime } = (await server.finish(scene, id)).json()
  expect(Date.parse(expireTime) - Date.parse(endTime)).toBe(60_000)
})

test('an end of the old key that is earlier stays, and a later one comes forward', async () => {
  for (const [givenMs, stays] of [
    [60_000, true],
    [10_000_000, false],
  ] as const) {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    server.clock.advance(convergenceMs)
    const given = server.inFuture(givenMs)
    await patchKey(server, scene.from, { expireTime: given }, scene.project.keys)
    const { state, endTime, expireTime } = (await server.finish(scene, id)).json()
    expect(state).toBe('finished')
    const end = new Date(Date.parse(endTime) + tokenLifetime * 1_000).toISOString()
    expect(expireTime).toBe(stays ? given : end)
  }
})

test('a finished rotation stays finished, also if the old key is brought back, and another one can start', async () => {
  const scene = await server.scene()
  const { id } = await server.start(scene)
  server.clock.advance(convergenceMs)
  const { expireTime } = (await server.finish(scene, id)).json()
  server.clock.advance(1_000)
  expect((await server.finish(scene, id)).json().code).toBe('rotation_ended')
  expect(await server.get(scene, id)).toMatchObject({ state: 'finished', expireTime })
  await patchKey(server, scene.from, { expireTime: null }, scene.project.keys)
  expect((await server.get(scene, id)).state).toBe('finished')
  expect((await server.start(scene)).state).toBe('overlapping')
})

test('a session needs a recent sign-in to finish a rotation that leaves no active key', async () => {
  const scene = await server.scene()
  const { id } = await server.start(scene)
  await patchKey(
    server,
    scene.to,
    { expireTime: server.inFuture(convergenceMs * 2) },
    scene.project.keys,
  )
  server.clock.advance(convergenceMs)
  const { store } = server.context
  const secret = await server.apiKey('writer', scene.project.id)
  const self = await server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })
  const finish = async (signedInMs: number) => {
    const times = {
      signInTime: server.inFuture(-signedInMs),
      expireTime: server.inFuture(3_600_000),
    }
    const session = sessionRecord({ apiKeyId: self.json().id, ...times })
    await store.commit(signInChanges.createSession, { origin: origin(), session })
    const authorization = {
      credential: { type: 'session', id: session.id },
      access: { role: 'writer', auditor: false },
      projectId: scene.project.id,
    } as const
    const own = { ...origin(server.inFuture(0)), authorization }
    const change = { projectId: scene.project.id, id, jwksMaxAge: 60 }
    return store.commit(rotationChanges.finishRotation, { origin: own, ...change })
  }
  await expect(finish(3_600_000)).rejects.toMatchObject({ code: 'recent_sign_in_required' })
  await finish(0)
  expect((await server.get(scene, id)).state).toBe('finished')
})

test('a row that contradicts the ledger is no rotation, and changes no state', async () => {
  const [altered, inserted] = [await server.scene(), await server.scene()]
  const { id } = await server.start(altered)
  server.clock.advance(convergenceMs)
  const { database } = server
  await database.execute('update rotation set token_lifetime = 1 where id = ?', id)
  await database.execute(
    `insert into rotation (project_id, id, from_kid, to_kid, create_time, update_time, token_lifetime)
     select ?, ?, ?, ?, create_time, update_time, token_lifetime from rotation where id = ?`,
    ...[inserted.project.id, newId(), inserted.from, inserted.to, id],
  )
  for (const scene of [altered, inserted]) {
    expect(await server.states(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'current' })
    expect((await server.send('GET', scene.url)).json()).toEqual([])
  }
  expect((await server.send('GET', `${altered.url}/${id}`)).statusCode).toBe(404)
  expect((await server.finish(altered, id)).json().code).toBe('rotation_not_found')
  for (const { project } of [altered, inserted]) {
    await database.execute('delete from rotation where project_id = ?', project.id)
  }
})

test('a new expireTime does not make the key in use look unknown to verifiers', async () => {
  const scene = await server.scene()
  await server.start(scene)
  server.clock.advance(convergenceMs)
  for (const kid of [scene.from, scene.to]) {
    await patchKey(server, kid, { expireTime: '2099-01-01T00:00:00Z' }, scene.project.keys)
    await patchKey(server, kid, { expireTime: null }, scene.project.keys)
  }
  expect(await server.states(scene)).toEqual({ [scene.from]: 'previous', [scene.to]: 'current' })
  await patchKey(server, scene.to, { active: false }, scene.project.keys)
  await patchKey(server, scene.to, { active: true }, scene.project.keys)
  expect(await server.states(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'spreading' })
})

test('an abandoned rotation leaves the keys as they are, and another one can be started', async () => {
  const scene = await server.scene()
  const first = await server.start(scene)
  const again = await server.send('POST', scene.url, {
    body: { from: scene.from, to: scene.to, tokenLifetime },
  })
  expect(again.json().code).toBe('rotation_exists')
  expect((await server.send('DELETE', `${scene.url}/${first.id}`)).statusCode).toBe(204)
  expect((await server.get(scene, first.id)).state).toBe('abandoned')
  server.clock.advance(convergenceMs)
  expect(await server.states(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'current' })
  const twice = await server.send('DELETE', `${scene.url}/${first.id}`)
  expect(twice.json().code).toBe('rotation_ended')
  const second = await server.start(scene)
  const all = await server.send('GET', scene.url)
  expect(all.json().map(({ id }: { id: string }) => id)).toEqual([second.id, first.id])
})

describe('is refused', () => {
  const inactive = ({ project }: RotationScene) =>
    registerKey(server, { active: false }, project.keys)
  /** The members that differ from those of a rotation that can start. */
  test.each<[string, string, (scene: RotationScene) => Promise<object> | object]>([
    ['to the same key', 'invalid_request', ({ from }) => ({ to: from })],
    ['from an absent key', 'key_not_found', () => ({ from: absent })],
    ['to an absent key', 'key_not_found', () => ({ to: absent })],
    [
      'to a key of another project',
      'key_not_found',
      async () => ({ to: await registerKey(server) }),
    ],
    ['to an inactive key', 'key_inactive', async (scene) => ({ to: await inactive(scene) })],
    ['from an inactive key', 'key_inactive', async (scene) => ({ from: await inactive(scene) })],
    [
      'to a compromised key',
      'compromised_key',
      async ({ to, project }) => {
        await server.context.store.commit(keyChanges.reportWeakness, {
          ...{ origin: origin(), projectId: project.id, kid: to },
          ...{ weaknesses: ['key_known_compromised'], deactivate: false },
        })
        return {}
      },
    ],
    [
      'to a key that ends as superseded',
      'invalid_request',
      async ({ to, project }) => {
        const end = { expireTime: '2099-01-01T00:00:00Z', reason: 'superseded' }
        await patchKey(server, to, end, project.keys)
        return {}
      },
    ],
    ['with a token lifetime of 0', 'invalid_request', () => ({ tokenLifetime: 0 })],
  ])('a rotation %s', async (_name, code, bodyOf) => {
    const scene = await server.scene()
    const { from, to } = scene
    const body = { from, to, tokenLifetime, ...(await bodyOf(scene)) }
    const response = await server.send('POST', scene.url, { body })
    expect(response.json().code, response.body).toBe(code)
    expect((await server.send('GET', scene.url)).json()).toEqual([])
  })

  test('the end before every verifier knows the new key, and everything under another project', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const elsewhere = await server.send('GET', `/v1/projects/payments/rotations/${id}`)
    expect(elsewhere.json().code).toBe('rotation_not_found')
    const response = await server.finish(scene, id)
    expect(response.json().code).toBe('rotation_not_ready')
    expect((await server.states(scene))[scene.from]).toBe('current')
  })

  test('a change with an outdated If-Match', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    const url = `${scene.url}/${id}`
    const { headers } = await server.send('GET', url)
    const body = { tokenLifetime: 60 }
    const match = { 'if-match': String(headers.etag) }
    expect((await server.send('PATCH', url, { body, headers: match })).statusCode).toBe(200)
    const outdated = await server.send('PATCH', url, {
      body: { tokenLifetime: 120 },
      headers: match,
    })
    expect(outdated.json().code).toBe('precondition_failed')
    expect((await server.send('DELETE', url, { headers: match })).statusCode).toBe(412)
  })
})

describe('a change of the keys by hand', () => {
  test('of the old key: its deactivation finishes the rotation, in the name of who did it, for good', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    await patchKey(server, scene.from, { active: false }, scene.project.keys)
    expect((await server.get(scene, id)).state).toBe('finished')
    const event = (await server.events(scene)).at(-1)
    expect(event).toMatchObject({ type: 'rotation.finished', actor: { name: 'a admin' } })
    expect((await server.finish(scene, id)).json().code).toBe('rotation_ended')
    await patchKey(server, scene.from, { active: true }, scene.project.keys)
    server.clock.advance(convergenceMs)
    expect(await server.states(scene)).toEqual({ [scene.from]: 'previous', [scene.to]: 'current' })
    // Back again.
    await server.start({ ...scene, from: scene.to, to: scene.from })
    expect(await server.states(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'previous' })
  })

  test('of the old key: the rotation that started last counts, whatever the ids', async () => {
    const scene = await server.scene()
    const { from, to, url, project } = scene
    const [first, last] = ['ffffffff-6c1e-7d53-a1b0-5f0e4c9d2b71', absent]
    const start = (change: { id: string; from: string; to: string }) =>
      server.context.store.commit(rotationChanges.startRotation, {
        ...{ ...change, projectId: project.id, tokenLifetime, jwksMaxAge: 60 },
        origin: origin(server.inFuture(0)),
      })
    await start({ id: first, from, to })
    server.clock.advance(convergenceMs)
    await start({ id: last, from: to, to: from })
    expect(await server.states(scene)).toEqual({ [from]: 'current', [to]: 'previous' })
    const ids = (await server.send('GET', url)).json().map(({ id }: { id: string }) => id)
    expect(ids).toEqual([last, first])
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

  const end = { expireTime: '2099-01-01T00:00:00Z' }
  test.each([
    ['off', { active: false }, { active: true }],
    ['compromised', { ...end, reason: 'compromised' }, undefined],
    ['about to end for another key', { ...end, reason: 'superseded' }, { expireTime: null }],
  ])(
    'of the new key: the rotation cannot be finished while it is %s',
    async (_state, patch, mend) => {
      const scene = await server.scene()
      const { id } = await server.start(scene)
      server.clock.advance(convergenceMs)
      await patchKey(server, scene.to, patch, scene.project.keys)
      const rotation = await server.get(scene, id)
      expect(rotation.state).toBe('spreading')
      expect(rotation).not.toHaveProperty('convergedTime')
      const refused = await server.finish(scene, id)
      const { code, detail } = refused.json()
      expect([code, detail]).toEqual(['rotation_not_ready', expect.stringMatching(/new pair\.$/)])
      expect((await server.states(scene))[scene.from]).toBe('current')
      if (mend === undefined) return
      await patchKey(server, scene.to, mend, scene.project.keys)
      server.clock.advance(convergenceMs)
      expect((await server.finish(scene, id)).json().state).toBe('finished')
    },
  )

  test('of the new key: once the rotation is finished, its end makes the old key no current one', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    server.clock.advance(convergenceMs)
    expect((await server.finish(scene, id)).statusCode).toBe(200)
    const end = { expireTime: '2099-01-01T00:00:00Z', reason: 'superseded' }
    await patchKey(server, scene.to, end, scene.project.keys)
    expect(await server.states(scene)).toEqual({ [scene.from]: 'previous', [scene.to]: 'current' })
  })

  test('of the new key: its deletion abandons the rotation, and the project can be deleted', async () => {
    const scene = await server.scene()
    const { id } = await server.start(scene)
    for (const kid of [scene.to, scene.from]) {
      await patchKey(server, kid, { active: false }, scene.project.keys)
      expect((await server.send('DELETE', `${scene.project.keys}/${kid}`)).statusCode).toBe(204)
      expect((await server.get(scene, id)).state).toBe('abandoned')
    }
    const deleted = await server.send('DELETE', `/v1/projects/${scene.project.name}`)
    expect(deleted.statusCode, deleted.body).toBe(204)
  })
})

test('the keys of a rotation are named by their publishedKid too, and by no private key', async () => {
  const scene = await server.scene()
  const to = await registerKey(server, { publishedKid: 'autumn' }, scene.project.keys)
  const body = { from: scene.from, to: privatePem(ecKey()), tokenLifetime }
  const refused = await server.send('POST', scene.url, { body })
  expect(refused.json().code).toBe('private_key_submitted')
  const rotation = await server.start({ ...scene, to: 'autumn' })
  expect(rotation.to).toBe(to)
})
