import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { keysUrl, registerKey } from '../../support/app/keys.ts'

let shift = 0
const clock = { now: () => Date.now() + shift, monotonic: () => performance.now() }
let server: TestApp
beforeAll(async () => {
  server = await startApp({ clock })
})
afterAll(() => server.close())
beforeEach(() => {
  shift = 0
})

const hour = 3_600_000
const patch = (url: string, body: object) => server.send('PATCH', url, { body })
const read = async (url: string) => (await server.send('GET', url)).json()

test.each([
  ['label', { label: 'renamed' }],
  ['active', { active: false }],
  ['expireTime', { expireTime: '2999-01-01T00:00:00.000Z' }],
])('a key’s updateTime does not go back with the clock when its %s is changed', async (_, body) => {
  const url = `${keysUrl}/${await registerKey(server)}`
  const before = await read(url)
  shift = -hour
  const { updateTime } = (await patch(url, body)).json()
  expect(updateTime).toBe(before.updateTime)
  const after = await read(url)
  expect(after).toMatchObject(body)
  expect(after.updateTime).toBe(before.updateTime)
  expect(after.details.convergedTime >= before.details.convergedTime).toBe(true)
})

test('a key’s updateTime goes on once the clock is past it again', async () => {
  const url = `${keysUrl}/${await registerKey(server)}`
  const { updateTime } = await read(url)
  shift = hour
  expect((await patch(url, { label: 'later' })).json().updateTime > updateTime).toBe(true)
})

test('a project’s updateTime does not go back with the clock', async () => {
  const made = await server.send('POST', '/v1/projects', { body: { name: 'before' } })
  const { id, updateTime } = made.json()
  shift = -hour
  const renamed = await patch(`/v1/projects/${id}`, { name: 'after' })
  expect(renamed.json()).toMatchObject({ name: 'after', updateTime })
  expect(await read(`/v1/projects/${id}`)).toMatchObject({ name: 'after', updateTime })
})
