import { describe, expect, test } from 'vitest'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { listProjects } from '../../../packages/server/src/features/projects/operations.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, origin } from '../../support/store/store.ts'

const clock = stoppedClock()
const server = await startApp({ clock })
const hour = 3_600_000

const post = (body: object, query = '') => server.send('POST', `/v1/projects${query}`, { body })
const create = (name: string, query = '') => post({ name }, query)
const rename = (id: string, name: string, query = '') =>
  server.send('PATCH', `/v1/projects/${id}${query}`, { body: { name } })
const remove = (id: string) => server.send('DELETE', `/v1/projects/${id}`)

describe('the names of projects', () => {
  let names = 0
  /** A name, with the id of the project that has it and of another one. */
  async function holder() {
    names += 1
    const name = `held-${names}`
    const [owner, other] = [await create(name), await create(`other-${names}`)]
    return { name, id: String(owner.json().id), otherId: String(other.json().id) }
  }

  test.each([
    ['a renaming', (id: string) => rename(id, `renamed-${id.slice(-6)}`)],
    ['a deletion', (id: string) => remove(id)],
  ])(
    'one given up by %s is refused to others for 24 hours, unless they release it',
    async (_way, giveUp) => {
      const [one, two] = [await holder(), await holder()]
      const { name, otherId } = one
      for (const { id } of [one, two]) expect((await giveUp(id)).statusCode).toBeLessThan(300)
      const heldUntil = new Date(clock.now() + 24 * hour).toISOString()
      clock.advance(24 * hour - 1)
      const tried = await post({ name, dryRun: true })
      const created = await create(name, '?release=false')
      for (const refused of [tried, created, await rename(otherId, name)]) {
        expect(refused.json()).toMatchObject({
          status: 409,
          code: 'project_name_taken',
          heldUntil,
          detail: expect.stringContaining(heldUntil),
        })
      }
      expect((await server.send('GET', `/v1/projects/${name}`)).statusCode).toBe(404)
      expect((await server.send('GET', `/v1/projects/${otherId}`)).json().name).not.toBe(name)
      expect((await rename(two.otherId, two.name, '?release=true')).statusCode).toBe(200)
      clock.advance(1)
      expect((await create(name)).statusCode).toBe(201)
    },
  )

  test('one that was given up is given back to its project at once', async () => {
    const { name, id } = await holder()
    await rename(id, `${name}-mistaken`)
    expect((await rename(id, name)).statusCode).toBe(200)
    // The project gives up the other name as well.
    expect((await create(`${name}-mistaken`)).json().code).toBe('project_name_taken')
    expect((await create(`${name}-mistaken`, '?release=true')).statusCode).toBe(201)
  })

  test('the last project that had one may take it back, and not one before it', async () => {
    const { name, id, otherId } = await holder()
    await rename(id, `${name}-old`)
    await rename(otherId, name, '?release=true')
    await rename(otherId, `${name}-other`)
    expect((await rename(id, name)).json().code).toBe('project_name_taken')
    expect((await rename(otherId, name)).statusCode).toBe(200)
  })

  test('one that a project has is not to be had with release=true', async () => {
    const { name, otherId } = await holder()
    const renamed = await rename(otherId, name, '?release=true')
    for (const refused of [await create(name, '?release=true'), renamed]) {
      expect([refused.statusCode, refused.json().code]).toEqual([409, 'project_name_taken'])
      expect(refused.json().heldUntil).toBeUndefined()
    }
  })
})

