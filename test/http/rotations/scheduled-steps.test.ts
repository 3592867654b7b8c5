import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Rotation } from '../../../src/contract/rotations.ts'
import type { Credential } from '../../../src/core/access/grants.ts'
import { newId } from '../../../src/core/ids.ts'
import type { LedgerEvent } from '../../../src/core/ledger/chain.ts'
import type { SessionEndReason } from '../../../src/core/ledger/changes.ts'
import { takeDueSteps } from '../../../src/core/rotations/due-steps.ts'
import { openStore } from '../../../src/storage/open.ts'
import { patchKey, registerKey } from '../../support/app/keys.ts'
import {
  convergenceMs,
  type RotationScene,
  type RotationsApp,
  startRotationsApp,
} from '../../support/app/rotations.ts'
import { createPersonSession, ruleRecord, sessionRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'
import { exchangedKeyRecord, trustPolicyRecord } from '../../support/store/trust-records.ts'

let server: RotationsApp
beforeAll(async () => {
  server = await startRotationsApp()
})
afterAll(() => server.close())

const soon = 2 * convergenceMs

/** Schedules the deactivation of the old key, in two minutes, with this API key. */
async function scheduled(scene: RotationScene, secret?: string, members: object = {}) {
  return server.start(scene, { disableTime: server.inFuture(soon), ...members }, secret)
}

const typesOf = async (scene: RotationScene) => {
  return (await server.events(scene)).map(({ type }) => type)
}

test('the steps of a schedule are taken at their time, in the name of its author, each once', async () => {
  const scene = await server.scene()
  const writer = await server.apiKey('writer', scene.project.id)
  const deleteTime = server.inFuture(2 * soon)
  const { id, schedule } = await scheduled(scene, writer, { deleteTime })
  expect(schedule?.scheduledBy.name).toBe('a writer')
  await server.takeDue()
  expect((await server.roles(scene))[scene.from]).toBe('current')
  server.clock.advance(soon)
  await server.takeDue()
  await server.takeDue()
  expect(await server.get(scene, id)).toMatchObject({ state: 'finished', schedule: { deleteTime } })
  const [updated, finished] = (await server.events(scene)).slice(-2)
  expect(updated).toMatchObject({ type: 'key.updated', subject: { id: scene.from } })
  expect(finished).toMatchObject({
    type: 'rotation.finished',
    subject: { type: 'rotation', id },
    changes: { scheduledStep: { to: 'disable' } },
  })
  for (const event of [updated, finished]) {
    expect(event).toMatchObject({ actor: { name: 'a writer' }, requestId: id })
  }
  server.clock.advance(soon)
  await server.takeDue()
  expect(await server.roles(scene)).toEqual({ [scene.to]: 'current' })
  const [deleted, step] = (await server.events(scene)).slice(-2)
  expect(deleted).toMatchObject({ type: 'key.deleted', actor: { name: 'a writer' } })
  expect(step).toMatchObject({
    type: 'rotation.key_deleted',
    actor: { name: 'a writer' },
    changes: { scheduledStep: { from: 'disable', to: 'delete' } },
  })
  const before = await server.events(scene)
  await server.takeDue()
  expect(await server.events(scene)).toEqual(before)
})

test('a key that is deactivated late is not deleted early', async () => {
  const scene = await server.scene()
  const deleteTime = server.inFuture(soon + convergenceMs)
  await scheduled(scene, undefined, { deleteTime })
  // No server ran meanwhile.
  server.clock.advance(2 * soon)
  await server.takeDue()
  server.clock.advance(convergenceMs - 5_000)
  await server.takeDue()
  expect((await server.roles(scene))[scene.from]).toBe('off')
  server.clock.advance(5_000)
  await server.takeDue()
  expect(await server.roles(scene)).toEqual({ [scene.to]: 'current' })
})

test('a caller changes and clears a schedule, and becomes its author', async () => {
  const scene = await server.scene()
  const { id } = await scheduled(scene, await server.apiKey('writer', scene.project.id))
  const url = `${scene.url}/${id}`
  const body = { disableTime: server.inFuture(2 * soon) }
  const changed: Rotation = (await server.send('PATCH', url, { body })).json()
  expect(changed.schedule).toMatchObject({ ...body, scheduledBy: { name: 'a admin' } })
  const before = await server.events(scene)
  expect((await server.send('PATCH', url, { body })).json()).toEqual(changed)
  expect(await server.events(scene)).toEqual(before)
  server.clock.advance(soon)
  await server.takeDue()
  expect((await server.get(scene, id)).state).toBe('overlapping')
  const cleared = await server.send('PATCH', url, { body: { disableTime: null } })
  expect(cleared.json()).not.toHaveProperty('schedule')
  expect((await typesOf(scene)).at(-1)).toBe('rotation.unscheduled')
  server.clock.advance(soon)
  await server.takeDue()
  expect((await server.get(scene, id)).state).toBe('overlapping')
})

test('the same times, sent by another caller, make that the author', async () => {
  const scene = await server.scene()
  const { id, schedule } = await scheduled(scene, await server.apiKey('writer', scene.project.id))
  const body = { disableTime: schedule?.disableTime }
  const again = await server.send('PATCH', `${scene.url}/${id}`, { body })
  expect(again.json().schedule).toMatchObject({ ...body, scheduledBy: { name: 'a admin' } })
  // Its digest keeps the row from being altered.
  expect((await lastEvent(scene))?.changes).toMatchObject({ state: { to: expect.any(String) } })
  server.clock.advance(soon)
  await server.takeDue()
  expect((await lastEvent(scene))?.actor.name).toBe('a admin')
})

test('descendants without a time changes nothing', async () => {
  const scene = await server.scene()
  const { id } = await server.start(scene)
  const before = await server.events(scene)
  const body = { descendants: true }
  expect((await server.send('PATCH', `${scene.url}/${id}`, { body })).statusCode).toBe(200)
  expect(await server.events(scene)).toEqual(before)
})

test('the deletion is scheduled after the old key was deactivated by hand', async () => {
  const scene = await server.scene()
  const { id } = await server.start(scene)
  server.clock.advance(convergenceMs)
  await server.send('POST', `${scene.url}/${id}/finish`)
  const early = { deleteTime: server.inFuture(1_000) }
  const refused = await server.send('PATCH', `${scene.url}/${id}`, { body: early })
  expect(refused.json().errors[0].code).toBe('time_too_early')
  const again = { disableTime: server.inFuture(soon) }
  const ended = await server.send('PATCH', `${scene.url}/${id}`, { body: again })
  expect(ended.json().code).toBe('rotation_ended')
  const body = { deleteTime: server.inFuture(soon) }
  expect((await server.send('PATCH', `${scene.url}/${id}`, { body })).statusCode).toBe(200)
  server.clock.advance(soon)
  await server.takeDue()
  expect(await server.roles(scene)).toEqual({ [scene.to]: 'current' })
})

describe('the rotation waits, and says so once, if its author', () => {
  const commit: RotationsApp['context']['store']['commit'] = (change) =>
    server.context.store.commit(change)
  const selfOf = async (secret: string) =>
    (await server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })).json().id

  /** Schedules the step with an API key of this role. */
  async function byApiKey(scene: RotationScene, expireTime?: string) {
    const secret = await server.apiKey('writer', scene.project.id, expireTime)
    return { ...(await scheduled(scene, secret)), author: await selfOf(secret) }
  }
  /** Schedules the step with a credential that has been stored. */
  async function byCredential(scene: RotationScene, credential: Credential) {
    const { id } = await server.start(scene)
    const { project } = scene
    const access = { role: 'writer' } as const
    const authorization = { credential, access, projectId: project.id }
    const patch = { disableTime: server.inFuture(soon) }
    const time = new Date(server.clock.now()).toISOString()
    const change = { projectId: project.id, id, patch, jwksMaxAge: 60 }
    const own = { ...origin(time), authorization }
    await commit({ type: 'rotation.schedule', origin: own, ...change })
    return id
  }
  const sessionOf = async (scene: RotationScene, signedInMs = 0) => {
    const { id: projectId, name } = scene.project
    const rule = ruleRecord({ role: 'writer', projectId, conditions: { groups: name } })
    await commit({ type: 'sign_in_rule.create', origin: origin(), rule })
    const lastUseTime = new Date(server.clock.now()).toISOString()
    const signInTime = server.inFuture(-signedInMs)
    const times = { signInTime, lastUseTime, expireTime: server.inFuture(3_600_000) }
    const made = await createPersonSession(server.context.store, times, { groups: [name] })
    const { session } = made
    const id = await byCredential(scene, { type: 'session', id: session.id })
    return { ...made, rule, id }
  }
  const endSession = (id: string, reason: SessionEndReason) =>
    commit({ type: 'session.end', origin: origin(), ended: { ids: [id] }, reason })
  const workloadOf = async (scene: RotationScene) => {
    const policy = trustPolicyRecord({ projectId: scene.project.id, role: 'writer' })
    await commit({ type: 'trust_policy.create', origin: origin(), policy })
    const apiKey = { ...exchangedKeyRecord(policy), expireTime: server.inFuture(convergenceMs) }
    await commit({ type: 'token.exchange', origin: origin(), apiKey, policy, matched: [] })
    return { policy, id: await byCredential(scene, { type: 'exchanged_key', id: apiKey.id }) }
  }
  const apiKeySessionOf = async (scene: RotationScene) => {
    const apiKeyId = await selfOf(await server.apiKey('writer', scene.project.id))
    const session = sessionRecord({ apiKeyId, expireTime: server.inFuture(3_600_000) })
    await commit({ type: 'session.create', origin: origin(), session, idleSince: '' })
    const id = await byCredential(scene, { type: 'session', id: session.id })
    return { apiKeyId, session, id }
  }

  test.each<[string, string, (scene: RotationScene) => Promise<string>]>([
    [
      'was revoked',
      'invalid_api_key',
      async (scene) => {
        const { id, author } = await byApiKey(scene)
        const body = { active: false }
        await server.send('PATCH', `/v1/api-keys/${author}`, { body })
        return id
      },
    ],
    [
      'was deleted',
      'invalid_api_key',
      async (scene) => {
        const { id, author } = await byApiKey(scene)
        await server.send('DELETE', `/v1/api-keys/${author}`)
        return id
      },
    ],
    [
      'was demoted',
      'insufficient_role',
      async (scene) => {
        const { id, author } = await byApiKey(scene)
        await server.send('PATCH', `/v1/api-keys/${author}`, { body: { role: 'registrar' } })
        return id
      },
    ],
    [
      'has expired',
      'invalid_api_key',
      async (scene) => (await byApiKey(scene, server.inFuture(convergenceMs))).id,
    ],
    [
      'is a person whose session was revoked',
      'invalid_session',
      async (scene) => {
        const { id, session } = await sessionOf(scene)
        await endSession(session.id, 'revoked')
        return id
      },
    ],
    [
      'is a person whom the provider has signed out',
      'invalid_session',
      async (scene) => {
        const { id, session } = await sessionOf(scene)
        await endSession(session.id, 'provider_logout')
        return id
      },
    ],
    [
      'is a person whose sessions were all ended after they had signed out',
      'invalid_session',
      async (scene) => {
        const { id, session, person } = await sessionOf(scene)
        await endSession(session.id, 'signed_out')
        const ended = { personId: person.id }
        await commit({ type: 'session.end', origin: origin(), ended, reason: 'revoked' })
        return id
      },
    ],
    [
      'is a person whom the provider has signed out after they had signed out here',
      'invalid_session',
      async (scene) => {
        const { id, session, person } = await sessionOf(scene)
        await endSession(session.id, 'signed_out')
        const ended = { ids: [], identity: person }
        await commit({ type: 'session.end', origin: origin(), ended, reason: 'provider_logout' })
        return id
      },
    ],
    [
      'is a person who was erased, and has signed in again',
      'invalid_session',
      async (scene) => {
        const { id, person } = await sessionOf(scene)
        await commit({ type: 'person.delete', origin: origin(), id: person.id })
        const { name: group } = scene.project
        const again = { subject: person.subject, groups: [group] }
        await createPersonSession(server.context.store, {}, again)
        return id
      },
    ],
    [
      'is a person whose rule was deleted',
      'insufficient_role',
      async (scene) => {
        const { id, rule } = await sessionOf(scene)
        await commit({ type: 'sign_in_rule.delete', origin: origin(), id: rule.id })
        return id
      },
    ],
    [
      'is a person whose rule was changed, even if it gives them more',
      'insufficient_role',
      async (scene) => {
        const { id, rule } = await sessionOf(scene)
        const patch = { role: 'admin' } as const
        await commit({ type: 'sign_in_rule.update', origin: origin(), id: rule.id, patch })
        return id
      },
    ],
    [
      'is a workload whose policy is gone',
      'invalid_api_key',
      async (scene) => {
        const { id, policy } = await workloadOf(scene)
        await commit({ type: 'trust_policy.delete', origin: origin(), id: policy.id })
        return id
      },
    ],
    [
      'is a workload whose policy was off for a moment',
      'invalid_api_key',
      async (scene) => {
        const { id, policy } = await workloadOf(scene)
        for (const active of [false, true]) {
          const change = { origin: origin(), id: policy.id, patch: { active } }
          await commit({ type: 'trust_policy.update', ...change })
        }
        return id
      },
    ],
    [
      'is an API key that had signed in, and was revoked',
      'invalid_api_key',
      async (scene) => {
        const { id, apiKeyId } = await apiKeySessionOf(scene)
        await server.send('PATCH', `/v1/api-keys/${apiKeyId}`, { body: { active: false } })
        return id
      },
    ],
  ])('%s', async (_name, reason, schedule) => {
    const scene = await server.scene()
    const id = await schedule(scene)
    server.clock.advance(soon)
    await server.takeDue()
    await server.takeDue()
    expect((await server.roles(scene))[scene.from]).toBe('previous')
    const { state, schedule: waiting } = await server.get(scene, id)
    expect(state).toBe('overlapping')
    expect(waiting).toMatchObject({
      waitingReason: reason,
      waitingDetail: expect.stringMatching(/^The author of the step /),
    })
    const types = await typesOf(scene)
    expect(types.filter((type) => type === 'rotation.waiting')).toHaveLength(1)
    expect((await server.events(scene)).at(-1)).toMatchObject({
      type: 'rotation.waiting',
      actor: { name: 'pubring serve' },
      changes: { waitingReason: { to: reason } },
    })
    // A colleague goes on with it.
    const finished = await server.send('POST', `${scene.url}/${id}/finish`)
    expect(finished.json()).toMatchObject({ state: 'finished' })
    expect(finished.json()).not.toHaveProperty('schedule')
  })

  test.each([
    ['did not sign in recently', 3_600_000, 'overlapping', 'recent_sign_in_required'],
    ['could not take it; one who signed in recently still can', 0, 'finished', undefined],
  ])('%s, when no active key would be left', async (_name, ms, state, reason) => {
    const scene = await server.scene()
    const { id } = await sessionOf(scene, ms)
    await patchKey(
      server,
      scene.to,
      { expireTime: server.inFuture(86_400_000) },
      scene.project.keys,
    )
    server.clock.advance(soon)
    await server.takeDue()
    const rotation = await server.get(scene, id)
    expect(rotation.state).toBe(state)
    expect(rotation.schedule?.waitingReason).toBe(reason)
    expect(rotation.schedule?.waitingDetail).toBe(
      reason &&
        'A recent sign-in is required. Finish the rotation, schedule it anew, or abandon it.',
    )
  })

  test.each<[string, (scene: RotationScene) => Promise<string>]>([
    ['a person whose session was not used for long', async (scene) => (await sessionOf(scene)).id],
    [
      'a person who has signed out',
      async (scene) => {
        const { id, session } = await sessionOf(scene)
        await endSession(session.id, 'signed_out')
        return id
      },
    ],
    [
      'a person, while a session of another person was revoked',
      async (scene) => {
        const { id } = await sessionOf(scene)
        const { session } = await createPersonSession(server.context.store)
        await endSession(session.id, 'revoked')
        return id
      },
    ],
    [
      'an API key that had signed in, and out',
      async (scene) => {
        const { id, session } = await apiKeySessionOf(scene)
        await endSession(session.id, 'revoked')
        return id
      },
    ],
    ['a workload whose API key of minutes is over', async (scene) => (await workloadOf(scene)).id],
  ])('could not take it; %s still can', async (_name, schedule) => {
    const scene = await server.scene()
    const id = await schedule(scene)
    server.clock.advance(86_400_000)
    await server.takeDue()
    const { state, schedule: waiting } = await server.get(scene, id)
    expect(state, waiting?.waitingReason).toBe('finished')
    const [before, after] = [scheduledEvent(await server.events(scene)), await lastEvent(scene)]
    expect(after?.actor).toEqual(before?.actor)
    expect(before?.type).toBe('rotation.scheduled')
  })
})

