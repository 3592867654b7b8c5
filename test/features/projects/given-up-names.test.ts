import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'

const clock = stoppedClock()
const server = await startApp({ clock })
const hour = 3_600_000

const create = (name: string, query = '') =>
  server.send('POST', `/v1/projects${query}`, { body: { name } })
const rename = (id: string, name: string, query = '') =>
  server.send('PATCH', `/v1/projects/${id}${query}`, { body: { name } })
const remove = (id: string) => server.send('DELETE', `/v1/projects/${id}`)

let names = 0
/** A name, with the id of the project that has it and of another one. */
async function holder() {
  names += 1
  const name = `held-${names}`
  const [owner, other] = [await create(name), await create(`other-${names}`)]
  return { name, id: String(owner.json().id), otherId: String(other.json().id) }
}

const ways = [
  ['a renaming', (id: string) => rename(id, `renamed-${id.slice(-6)}`)],
  ['a deletion', (id: string) => remove(id)],
] as const

describe.each(ways)('a name that was given up by %s', (_way, giveUp) => {
  test('is refused to other projects for 24 hours, and says until when', async () => {
    const { name, id, otherId } = await holder()
    expect((await giveUp(id)).statusCode).toBeLessThan(300)
    const heldUntil = new Date(clock.now() + 24 * hour).toISOString()
    clock.advance(24 * hour - 1)
    const tried = await server.send('POST', '/v1/projects', { body: { name, dryRun: true } })
    for (const refused of [tried, await create(name), await rename(otherId, name)]) {
      expect(refused.statusCode).toBe(409)
      expect(refused.json()).toMatchObject({
        code: 'project_name_taken',
        heldUntil,
        detail: expect.stringContaining(heldUntil),
      })
    }
    expect((await server.send('GET', `/v1/projects/${name}`)).statusCode).toBe(404)
    expect((await server.send('GET', `/v1/projects/${otherId}`)).json().name).not.toBe(name)
    clock.advance(1)
    expect((await create(name)).statusCode).toBe(201)
  })

  test('is given to another project with release=true', async () => {
    const [one, two] = [await holder(), await holder()]
    await giveUp(one.id)
    await giveUp(two.id)
    expect((await create(one.name, '?release=false')).statusCode).toBe(409)
    expect((await create(one.name, '?release=true')).statusCode).toBe(201)
    expect((await rename(two.otherId, two.name, '?release=true')).statusCode).toBe(200)
  })
})

test('a name that was given up is given back to its project at once', async () => {
  const { name, id } = await holder()
  await rename(id, `${name}-mistaken`)
  expect((await rename(id, name)).statusCode).toBe(200)
  // The project gives up the other name as well.
  expect((await create(`${name}-mistaken`)).json().code).toBe('project_name_taken')
})

test('the last project that had a name may take it back, and not one before it', async () => {
  const { name, id, otherId } = await holder()
  await rename(id, `${name}-old`)
  await rename(otherId, name, '?release=true')
  await rename(otherId, `${name}-other`)
  expect((await rename(id, name)).json().code).toBe('project_name_taken')
  expect((await rename(otherId, name)).statusCode).toBe(200)
})

test('a name that a project has is not to be had with release=true', async () => {
  const { name, otherId } = await holder()
  for (const refused of [
    await create(name, '?release=true'),
    await rename(otherId, name, '?release=true'),
  ]) {
    expect([refused.statusCode, refused.json().code]).toEqual([409, 'project_name_taken'])
    expect(refused.json().heldUntil).toBeUndefined()
  }
})
