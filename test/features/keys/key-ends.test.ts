import { describe, expect, test } from 'vitest'
import type { JwtKeyUpdate } from '../../../packages/server/src/features/keys/contract.ts'
import { patchKey } from '../../../packages/server/src/features/keys/patches.ts'
import { endOf as shownEnd } from '../../../packages/server/src/features/keys/states.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { isoTime } from '../../../packages/server/src/kernel/values/times.ts'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { keysUrl, keyUrl, newProject, registerKey } from '../../support/app/keys.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { keyRecord } from '../../support/store/key-records.ts'

const clock = stoppedClock()
const server = await startApp({ clock, config: { maxKeysPerProject: 500, maxJwksBytes: 1e6 } })

const patch = (kid: string, body: object, headers = {}) =>
  server.send('PATCH', keyUrl(kid), { body, headers })
const endOf = async (kid: string) => {
  const { details } = (await server.send('GET', keyUrl(kid))).json()
  return details.ended
}
const later = () => {
  clock.advance(1_000)
  return isoTime(clock.now())
}
const hour = 3_600_000

describe('the end of a key', () => {
  test('is in the tag, so that another reason is a change, also in one millisecond', async () => {
    const kid = await registerKey(server)
    const off = await patch(kid, { active: false })
    const headers = { 'if-match': String(off.headers.etag) }
    expect((await patch(kid, { reason: 'superseded' }, headers)).statusCode).toBe(200)
    expect((await patch(kid, { label: 'x' }, headers)).statusCode).toBe(412)
  })

  test('has the time and the reason of its deactivation, in the ledger too', async () => {
    const kid = await registerKey(server)
    expect(await endOf(kid)).toBeUndefined()
    const time = later()
    const off = await patch(kid, { active: false, reason: 'superseded' })
    expect(off.json().details.ended).toEqual({ time, reason: 'superseded' })
    later()
    expect(await endOf(kid)).toEqual({ time, reason: 'superseded' })
    const events = await readEvents(server.context.store.reader, server.project.id, {
      after: 0,
      limit: 1_000,
    })
    expect(events.at(-1)?.changes).toMatchObject({
      active: { from: true, to: false },
      reason: { to: 'superseded' },
    })
  })

  test('of a key that was never active is the reason alone, and part of its tag', async () => {
    const key = ecKey()
    const { publicKeyPem } = key
    const kid = await registerKey(server, { active: false, publicKeyPem })
    expect(await endOf(kid)).toBeUndefined()
    const { etag } = (await server.send('GET', keyUrl(kid))).headers
    await patch(kid, { reason: 'superseded' })
    expect(await endOf(kid)).toEqual({ reason: 'superseded' })
    expect((await server.send('GET', keyUrl(kid))).headers.etag).not.toBe(etag)
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: privatePem(key) }
    await server.send('POST', keysUrl, { body })
    expect(await endOf(kid)).toEqual({ reason: 'compromised' })
  })

  const at = (hours: number) => isoTime(Date.parse('2030-01-01T00:00:00Z') + hours * hour)
  const reason = 'superseded'

  const unspecified = 'unspecified'

  /** Changes by the hour of the change. */
  test.each<[string, Record<number, JwtKeyUpdate>, ReturnType<typeof shownEnd>]>([
    ['goes on', { 1: { label: 'n' } }, undefined],
    ['is off', { 1: { active: false } }, { time: at(1), reason: unspecified }],
    ['is active again', { 1: { active: false, reason }, 2: { active: true } }, undefined],
    [
      'is off again',
      { 1: { active: false, reason }, 2: { active: true }, 3: { active: false } },
      { time: at(3), reason: unspecified },
    ],
    ['has not expired', { 1: { expireTime: at(9), reason } }, undefined],
    [
      'has expired, whatever happens to it afterwards',
      { 1: { expireTime: at(2), reason }, 3: { label: 'old' }, 4: { active: false } },
      { time: at(2), reason },
    ],
    [
      'has expired, but is off instead',
      { 1: { expireTime: at(2), reason }, 3: { active: false }, 4: { expireTime: null } },
      { time: at(2), reason },
    ],
    [
      'expires later',
      { 1: { expireTime: at(3), reason }, 2: { expireTime: at(4) } },
      { time: at(4), reason },
    ],
    [
      'expires no more',
      { 1: { expireTime: at(2), reason }, 3: { expireTime: null }, 4: { active: false } },
      { time: at(4), reason: unspecified },
    ],
  ])('is the last one of a key that %s', (_name, changes, expected) => {
    let key = keyRecord(newId())
    for (const [hours, change] of Object.entries(changes)) {
      key = patchKey(key, change, at(Number(hours)))
    }
    expect(shownEnd(key, at(6))).toEqual(expected)
  })
})