const scheduledEvent = (events: LedgerEvent[]) =>
  events.find(({ type }) => type === 'rotation.scheduled')
const lastEvent = async (scene: RotationScene) => (await server.events(scene)).at(-1)

describe('a step that the rules forbid at its time waits', () => {
  test('while the new key is off, and is taken once it is scheduled anew', async () => {
    const scene = await server.scene()
    const { id } = await scheduled(scene)
    await patchKey(server, scene.to, { active: false }, scene.project.keys)
    server.clock.advance(soon)
    await server.takeDue()
    const { schedule } = await server.get(scene, id)
    expect(schedule?.waitingReason).toBe('rotation_not_ready')
    expect((await server.roles(scene))[scene.from]).toBe('current')
    await patchKey(server, scene.to, { active: true }, scene.project.keys)
    const body = { disableTime: server.inFuture(soon) }
    const anew = await server.send('PATCH', `${scene.url}/${id}`, { body })
    expect(anew.json().schedule).not.toHaveProperty('waitingReason')
    server.clock.advance(soon)
    await server.takeDue()
    expect((await server.get(scene, id)).state).toBe('finished')
  })

  test('if the old key was activated again before its deletion', async () => {
    const scene = await server.scene()
    const { id } = await scheduled(scene, undefined, { deleteTime: server.inFuture(2 * soon) })
    server.clock.advance(soon)
    await server.takeDue()
    await patchKey(server, scene.from, { active: true }, scene.project.keys)
    server.clock.advance(soon)
    await server.takeDue()
    expect((await server.get(scene, id)).schedule?.waitingReason).toBe('key_active')
    expect(await server.roles(scene)).toHaveProperty(scene.from)
  })

  test('until every verifier knows that the old key, which was on again, is off', async () => {
    const scene = await server.scene()
    await scheduled(scene, undefined, { deleteTime: server.inFuture(2 * soon) })
    server.clock.advance(soon)
    await server.takeDue()
    await patchKey(server, scene.from, { active: true }, scene.project.keys)
    server.clock.advance(soon - 1_000)
    await patchKey(server, scene.from, { active: false }, scene.project.keys)
    server.clock.advance(1_000)
    await server.takeDue()
    expect(await server.roles(scene)).toHaveProperty(scene.from)
    server.clock.advance(convergenceMs)
    await server.takeDue()
    expect(await server.roles(scene)).not.toHaveProperty(scene.from)
  })

  test('if the old key vouched for keys, apart from the new one, that are not decided about', async () => {
    const scene = await server.scene()
    const { keys } = scene.project
    const other = await registerKey(server, {}, keys)
    // As if the old key had vouched for both.
    for (const kid of [scene.to, other]) await introduce(scene, kid)
    const undecided = await scheduled(scene)
    server.clock.advance(soon)
    await server.takeDue()
    const waiting = await server.get(scene, undecided.id)
    expect(waiting.schedule?.waitingReason).toBe('key_has_descendants')
    const body = { disableTime: server.inFuture(soon), descendants: true }
    await server.send('PATCH', `${scene.url}/${undecided.id}`, { body })
    server.clock.advance(soon)
    await server.takeDue()
    expect(await server.roles(scene)).toEqual({
      [scene.from]: 'off',
      [scene.to]: 'current',
      [other]: 'off',
    })
  })

  /** Records the key anew as one that the old key vouched for, as its registration would. */
  async function introduce({ project, from }: RotationScene, kid: string) {
    const { database, context } = server
    await database.execute('update jwt_key set introduced_by = ? where id = ?', from, kid)
    const own = { ledgerId: project.id, origin: origin() }
    await context.store.commit({ type: 'ledger.accept', ...own })
  }
})

