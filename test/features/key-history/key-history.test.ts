import { describe, expect, test } from 'vitest'
import { historyText } from '../../../packages/server/src/features/key-history/history.ts'
import { kernelChanges } from '../../../packages/server/src/kernel/kernel-changes.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { newProject, patchKey, registerKey, type TestProject } from '../../support/app/keys.ts'
import { edKey } from '../../support/keys/pem.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { origin } from '../../support/store/store.ts'

const clock = stoppedClock()
const server = await startApp({ clock })

/** Of a whole second, so that times in the document are those of the changes. */
clock.advance(1_000 - (clock.now() % 1_000))

const now = () => clock.now() / 1_000
const isoIn = (seconds: number) => new Date(clock.now() + seconds * 1_000).toISOString()
const historyUrl = ({ name }: TestProject) => `/v1/projects/${name}/.well-known/key-history.json`
const get = (url: string, headers: Record<string, string> = {}) =>
  server.inject({ method: 'GET', url, headers })
const historyOf = async (project: TestProject) => (await get(historyUrl(project))).json()
const patch = (project: TestProject, kid: string, body: object) =>
  patchKey(server, kid, body, project.keys)

describe('a key in the history', () => {
  test('has its JWK and the times at which it was active', async () => {
    const project = await newProject(server, 'one-life')
    const kid = await registerKey(server, {}, project.keys)
    const from = now()
    const [jwk] = (await get(project.jwks)).json().keys
    const shown = { ...jwk, iat: from, active_from: from }
    expect((await historyOf(project)).keys).toEqual([shown])
    clock.advance(10_000)
    await patch(project, kid, { active: false })
    const end = { exp: now(), revoked: { revoked_at: now(), reason: 'unspecified' } }
    expect((await historyOf(project)).keys).toEqual([{ ...shown, ...end }])
  })

  test('that was off in between says so, and one that was never active is not listed', async () => {
    const project = await newProject(server, 'two-lives')
    const kid = await registerKey(server, { active: false }, project.keys)
    expect((await historyOf(project)).keys).toEqual([])
    const iat = now()
    clock.advance(5_000)
    const gaps: { from: number; until: number }[] = []
    await patch(project, kid, { active: true })
    const active_from = now()
    for (const how of ['off', 'expired'] as const) {
      clock.advance(10_000)
      const from = how === 'off' ? now() : now() + 3
      await patch(project, kid, how === 'off' ? { active: false } : { expireTime: isoIn(3) })
      clock.advance(10_000)
      await patch(project, kid, { active: true, expireTime: null })
      gaps.push({ from, until: now() })
    }
    const [key] = (await historyOf(project)).keys
    expect(key).toMatchObject({ iat, active_from, inactive: gaps })
    expect(key).not.toHaveProperty('exp')
    expect(key).not.toHaveProperty('revoked')
  })

  test('that was off more than a hundred times claims less trust, and never more', () => {
    const time = (seconds: number) => new Date(seconds * 1_000).toISOString()
    const key = keyRecord(newId())
    const spans = Array.from({ length: 104 }, (_, at) => ({
      ...{ from: time(10 * at + 5), ...(at < 103 && { until: time(10 * at + 10) }) },
    }))
    const lives = new Map([[key.id, { id: key.id, members: {}, spans }]])
    const history = { name: '', revision: 1, head: '', keys: [key], lives }
    const [{ inactive }] = JSON.parse(historyText('', key.projectId, history)).keys
    expect(inactive).toHaveLength(100)
    expect(inactive[0]).toEqual({ from: 10, until: 45 })
    expect(inactive.at(-1)).toEqual({ from: 1_030, until: 1_035 })
  })

  test('that expires has an exp, and is not revoked unless there is a reason', async () => {
    const project = await newProject(server, 'expiring')
    const kid = await registerKey(server, { expireTime: isoIn(60) }, project.keys)
    const exp = now() + 60
    for (const advance of [0, 120_000]) {
      clock.advance(advance)
      const [key] = (await historyOf(project)).keys
      expect(key).toMatchObject({ exp })
      expect(key).not.toHaveProperty('revoked')
    }
    await patch(project, kid, { reason: 'superseded' })
    const revoked = { revoked_at: exp, reason: 'superseded' }
    expect((await historyOf(project)).keys).toMatchObject([{ exp, revoked }])
  })

  test('counts a second only if it was active during all of it', async () => {
    const project = await newProject(server, 'within-seconds')
    clock.advance(500)
    const kid = await registerKey(server, {}, project.keys)
    clock.advance(2_000)
    await patch(project, kid, { active: false })
    clock.advance(2_000)
    await patch(project, kid, { active: true })
    const [key] = (await historyOf(project)).keys
    const time = now() - 0.5
    expect(key).toMatchObject({
      active_from: time - 3,
      inactive: [{ from: time - 2, until: time + 1 }],
    })
    clock.advance(500)
  })

  test('claims no more trust if the clock was set back', async () => {
    const project = await newProject(server, 'set-back')
    const kid = await registerKey(server, {}, project.keys)
    const from = now()
    clock.advance(-10_000)
    await patch(project, kid, { active: false })
    expect((await historyOf(project)).keys).toEqual([])
    clock.advance(1_000)
    await patch(project, kid, { active: true, expireTime: isoIn(60) })
    expect((await historyOf(project)).keys).toMatchObject([{ active_from: from, exp: now() + 60 }])
    clock.advance(60_000)
  })

  test('that is compromised says since when that is known', async () => {
    const project = await newProject(server, 'compromised')
    const kid = await registerKey(server, { expireTime: isoIn(3_600) }, project.keys)
    clock.advance(10_000)
    await patch(project, kid, { expireTime: isoIn(3_600), reason: 'compromised' })
    const revoked = { revoked_at: now(), reason: 'compromised' }
    clock.advance(10_000)
    await patch(project, kid, { active: false })
    expect((await historyOf(project)).keys).toMatchObject([{ exp: now(), revoked }])
  })

  test('that is deleted leaves its kid, its thumbprint and its times', async () => {
    const project = await newProject(server, 'deleted')
    const { publicKeyPem } = edKey()
    const members = { publishedKid: 'orders-1', algorithm: 'EdDSA', publicKeyPem }
    const kid = await registerKey(server, members, project.keys)
    const active_from = now()
    const read = (await server.send('GET', `${project.keys}/${kid}`)).json()
    clock.advance(10_000)
    await patch(project, kid, { active: false, reason: 'superseded' })
    const end = { exp: now(), revoked: { revoked_at: now(), reason: 'superseded' } }
    clock.advance(10_000)
    await server.send('DELETE', `${project.keys}/${kid}`)
    const { thumbprint } = read.details
    const { keys, deleted } = await historyOf(project)
    expect(keys).toEqual([])
    const entry = { kid: 'orders-1', thumbprint, active_from, ...end, deleted_at: now() }
    expect(deleted).toEqual([entry])
  })
})

