import { beforeEach, describe, expect, test } from 'vitest'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { exchangeLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { accessRulesUrl, startWorkloadApp } from '../../support/app/workloads.ts'
import { waitFor } from '../../support/waiting.ts'

let rule: { id: string }
let secret: string
let id: string

const server = await startWorkloadApp()

beforeEach(async () => {
  const ref = newId()
  rule = await server.rule({ conditions: { ref } })
  secret = await server.exchangedKey({ ref })
  id = await idOf(secret)
})

const url = '/v1/api-keys'
const as = (apiKey: string) => ({ headers: { 'x-api-key': apiKey } })
const idOf = async (apiKey: string) =>
  (await server.send('GET', `${url}/self`, as(apiKey))).json().id
const idsOf = async (path: string, options = {}): Promise<string[]> =>
  (await server.send('GET', path, options)).json().map((apiKey: { id: string }) => apiKey.id)
const statusOf = async (apiKey: string) =>
  (await server.send('GET', '/v1/projects/payments/jwt-keys', as(apiKey))).statusCode
const eventsOf = async (path: string) => (await server.send('GET', path)).json()

async function differences() {
  const reader = await openLedgerReader(server.database.url)
  const verdicts = await Array.fromAsync(verifyLedgers(reader))
  await reader.close()
  return verdicts.flatMap((verdict) => verdict.differences)
}

async function boundAdmin(project: string): Promise<string> {
  const body = { name: 'bound', role: 'admin', project }
  return (await server.send('POST', url, { body })).json().apiKey
}

test('is listed only on request, with its rule and subject, for a day after its end', async () => {
  expect(await idsOf(url)).not.toContain(id)
  expect(await idsOf(`${url}?exchanged=true`)).toContain(id)
  expect((await server.send('GET', `${url}?exchanged=yes`)).statusCode).toBe(400)
  const shown = { id, exchanged: { ruleId: rule.id, subject: 'repo:acme/orders' } }
  expect((await server.send('GET', `${url}/${id}`)).json()).toMatchObject({
    ...shown,
    active: true,
  })
  server.clock.advance(3_600_000)
  const ended = (await server.send('GET', `${url}?exchanged=true`)).json().at(-1)
  expect(ended).toMatchObject({ ...shown, active: false })
  expect(ended.lastUseTime).toBeUndefined()
})

test('is for admins of its project alone', async () => {
  await server.send('POST', '/v1/projects', { body: { name: 'orders' } })
  const [own, other] = [await boundAdmin('payments'), await boundAdmin('orders')]
  expect(await idsOf(`${url}?exchanged=true`, as(own))).toContain(id)
  expect(await idsOf(`${url}?exchanged=true`, as(other))).not.toContain(id)
  expect((await server.send('GET', `${url}/${id}`, as(own))).statusCode).toBe(200)
  for (const method of ['GET', 'DELETE'] as const) {
    const response = await server.send(method, `${url}/${id}`, as(other))
    expect(response.json().code).toBe('api_key_not_found')
  }
  expect((await server.send('DELETE', `${url}/${id}`, as(own))).statusCode).toBe(204)
})

test('cannot be changed, nor sign in', async () => {
  for (const body of [{ name: 'mine' }, { role: 'admin' }]) {
    const response = await server.send('PATCH', `${url}/${id}`, { body })
    expect(response.json().code).toBe('invalid_request')
  }
  expect((await server.send('POST', '/v1/sessions', as(secret))).statusCode).toBe(400)
  expect(await statusOf(secret)).toBe(200)
})

test.each([
  ['one project', {}, 'payments'],
  ['all projects', { project: undefined, allProjects: true }, exchangeLedgerId],
])('revoked, one for %s ends with the next request', async (_name, members, project) => {
  const ref = newId()
  await server.rule({ ...members, conditions: { ref } })
  const apiKey = await server.exchangedKey({ ref })
  const own = await idOf(apiKey)
  expect((await server.send('DELETE', `${url}/${own}`)).statusCode).toBe(204)
  expect(await statusOf(apiKey)).toBe(401)
  const deleted = { type: 'api_key.deleted', subject: { type: 'api_key', id: own } }
  for (const path of ['/v1/events', `/v1/projects/${project}/events`]) {
    expect((await eventsOf(`${path}?limit=200`)).at(-1)).toMatchObject(deleted)
  }
  expect(await differences()).toEqual([])
})

describe('a row that is put back gives no access once', () => {
  const change = (body: object) => server.send('PATCH', `${accessRulesUrl}/${rule.id}`, { body })
  test.each<[string, () => Promise<unknown>]>([
    ['it was revoked', () => server.send('DELETE', `${url}/${id}`)],
    [
      'its rule was deactivated and activated again',
      async () => {
        await change({ active: false })
        await change({ active: true })
      },
    ],
    ['its rule gives another role', () => change({ role: 'reader' })],
    [
      'its rule was deleted',
      async () => {
        await server.send('DELETE', `${accessRulesUrl}/${rule.id}`)
        expect((await eventsOf('/v1/projects/payments/events?limit=200')).at(-1)).toMatchObject({
          type: 'access_rule.keys_ended',
          subject: { type: 'access_rule', id: rule.id },
          changes: { name: { from: 'orders, deploy' } },
        })
      },
    ],
  ])('%s', async (_name, end) => {
    const [row = {}] = await server.database.query('select * from api_key where id = ?', id)
    await end()
    expect(await statusOf(secret)).toBe(401)
    const columns = Object.keys(row)
    const marks = columns.map(() => '?').join(', ')
    const values = Object.values(row) as (string | number | null)[]
    const insert = `insert into api_key (${columns}) values (${marks})`
    await waitFor(() => server.database.execute(insert, ...values))
    expect(await statusOf(secret)).toBe(401)
    expect(await differences()).toMatchObject([{ subject: { type: 'api_key', id } }])
    await server.database.execute('delete from api_key where id = ?', id)
  })
})