describe('a reason', () => {
  test('is raised, never lowered, and a weaker one changes nothing', async () => {
    const kid = await registerKey(server)
    const time = later()
    await patch(kid, { active: false })
    for (const reason of ['unspecified', 'superseded', 'compromised']) {
      later()
      expect((await patch(kid, { reason })).statusCode).toBe(200)
      expect(await endOf(kid)).toEqual({ time, reason })
    }
    const { updateTime } = (await server.send('GET', keyUrl(kid))).json()
    for (const reason of ['unspecified', 'superseded']) {
      later()
      expect((await patch(kid, { reason })).json()).toMatchObject({
        status: 400,
        code: 'invalid_request',
        errors: [{ pointer: '/reason', code: 'reason_lowered' }],
      })
    }
    expect((await patch(kid, { reason: 'compromised' })).json()).toMatchObject({ updateTime })
  })

  test.each([{}, { active: true, expireTime: null }])(
    'is refused for a key that goes on, with %j',
    async (change) => {
      const kid = await registerKey(server)
      expect((await patch(kid, { ...change, reason: 'superseded' })).json()).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '/reason', code: 'reason_without_end' }],
      })
    },
  )

  test.each(['Compromised', null])('is not %j', async (reason) => {
    const kid = await registerKey(server)
    const answer = await patch(kid, { active: false, reason })
    expect(answer.json()).toMatchObject({ code: 'invalid_request' })
    expect(await endOf(kid)).toBeUndefined()
  })
})

describe('a key that ended as compromised', () => {
  const compromise = (kid: string) => patch(kid, { active: false, reason: 'compromised' })

  test('is never activated again, not by a new expiry either', async () => {
    const kid = await registerKey(server)
    await compromise(kid)
    for (const change of [{ active: true }, { active: true, expireTime: null }]) {
      const again = await patch(kid, change)
      expect(again.json()).toMatchObject({ status: 409, code: 'key_compromised' })
    }
    const states = (await server.send('GET', '/v1/projects/payments/key-states')).json()
    expect(states).toContainEqual(
      expect.objectContaining({ kid, state: 'off', endsBecause: 'compromised' }),
    )
  })

  test('ends sooner, and never later', async () => {
    const kid = await registerKey(server)
    const at = (hours: number) => isoTime(clock.now() + hours * hour)
    await patch(kid, { expireTime: at(2), reason: 'compromised' })
    for (const expireTime of [null, at(3)]) {
      const later = await patch(kid, { expireTime })
      expect(later.json()).toMatchObject({ status: 409, code: 'key_compromised' })
    }
    expect((await patch(kid, { label: 'n' })).statusCode).toBe(200)
    expect((await patch(kid, { expireTime: at(1) })).json()).toMatchObject({ expireTime: at(1) })
    expect((await patch(kid, { active: false, expireTime: null })).statusCode).toBe(200)
  })

  test('is not registered again after its deletion, in its project alone', async () => {
    const { publicKeyPem } = ecKey()
    const kid = await registerKey(server, { publicKeyPem })
    await compromise(kid)
    expect((await server.send('DELETE', keyUrl(kid))).statusCode).toBe(204)
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem }
    expect((await server.send('POST', keysUrl, { body })).json()).toMatchObject({
      code: 'compromised_key',
      errors: [{ pointer: '/publicKeyPem', code: 'key_known_compromised' }],
    })
    const other = await newProject(server, 'other')
    const checkIn = async (project?: string) => {
      const headers = { 'x-api-key': await server.apiKey('writer', project) }
      const checked = { algorithm: 'ES256', publicKeyPem }
      return (await server.send('POST', '/v1/key-checks', { body: checked, headers })).json()
    }
    expect(await checkIn(server.project.id)).toMatchObject({
      accepted: false,
      problem: 'compromised_key',
      faults: [{ code: 'key_known_compromised', detail: expect.stringContaining('ended') }],
    })
    for (const project of [undefined, other.id]) {
      expect(await checkIn(project)).toMatchObject({ accepted: true })
    }
    expect((await server.send('POST', other.keys, { body })).statusCode).toBe(201)
  })

  test('by the submission of its private half may end later, though not without an end', async () => {
    const key = ecKey()
    const kid = await registerKey(server, { publicKeyPem: key.publicKeyPem })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: privatePem(key) }
    await server.send('POST', keysUrl, { body })
    expect(await endOf(kid)).toBeUndefined()
    const expireTime = isoTime(clock.now() + hour)
    expect((await patch(kid, { expireTime })).json()).toMatchObject({ expireTime })
    expect((await patch(kid, { expireTime: null })).json().code).toBe('key_compromised')
    const time = later()
    await patch(kid, { active: false })
    expect(await endOf(kid)).toEqual({ time, reason: 'compromised' })
  })
})