test('a row that contradicts the ledger takes no step, and changes no role', async () => {
  const [altered, inserted] = [await server.scene(), await server.scene()]
  const { id } = await scheduled(altered)
  const { database } = server
  const past = new Date(server.clock.now()).toISOString()
  server.clock.advance(convergenceMs)
  await database.execute('update rotation set due_time = ? where id = ?', past, id)
  await database.execute(
    `insert into rotation (project_id, id, from_kid, to_kid, create_time, update_time, disable_time, due_time, author)
     select ?, ?, ?, ?, create_time, update_time, disable_time, due_time, author from rotation where id = ?`,
    ...[inserted.project.id, newId(), inserted.from, inserted.to, id],
  )
  await server.takeDue()
  for (const scene of [altered, inserted]) {
    expect(await server.roles(scene)).toEqual({ [scene.from]: 'current', [scene.to]: 'current' })
    expect((await server.send('GET', scene.url)).json()).toEqual([])
  }
  expect((await server.send('GET', `${altered.url}/${id}`)).statusCode).toBe(404)
  for (const { project } of [altered, inserted]) {
    await database.execute('delete from rotation where project_id = ?', project.id)
  }
})

test('rows that cannot be used, however many, do not keep the others from their steps', async () => {
  const [broken, whole] = [await server.scene(), await server.scene()]
  await scheduled(whole)
  const { database } = server
  const time = new Date(server.clock.now()).toISOString()
  const values = Array.from({ length: 101 }, () => '(?, ?, ?, ?, ?, ?, ?)').join(', ')
  const rows = Array.from({ length: 101 }, () => {
    return [broken.project.id, newId(), broken.from, broken.to, time, time, time]
  })
  await database.execute(
    `insert into rotation (project_id, id, from_kid, to_kid, create_time, update_time, due_time) values ${values}`,
    ...rows.flat(),
  )
  server.clock.advance(soon)
  await server.takeDue()
  expect((await server.roles(whole))[whole.from]).toBe('off')
  await database.execute('delete from rotation where project_id = ?', broken.project.id)
})