describe('the id of a project', () => {
  const id = '018f0000-0000-7000-8000-000000000001'

  test('is kept when the project is moved here, and so its issuer', async () => {
    const created = await post({ name: 'moved', id })
    expect(created.statusCode).toBe(201)
    expect(created.json()).toMatchObject({ name: 'moved', id, revision: 1 })
    expect(created.headers.location).toBe(`${publicUrl}/v1/projects/${id}`)
    const url = `/v1/projects/${id}/.well-known/openid-configuration`
    expect((await server.inject(url)).json().issuer).toMatch(new RegExp(`/v1/projects/${id}$`))
  })

  test('is refused if its ledger exists, after its project was deleted, too', async () => {
    const taken = { status: 409, code: 'project_id_taken' }
    expect((await post({ name: 'twin', id })).json()).toMatchObject(taken)
    expect((await remove('moved')).statusCode).toBe(204)
    expect((await post({ name: 'twin', id })).json()).toMatchObject(taken)
    expect((await post({ name: 'twin', id: server.project.id })).json()).toMatchObject(taken)
    expect((await server.send('GET', '/v1/projects/twin')).statusCode).toBe(404)
  })

  test('is tried by a dry run, which returns the project and stores nothing', async () => {
    const tried = { name: 'tried', id: id.replace('8f0', '8f3') }
    for (const statusCode of [200, 200]) {
      const dry = await post({ ...tried, dryRun: true })
      expect(dry).toMatchObject({ statusCode })
      expect(dry.json()).toMatchObject({ ...tried, revision: 1 })
      expect(dry.headers).not.toHaveProperty('location')
    }
    expect((await server.send('GET', '/v1/projects/tried')).statusCode).toBe(404)
    expect((await post(tried)).statusCode).toBe(201)
    expect((await post({ ...tried, dryRun: true })).json().code).toBe('project_id_taken')
  })

  test('is given to one of several projects that ask for it at once', async () => {
    const one = id.replace('8f0', '8f1')
    const names = ['a1', 'a2', 'a3', 'a4']
    const responses = await Promise.all(names.map((name) => post({ name, id: one })))
    expect(responses.map((response) => response.json().code ?? 'created').sort()).toEqual([
      'created',
      ...new Array(3).fill('project_id_taken'),
    ])
  })

  test.each([systemLedgerId, id.toUpperCase(), ''])('is not %j', async (wrong) => {
    expect((await post({ name: 'wrong', id: wrong })).json()).toMatchObject({
      status: 400,
      errors: [{ pointer: '/id', code: 'id_invalid' }],
    })
  })

  test('is chosen by an admin of all projects alone', async () => {
    const headers = { 'x-api-key': await server.apiKey('admin', server.project.id) }
    const body = { name: 'bound', id: id.replace('8f0', '8f2') }
    expect((await server.send('POST', '/v1/projects', { body, headers })).statusCode).toBe(403)
  })
})

test('a caller bound to projects gets pages of those that exist, in order, by one query each', async () => {
  const { database, context } = server
  const { store } = context
  const names = ['one', 'deleted', 'forged', 'two', 'hidden', 'three']
  const ids = new Map<string, string>()
  for (const name of names) ids.set(name, (await createProject(store, name)).id)
  const projectId = ids.get('deleted') ?? ''
  await store.commit(projectChanges.deleteProject, { origin: origin(), projectId })
  await database.execute("update project set name = 'mine' where name = 'forged'")
  const grants = ['three', 'two', 'forged', 'deleted', 'one'].map((name) => {
    return { role: 'reader', projectId: ids.get(name) ?? '' } as const
  })
  let queries = 0
  const reader = observedReads(store.reader, {
    read() {
      queries += 1
    },
  })
  const list = async (limit: number, after?: string) => {
    const page = after === undefined ? { limit } : { limit, after: ids.get(after) ?? '' }
    queries = 0
    const listed = await listProjects({ store: { ...store, reader } }, { grants }, page)
    expect(queries).toBeLessThanOrEqual(1)
    return listed.map(({ name }) => name)
  }
  expect(await list(2)).toEqual(['one', 'two'])
  expect(await list(9)).toEqual(['one', 'two', 'three'])
  expect(await list(1, 'two')).toEqual(['three'])
  expect(await list(9, 'three')).toEqual([])
})
