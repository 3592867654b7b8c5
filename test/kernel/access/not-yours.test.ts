import { beforeAll, describe, expect, test } from 'vitest'
import { readProjectPage } from '../../../packages/server/src/features/projects/reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'

let server: TestApp
let mine: string
let admin: string
let theirs: { id: string; kid: string; apiKeyId: string }

beforeAll(async () => {
  server = await startApp()
  const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'other' } })).json()
  const { kid } = (await create(id)).json()
  const apiKey = { name: 'theirs', role: 'reader', project: 'other' }
  const created = await server.send('POST', '/v1/api-keys', { body: apiKey })
  theirs = { id, kid, apiKeyId: created.json().id }
  await create(server.project.id)
  admin = await server.apiKey('admin', server.project.id)
  mine = await server.apiKey('writer', server.project.id)
})

const create = (project: string, publicKeyPem = ecKey().publicKeyPem) =>
  server.send('POST', `/v1/projects/${project}/jwt-keys`, {
    body: { name: 'n', algorithm: 'ES256', publicKeyPem },
  })

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Operations on a project, and on its key KID. */
const onProject: [Method, string, object?][] = [
  ['GET', ''],
  ['PATCH', '', { name: 'x' }],
  ['DELETE', ''],
  ['GET', '/jwt-keys'],
  ['POST', '/jwt-keys', {}],
  ['DELETE', '/jwt-keys/KID'],
  ['GET', '/events'],
]

/** Operations on one record of others. */
const onRecord: [Method, object?][] = [['GET'], ['PATCH', { active: false }], ['DELETE']]

/** All that a caller sees of a response, without what differs for every request. */
async function seen(secret: string, method: Method, url: string, body?: object) {
  const headers = { 'x-api-key': secret }
  const answer = await server.send(
    method,
    url,
    body === undefined ? { headers } : { headers, body },
  )
  const { date: _date, 'x-request-id': id, ...rest } = answer.headers
  return { status: answer.statusCode, headers: rest, body: answer.body.replace(String(id), 'ID') }
}

describe('a project of others responds as if it did not exist', () => {
  test.each(onProject)('%s …%s by id, and by name', async (method, rest, body) => {
    const at = (project: string, kid: string) =>
      seen(mine, method, `/v1/projects/${project}${rest.replace('KID', kid)}`, body)
    const absent = await at(newId(), newId())
    expect(absent.status).toBe(404)
    expect(absent.body).toContain('project_not_found')
    expect(await at(theirs.id, theirs.kid)).toEqual(absent)
    expect(await at('other', theirs.kid)).toEqual(await at('none', newId()))
    expect(await at('other', theirs.kid)).toEqual(absent)
  })

  test.each(onRecord)(
    '%s of its key under one’s own project is that of no key',
    async (method, body) => {
      const at = (kid: string) => seen(mine, method, `/v1/projects/payments/jwt-keys/${kid}`, body)
      const absent = await at(newId())
      expect(absent.status).toBe(404)
      expect(absent.body).toContain('"key_not_found"')
      expect(await at(theirs.kid)).toEqual(absent)
    },
  )

  test.each(onRecord)('%s of its API key by a bound admin is that of none', async (...request) => {
    const [method, body] = request
    const at = (id: string) => seen(admin, method, `/v1/api-keys/${id}`, body)
    const absent = await at(newId())
    expect(absent.status).toBe(404)
    expect(absent.body).toContain('"api_key_not_found"')
    expect(await at(theirs.apiKeyId)).toEqual(absent)
    expect(await at('no-uuid')).toEqual(absent)
  })

  test('a bound admin cannot create an API key for it', async () => {
    const make = (project: string) =>
      seen(admin, 'POST', '/v1/api-keys', { name: 'n', role: 'reader', project })
    const absent = await make('none')
    expect(absent.status).toBe(404)
    expect(await make('other')).toEqual(absent)
    expect(await make(theirs.id)).toEqual(absent)
  })

  test('none of these requests changed it', async () => {
    const url = `/v1/projects/${theirs.id}`
    expect((await server.send('GET', url)).json()).toMatchObject({ name: 'other', revision: 2 })
    const [key] = (await server.send('GET', `${url}/jwt-keys`)).json()
    expect(key).toMatchObject({ id: theirs.kid, active: true, updateTime: key.createTime })
    const jwks = await server.send('GET', `${url}/.well-known/jwks.json`)
    expect(jwks.json().keys).toMatchObject([{ kid: theirs.kid }])
    const apiKey = await server.send('GET', `/v1/api-keys/${theirs.apiKeyId}`)
    expect(apiKey.json()).toMatchObject({ name: 'theirs', active: true })
  })
})

/** A call whose arguments are built before the time of either call of a pair is measured. */
type Call = (foreign: boolean) => () => Promise<unknown>

/**
 * Milliseconds of 200 calls each, in pairs of alternating order, so that other load on the machine
 * affects both equally.
 */
async function timed(prepare: Call): Promise<{ foreign: number; absent: number }[]> {
  const pairs: { foreign: number; absent: number }[] = []
  for (let round = 0; round < 220; round += 1) {
    const pair = { foreign: 0, absent: 0 }
    const calls = { foreign: prepare(true), absent: prepare(false) }
    for (const which of round % 2 === 0 ? order : order.toReversed()) {
      const call = calls[which]
      const start = performance.now()
      await call()
      pair[which] = performance.now() - start
    }
    if (round >= 20) pairs.push(pair)
  }
  return pairs
}
const order = ['foreign', 'absent'] as const

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** The share of pairs in which the first took longer: a half if they are equal (sign test). */
function slower(pairs: { foreign: number; absent: number }[]): number {
  return pairs.filter(({ foreign, absent }) => foreign > absent).length / pairs.length
}

const inTime: [string, () => string, (foreign: boolean) => string][] = [
  ['a project by id', () => mine, (own) => `/v1/projects/${own ? theirs.id : newId()}`],
  ['a project by name', () => mine, (own) => `/v1/projects/${own ? 'other' : 'othex'}/jwt-keys`],
  [
    'a key under one’s own project',
    () => mine,
    (own) => `/v1/projects/payments/jwt-keys/${own ? theirs.kid : newId()}`,
  ],
  ['an API key', () => admin, (own) => `/v1/api-keys/${own ? theirs.apiKeyId : newId()}`],
]

describe('a project of others takes as long as an unknown one, over 200 calls each', () => {
  test.each(inTime)('%s', async (_name, secret, url) => {
    const headers = { 'x-api-key': secret() }
    const pairs = await timed((foreign) => {
      const address = url(foreign)
      return () => server.send('GET', address, { headers })
    })
    // The two calls of a pair meet the same load.
    const ratio = median(pairs.map(({ foreign, absent }) => foreign / absent))
    expect(ratio).toBeGreaterThan(0.7)
    expect(ratio).toBeLessThan(1.4)
    // Five standard deviations (0.035 for 200 pairs).
    expect(Math.abs(slower(pairs) - 0.5)).toBeLessThan(0.2)
  })

  test('this comparison detects one more query of the database', async () => {
    const headers = { 'x-api-key': mine }
    const pairs = await timed((foreign) => async () => {
      await server.send('GET', '/v1/projects/none', { headers })
      if (foreign) await readProjectPage(server.context.store.reader, { limit: 10 })
    })
    expect(slower(pairs)).toBeGreaterThan(0.7)
  })
})