describe('a step is taken once', () => {
  test('by two servers at the same time', async () => {
    const scenes = [await server.scene(), await server.scene(), await server.scene()]
    for (const scene of scenes) await scheduled(scene)
    server.clock.advance(soon)
    const other = await openStore(server.database.url)
    const fail = (error: unknown) => {
      throw error
    }
    await Promise.all([
      takeDueSteps(server.context, fail),
      takeDueSteps({ ...server.context, store: other }, fail),
    ])
    await other.close()
    for (const scene of scenes) {
      const types = await typesOf(scene)
      expect(types.filter((type) => type === 'rotation.finished')).toHaveLength(1)
      expect(types.filter((type) => type === 'key.updated')).toHaveLength(1)
    }
  })

  test('by two servers that find at the same time that it cannot be taken', async () => {
    const scene = await server.scene()
    await scheduled(scene)
    await patchKey(server, scene.to, { active: false }, scene.project.keys)
    server.clock.advance(soon)
    const other = await openStore(server.database.url)
    const contexts = [server.context, { ...server.context, store: other }]
    await Promise.all(contexts.map((context) => takeDueSteps(context, () => {})))
    await other.close()
    const types = await typesOf(scene)
    expect(types.filter((type) => type === 'rotation.waiting')).toHaveLength(1)
  })

  test('although a server ends after it was refused, and before it says so', async () => {
    const scene = await server.scene()
    const { id } = await scheduled(scene)
    await patchKey(server, scene.to, { active: false }, scene.project.keys)
    server.clock.advance(soon)
    const { store } = server.context
    const commit: typeof store.commit = (change) => {
      return change.type === 'rotation.wait'
        ? Promise.reject(new Error('killed'))
        : store.commit(change)
    }
    const errors: unknown[] = []
    const dying = { ...server.context, store: { ...store, commit } }
    await takeDueSteps(dying, (error) => errors.push(error))
    expect(errors).toHaveLength(1)
    expect((await server.get(scene, id)).schedule).not.toHaveProperty('waitingReason')
    await server.takeDue()
    expect((await server.get(scene, id)).schedule?.waitingReason).toBe('rotation_not_ready')
  })

  test('although one of several cannot be taken', async () => {
    const [broken, whole] = [await server.scene(), await server.scene()]
    for (const scene of [broken, whole]) await scheduled(scene)
    server.clock.advance(soon)
    const { store } = server.context
    const commit: typeof store.commit = (change) => {
      return 'projectId' in change && change.projectId === broken.project.id
        ? Promise.reject(new Error('no'))
        : store.commit(change)
    }
    await takeDueSteps({ ...server.context, store: { ...store, commit } }, () => {})
    expect((await server.roles(whole))[whole.from]).toBe('off')
    expect((await server.roles(broken))[broken.from]).toBe('previous')
    await server.takeDue()
    expect((await server.roles(broken))[broken.from]).toBe('off')
  })
})