describe('the document', () => {
  test('is the same by id and by name, with the headers of the key set', async () => {
    const project = await newProject(server, 'headers')
    await registerKey(server, {}, project.keys)
    const [jwks, byName] = [await get(project.jwks), await get(historyUrl(project))]
    const byId = await get(historyUrl({ ...project, name: project.id }))
    expect(byId.body).toBe(byName.body)
    const absent = await get(historyUrl({ ...project, name: 'absent' }))
    expect(absent.json()).toMatchObject({ code: 'project_not_found' })
    for (const header of ['cache-control', 'pubring-revision', 'content-type']) {
      expect([header, byName.headers[header]]).toEqual([header, jwks.headers[header]])
    }
    expect(byName.headers['access-control-allow-origin']).toBe('*')
    const { id } = project
    const address = `${server.context.config.publicUrl}/v1/projects/${id}`
    expect(byName.headers['content-location']).toBe(`${address}/.well-known/key-history.json`)
    const etag = String(byName.headers.etag)
    expect((await get(historyUrl(project), { 'if-none-match': etag })).statusCode).toBe(304)
  })

  test('names the head of the ledger that it rests on, and changes with it', async () => {
    const { id: ledgerId, ...project } = await newProject(server, 'heads')
    const iss = `${server.context.config.publicUrl}/v1/projects/${ledgerId}`
    for (let round = 0; round < 3; round += 1) {
      await registerKey(server, {}, project.keys)
      const { revision, hash: head } =
        (await server.context.store.heads([ledgerId])).get(ledgerId) ?? {}
      const history = await historyOf({ id: ledgerId, ...project })
      expect(history).toMatchObject({ iss, ledgerId, revision, head })
    }
  })

  test.each([
    ['time', '2020-01-01T00:00:00.000Z'],
    ['changes', null],
    ['changes', '{'],
  ])(
    'is not made of an event with another %s, %j, unless an operator accepts it',
    async (column, value) => {
      const { database, context } = server
      const project = await newProject(server, `altered-${column}-${String(value).length}`)
      const { id: ledgerId } = project
      await registerKey(server, {}, project.keys)
      clock.advance(10_000)
      const last = await registerKey(server, {}, project.keys)
      const set = `update event set ${column} = ? where project_id = ? and revision = 2`
      await database.execute(set, value, ledgerId)
      const refused = await get(historyUrl(project))
      expect(refused.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
      await context.store.commit(kernelChanges.acceptLedger, { origin: origin(), ledgerId })
      const { keys } = await historyOf(project)
      expect(keys).toContainEqual(expect.objectContaining({ kid: last, active_from: now() }))
    },
  )

  test('never continues what was read before a loss of revisions that an operator accepted', async () => {
    const { database, context } = server
    const project = await newProject(server, 'lost-revisions')
    const { id: ledgerId } = project
    const kept = await registerKey(server, {}, project.keys)
    const before = (await context.store.heads([ledgerId])).get(ledgerId)
    const lost = await registerKey(server, {}, project.keys)
    expect((await historyOf(project)).keys).toHaveLength(2)
    const undo = 'delete from event where project_id = ? and revision > 2'
    await database.execute(undo, ledgerId)
    await database.execute('delete from jwt_key where id = ?', lost)
    const set = 'update ledger set revision = 2, hash = ? where project_id = ?'
    await database.execute(set, before?.hash ?? '', ledgerId)
    const later: object[] = []
    for (let count = 0; count < 2; count += 1) {
      clock.advance(10_000)
      const kid = await registerKey(server, {}, project.keys)
      later.push({ kid, active_from: now() })
    }
    clock.advance(10_000)
    await context.store.commit(kernelChanges.acceptLedger, { origin: origin(), ledgerId })
    const { keys } = await historyOf(project)
    expect(keys).toMatchObject([{ kid: kept }, ...later])
  })
})
