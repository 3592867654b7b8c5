import { beforeEach, expect, test } from 'vitest'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { importItem, sendImport } from '../../support/app/imports.ts'
import { fixture } from '../../support/keys/intake.ts'

let project: string
let projects = 0

const server = await startApp()

beforeEach(async () => {
  project = await newProject()
})

async function newProject(): Promise<string> {
  projects += 1
  const body = { name: `project-${projects}` }
  return (await server.send('POST', '/v1/projects', { body })).json().name
}
const into = (keys: unknown, more: { project?: string; dryRun?: boolean } = {}) =>
  sendImport(server, keys, { project, ...more })
const list = async (name = project) =>
  (await server.send('GET', `/v1/projects/${name}/jwt-keys`)).json()
const retire = async (kid: string) => {
  const url = `/v1/projects/${project}/jwt-keys/${kid}`
  await server.send('PATCH', url, { body: { active: false } })
  expect((await server.send('DELETE', url)).statusCode).toBe(204)
}
const codes = (answer: { json(): { errors?: { pointer: string; code: string }[] } }) =>
  (answer.json().errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)

const kid = () => crypto.randomUUID()
const home = {
  active: false,
  createTime: '2024-05-01T10:00:00.000Z',
  updateTime: '2024-06-01T10:00:00.000Z',
  expireTime: '2025-01-01T00:00:00.000Z',
}

test('keep kid, times and state, and their place in the list', async () => {
  await into([importItem({ name: 'newer' })])
  const back = importItem({ ...home, kid: kid(), name: 'older' })
  expect((await into([back])).json().items).toEqual([{ outcome: 'created', kid: back.kid }])
  const [first, second] = await list()
  expect(first).toMatchObject({ ...home, id: back.kid, label: 'older' })
  expect(second).toMatchObject({ label: 'newer' })
})

test('keep why a key ended, and a compromised one stays off', async () => {
  const back = importItem({ ...home, kid: kid(), reason: 'compromised' })
  expect((await into([back])).statusCode).toBe(200)
  const url = `/v1/projects/${project}/jwt-keys/${back.kid}`
  const { details } = (await server.send('GET', url)).json()
  expect(details.ended.reason).toBe('compromised')
  const body = { active: true, expireTime: null }
  expect((await server.send('PATCH', url, { body })).json().code).toBe('key_compromised')
})

test('keep the mark of a compromised key that is active, with an end and without', async () => {
  const expireTime = '2099-01-01T00:00:00.000Z'
  const items = [{}, { expireTime }].map((end) =>
    importItem({ ...end, kid: kid(), reason: 'compromised' }),
  )
  expect((await into(items)).json()).toMatchObject({ created: 2 })
  for (const item of items) {
    const url = `/v1/projects/${project}/jwt-keys/${item.kid}`
    expect((await server.send('GET', url)).json().details.state).toBe('compromised')
    const later = { active: false }
    expect((await server.send('PATCH', url, { body: later })).statusCode).toBe(200)
    const body = { active: true, expireTime: null }
    expect((await server.send('PATCH', url, { body })).json().code).toBe('key_compromised')
  }
})

test('that mark a key of the project as compromised are refused until it is', async () => {
  const item = importItem({ kid: kid() })
  await into([item])
  const marked = { ...item, active: false, reason: 'compromised' }
  const refused = await into([importItem(), marked])
  expect(codes(refused)).toEqual(['/keys/1/reason duplicate_key'])
  expect(refused.json().errors[0].detail).toContain(`${item.kid}, and there it is not compromised`)
  expect(await list()).toHaveLength(1)
  expect((await into([{ ...marked, reason: 'superseded' }])).json()).toMatchObject({ present: 1 })
  const url = `/v1/projects/${project}/jwt-keys/${item.kid}`
  await server.send('PATCH', url, { body: { active: false, reason: 'compromised' } })
  expect((await into([marked])).json()).toMatchObject({ created: 0, present: 1 })
})

test.each([
  ['kid', 'writer', 'all projects'],
  ['createTime', 'writer', 'all projects'],
  ['updateTime', 'writer', 'all projects'],
  ['kid', 'admin', 'one project'],
] as const)('%s is not for a %s of %s', async (member, role, extent) => {
  const { id } = (await server.send('GET', `/v1/projects/${project}`)).json()
  const binding = extent === 'one project' ? id : undefined
  const writer = { 'x-api-key': await server.apiKey(role, binding) }
  const item = { ...importItem(), [member]: { ...home, kid: kid() }[member] }
  const answer = await sendImport(server, [importItem(), item], { project }, writer)
  expect(answer.statusCode).toBe(403)
  expect(answer.json()).toMatchObject({ code: 'insufficient_role' })
  expect((await sendImport(server, [importItem()], { project }, writer)).statusCode).toBe(200)
})

