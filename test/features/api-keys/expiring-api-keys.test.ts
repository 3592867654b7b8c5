import { beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { rawConnection, readProblem, requestHead } from '../../support/network/raw-connection.ts'

const own = '2090-01-01T00:00:00.000Z'
const earlier = '2089-01-01T00:00:00.000Z'
const later = '2091-01-01T00:00:00.000Z'

interface Created {
  id: string
  apiKey: string
}

let server: TestApp
let caller: Created
let bound: Created

beforeAll(async () => {
  server = await startApp()
  caller = await create({ role: 'admin', expireTime: own })
  bound = await create({ role: 'admin', expireTime: own, project: 'payments' })
})

async function create(body: object): Promise<Created> {
  const answer = await server.send('POST', '/v1/api-keys', { body: { name: 'n', ...body } })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}

const at = (id: string) => `/v1/api-keys/${id}`
const read = async (id: string) => (await server.send('GET', at(id))).json()
const as = ({ apiKey }: Created) => ({ 'x-api-key': apiKey })
const patch = (id: string, body: object, by = caller) =>
  server.send('PATCH', at(id), { body, headers: as(by) })
const post = (body: object, by = caller) =>
  server.send('POST', '/v1/api-keys', { body: { name: 'n', ...body }, headers: as(by) })

const outcome = ({ statusCode, body }: { statusCode: number; body: string }) => [
  statusCode,
  JSON.parse(body).code,
]
const refusal = [403, 'insufficient_lifetime']

/** Everything that a refused request could have changed. */
async function state() {
  const apiKeys = (await server.send('GET', '/v1/api-keys')).json()
  const events = (await server.send('GET', '/v1/events?limit=200')).json().length
  return { events, apiKeys: apiKeys.map((apiKey: object) => ({ ...apiKey, lastUseTime: '' })) }
}

describe('an API key that expires', () => {
  test.each([null, later, earlier])('cannot set its own expireTime to %s', async (expireTime) => {
    const before = await state()
    for (const each of [caller, bound]) {
      const answer = await patch(each.id, { expireTime, name: 'mine' }, each)
      expect(outcome(answer)).toEqual(refusal)
      expect(answer.json().errors).toMatchObject([{ pointer: '/expireTime', code: 'own_expiry' }])
    }
    expect(await state()).toEqual(before)
  })

  test('can send itself back as it was read, and change its name', async () => {
    const answer = await patch(caller.id, { expireTime: own, active: true, name: 'renamed' })
    expect(answer.json()).toMatchObject({ name: 'renamed', expireTime: own })
  })

  test.each([{}, { expireTime: later }])('cannot create an API key with %j', async (expiry) => {
    const before = await state()
    for (const role of ['reader', 'admin']) {
      const answer = await post({ role, ...expiry })
      expect(outcome(answer)).toEqual(refusal)
      expect(answer.json().detail).toContain(own)
      expect(answer.json().errors).toMatchObject([{ pointer: '/expireTime', code: 'too_late' }])
      expect(outcome(await post({ role, ...expiry, project: 'payments' }, bound))).toEqual(refusal)
    }
    expect(await state()).toEqual(before)
  })

  test.each([own, earlier])('can create an API key that expires at %s', async (expireTime) => {
    expect((await post({ role: 'admin', expireTime })).json()).toMatchObject({ expireTime })
  })

  test.each<[string, object, object]>([
    ['extend beyond its own', { expireTime: earlier }, { expireTime: later }],
    ['clear', { expireTime: earlier }, { expireTime: null }],
    ['extend, already beyond its own,', { expireTime: later }, { expireTime: null }],
  ])('cannot %s the expiry of another', async (_name, members, change) => {
    const { id } = await create({ role: 'reader', ...members })
    expect(outcome(await patch(id, change))).toEqual(refusal)
    expect(await read(id)).toMatchObject(members)
  })

  test('cannot promote an API key that outlives it, or activate one', async () => {
    const { id } = await create({ role: 'reader' })
    const promoted = await patch(id, { role: 'admin' })
    expect(outcome(promoted)).toEqual(refusal)
    expect(promoted.json().errors).toMatchObject([{ pointer: '/role', code: 'too_late' }])
    await server.send('PATCH', at(id), { body: { active: false } })
    const activated = await patch(id, { active: true })
    expect(outcome(activated)).toEqual(refusal)
    expect(activated.json().errors).toMatchObject([{ pointer: '/active', code: 'too_late' }])
    expect(outcome(await patch(id, { role: 'writer' }))).toEqual(refusal)
    expect(await read(id)).toMatchObject({ role: 'reader', active: false })
  })

  test('can promote and activate one that does not outlive it afterwards', async () => {
    const { id } = await create({ role: 'reader' })
    await server.send('PATCH', at(id), { body: { active: false } })
    const answer = await patch(id, { role: 'admin', active: true, expireTime: own })
    expect(answer.json()).toMatchObject({ role: 'admin', active: true, expireTime: own })
  })

  test('can take rights away from an API key that outlives it', async () => {
    const { id } = await create({ role: 'admin' })
    for (const body of [{ name: 'less' }, { expireTime: later }, { role: 'reader' }]) {
      expect((await patch(id, body)).json()).toMatchObject(body)
    }
    expect((await patch(id, { active: false })).json()).toMatchObject({ active: false })
    const deleted = await server.send('DELETE', at(id), { headers: as(caller) })
    expect(deleted.statusCode).toBe(204)
  })

  test('can end itself', async () => {
    const other = await create({ role: 'admin', expireTime: own })
    expect(
      (await patch(`${other.id}?confirm=self`, { active: false }, other)).json(),
    ).toMatchObject({
      active: false,
    })
  })

  test('is held to an expiry that it gets while its request arrives', async () => {
    const base = await server.listen()
    const late = await create({ role: 'admin' })
    const body = JSON.stringify({ name: 'planted', role: 'admin' })
    const head = requestHead(
      'POST /v1/api-keys HTTP/1.1',
      'Host: keys.example.com',
      'Content-Type: application/json',
      `X-Api-Key: ${late.apiKey}`,
      `Content-Length: ${body.length}`,
      'Connection: close',
    )
    const { socket, closed } = rawConnection(base)
    socket.write(head + body.slice(0, 1))
    await new Promise((resolve) => setTimeout(resolve, 50))
    await server.send('PATCH', at(late.id), { body: { expireTime: own } })
    socket.write(body.slice(1))
    expect(readProblem(await closed).problem.code).toBe('insufficient_lifetime')
  })
})

test('an API key that does not expire may set an expiry for itself', async () => {
  const permanent = await create({ role: 'admin' })
  const self = `${permanent.id}?confirm=self`
  expect((await patch(self, { expireTime: later }, permanent)).statusCode).toBe(200)
  expect(outcome(await patch(permanent.id, { expireTime: null }, permanent))).toEqual(refusal)
})