test('a server takes due steps by itself', async () => {
  const scene = await server.scene()
  const { id } = await scheduled(scene)
  server.clock.advance(soon)
  await expect
    .poll(async () => (await server.get(scene, id)).state, { interval: 50 })
    .toBe('finished')
})

test('a step that waits is a warning, and a rotation under way is part of the health of its project', async () => {
  const scene = await server.scene()
  const { id: projectId } = scene.project
  const reader = { 'x-api-key': await server.apiKey('reader', projectId) }
  const read = async (url: string) => (await server.send('GET', url, { headers: reader })).json()
  const body = { name: 'leaving', role: 'writer', project: projectId }
  const { apiKey, id } = (await server.send('POST', '/v1/api-keys', { body })).json()
  await scheduled(scene, apiKey)
  expect(await read('/v1/project-health')).toMatchObject([{ rotations: 1, warnings: 0 }])
  await server.send('DELETE', `/v1/api-keys/${id}`)
  server.clock.advance(soon)
  await server.takeDue()
  expect(await read('/v1/warnings')).toMatchObject([
    { code: 'rotation_waiting', severity: 'warning', projectId, kid: scene.from, label: 'old' },
  ])
  expect(await read('/v1/project-health')).toMatchObject([{ rotations: 1, warnings: 1 }])
  const time = new Date(server.clock.now()).toISOString()
  const census = await server.context.store.census(time)
  expect(census.warnedProjects).toContain(projectId)
  expect(census.warnings.map(({ code }) => code)).toContain('rotation_waiting')
})