test.each([
  ['a kid in upper case', { kid: newId().toUpperCase() }, '/kid kid_invalid'],
  ['a kid that is no UUID', { kid: 'key-1' }, '/kid kid_invalid'],
  ['the nil UUID', { kid: '00000000-0000-0000-0000-000000000000' }, '/kid kid_invalid'],
  ['a creation to come', { createTime: '2999-01-01T00:00:00Z' }, '/createTime time_future'],
  [
    'a change to come',
    { createTime: home.createTime, updateTime: '2999-01-01T00:00:00Z' },
    '/updateTime time_future',
  ],
  [
    'a change before the creation',
    { createTime: home.updateTime, updateTime: home.createTime },
    '/updateTime time_order',
  ],
  ['a change without a creation', { updateTime: home.createTime }, '/updateTime time_order'],
  ['no time', { createTime: 'yesterday' }, '/createTime time_invalid'],
  [
    'an expiry before the creation',
    { createTime: home.createTime, expireTime: '2024-04-01T00:00:00Z' },
    '/expireTime time_order',
  ],
  ['a reason of no end', { reason: 'superseded' }, '/reason reason_without_end'],
])('%s is refused', async (_name, members, fault) => {
  expect(codes(await into([importItem(members)]))).toEqual([`/keys/0${fault}`])
})

test('a kid is never given to other material: here, elsewhere, deleted, project deleted', async () => {
  const items = [0, 1, 2, 3].map(() => importItem({ kid: kid() }))
  const [here, deleted, elsewhere, gone] = items
  await into([here, deleted])
  await retire(String(deleted?.kid))
  const other = await newProject()
  await into([elsewhere], { project: other })
  const lost = project
  project = await newProject()
  await into([gone])
  await retire(String(gone?.kid))
  await server.send('DELETE', `/v1/projects/${project}`)
  project = lost
  const again = items.map((item) => importItem({ kid: item.kid }))
  expect(codes(await into(again))).toEqual(again.map((_, at) => `/keys/${at}/kid kid_taken`))
})

test('nor to two keys of one import', async () => {
  const one = kid()
  const answer = await into([importItem({ kid: one }), importItem({ kid: one })])
  expect(codes(answer)).toEqual(['/keys/1/kid kid_taken'])
})

test('a kid that was made here is not given to other material either', async () => {
  const { items } = (await into([importItem()])).json()
  await retire(items[0].kid)
  expect(codes(await into([importItem({ kid: items[0].kid })]))).toEqual(['/keys/0/kid kid_taken'])
})

test('the same material gets its kid back, after deletion and in another project', async () => {
  const item = importItem({ kid: kid() })
  await into([item])
  await retire(String(item.kid))
  expect((await into([item])).json()).toMatchObject({ created: 1 })
  const other = await newProject()
  expect((await into([item], { project: other })).json()).toMatchObject({ created: 1 })
})

test('of two imports at once that give one kid to two keys, one is refused', async () => {
  const places = [project, await newProject(), await newProject()]
  for (let round = 0; round < 5; round += 1) {
    const one = kid()
    const answers = await Promise.all(
      places.map((name) => into([importItem({ kid: one })], { project: name })),
    )
    const statuses = answers.map(({ statusCode }) => statusCode).toSorted()
    expect(statuses).toEqual([200, 400, 400])
  }
})

test('a registered key is not renamed: another kid, another algorithm are refused', async () => {
  const rsa = { algorithm: 'RSA', publicKeyPem: fixture('keys/good/rsa2048.pem') }
  await into([importItem(rsa)])
  expect((await into([importItem({ ...rsa, algorithm: 'RS256' })])).json().present).toBe(1)
  expect(codes(await into([importItem({ ...rsa, kid: kid() })]))).toEqual([
    '/keys/0/kid duplicate_key',
  ])
  expect(codes(await into([importItem({ ...rsa, algorithm: 'PS256' })]))).toEqual([
    '/keys/0/algorithm duplicate_key',
  ])
})
