import { beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { importItem, importItems, sendImport } from '../../support/app/imports.ts'
import { fixture } from '../../support/keys/intake.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { rawConnection, readProblem, requestHead } from '../../support/network/raw-connection.ts'

let project: string
let projects = 0

const server = await startApp({ config: { maxKeysPerProject: 60 } })

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
const revision = async () => (await server.send('GET', `/v1/projects/${project}`)).json().revision
const events = async (): Promise<{ type: string; subject: { id: string } }[]> =>
  (await server.send('GET', `/v1/projects/${project}/events`)).json()
const codes = (answer: { json(): { errors?: { pointer: string; code: string }[] } }) =>
  (answer.json().errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)

describe('all or none', () => {
  test('ten keys of which the sixth has 1024 bits: none is in, and the sixth is named', async () => {
    const keys = importItems(10)
    keys[5] = importItem({ algorithm: 'RSA', publicKeyPem: fixture('keys/rsa/bits-1024.pem') })
    const refused = await into(keys)
    expect(refused.statusCode).toBe(400)
    expect(refused.json()).toMatchObject({ code: 'import_refused' })
    expect(codes(refused)).toEqual(['/keys/5/publicKeyPem rsa_modulus_too_small'])
    expect(await list()).toEqual([])
    expect(await revision()).toBe(1)
    keys[5] = importItem()
    expect((await into(keys)).json()).toMatchObject({ created: 10, present: 0 })
  })

  test('each key has its own event; a second run finds all of them present and changes nothing', async () => {
    const keys = importItems(3)
    const first = (await into(keys)).json()
    const kids = first.items.map(({ kid }: { kid: string }) => kid)
    const [, ...created] = await events()
    expect(created.map(({ subject: { id } }) => id)).toEqual(kids)
    expect(created.map(({ type }) => type)).toEqual(new Array(3).fill('key.created'))
    expect((await list()).map(({ id }: { id: string }) => id)).toEqual(kids)
    const before = await revision()
    const second = (await into([...keys, importItem()])).json()
    expect(second).toMatchObject({ created: 1, present: 3 })
    expect(second.items.slice(0, 3)).toEqual(
      kids.map((kid: string) => ({ outcome: 'present', kid })),
    )
    expect(await revision()).toBe(before + 1)
    expect((await into(keys)).json()).toMatchObject({ created: 0, present: 3 })
    expect(await revision()).toBe(before + 1)
  })

  test('every refused item is named with any fault, and in order', async () => {
    const twice = importItem()
    const answer = await into([
      importItem(),
      { ...importItem(), algorithm: 'HS256' },
      importItem({ name: '' }),
      'no key',
      importItem({ publicKeyPem: fixture('keys/rsa/bits-1024.pem'), algorithm: 'RSA' }),
      twice,
      twice,
      importItem({ expireTime: '2020-01-01T00:00:00Z' }),
      { ...importItem(), lable: 'x' },
    ])
    expect(answer.statusCode).toBe(400)
    expect(codes(answer)).toEqual([
      '/keys/1/algorithm unknown_value',
      '/keys/2/name too_short',
      '/keys/3 wrong_type',
      '/keys/4/publicKeyPem rsa_modulus_too_small',
      '/keys/6/publicKeyPem duplicate_key',
      '/keys/7/expireTime time_past',
      '/keys/8/lable unknown_field',
    ])
    expect(await list()).toEqual([])
  })

  test('a dry run says the same and stores nothing', async () => {
    const keys = importItems(3)
    await into([keys[1]])
    const dry = await into(keys, { dryRun: true })
    expect(dry.statusCode).toBe(200)
    expect(dry.json()).toMatchObject({ created: 2, present: 1 })
    expect(await revision()).toBe(2)
    const { items, ...report } = dry.json()
    const { items: real, ...done } = (await into(keys)).json()
    expect(done).toEqual(report)
    const outcomes = (all: { outcome: string }[]) => all.map(({ outcome }) => outcome)
    expect(outcomes(real)).toEqual(outcomes(items))
  })
})

test('a private key in any item: nothing is imported, and the ledger says so, after a dry run too', async () => {
  const keys = [
    importItem(),
    importItem({ publicKeyPem: privatePem(ecKey()) }),
    importItem({ name: privatePem(ecKey()) }),
    { ...importItem({ label: privatePem(ecKey()) }), algorithm: 1 },
  ]
  expect(codes(await into(keys, { dryRun: true }))).toEqual([
    '/keys/1/publicKeyPem private_key_submitted',
    '/keys/2/name private_key_submitted',
    '/keys/3/label private_key_submitted',
    '/keys/3/algorithm wrong_type',
  ])
  expect(await list()).toEqual([])
  const types = (await events()).map(({ type }) => type)
  expect(types).toEqual(['project.created', ...new Array(3).fill('private_key.refused')])
})

describe('RSA keys that fall together', () => {
  const rsa = (file: string) =>
    importItem({ algorithm: 'RSA', publicKeyPem: fixture(`keys/${file}`) })
  const [one, two] = [rsa('rsa/shared-prime-a.pem'), rsa('rsa/shared-prime-b.pem')]
  const reused = [rsa('good/rsa2048.pem'), rsa('rsa/same-modulus-other-e.pem')]

  test('two in one import', async () => {
    const answer = await into([one, importItem(), two])
    expect(codes(answer)).toEqual(['/keys/2/publicKeyPem rsa_shared_prime'])
    expect(answer.body).toContain('/keys/0 of this import')
    expect(codes(await into(reused))).toEqual(['/keys/1/publicKeyPem rsa_modulus_reused'])
  })

  test('one with a registered one, which is still present', async () => {
    const { items } = (await into([one])).json()
    const answer = await into([one, two])
    expect(codes(answer)).toEqual(['/keys/1/publicKeyPem rsa_shared_prime'])
    expect(answer.body).toContain(items[0].kid)
  })
})

describe('limits', () => {
  test('more keys than one import may bring, and none', async () => {
    const answer = await into(new Array(61).fill({}))
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toMatchObject({ code: 'invalid_request', limit: 60 })
    expect(codes(answer)).toEqual(['/keys too_many'])
    expect(codes(await into([]))).toEqual(['/keys too_few'])
    const large = await startApp({ config: { maxKeysPerProject: 10_000 } })
    const tooMany = await sendImport(large, new Array(1_001).fill({}))
    expect(tooMany.json()).toMatchObject({ code: 'invalid_request', limit: 1_000 })
  })

  test('more keys than the project may have: those beyond are named, none is in', async () => {
    await into(importItems(40).map((item) => ({ ...item, active: false })))
    const answer = await into(importItems(22))
    expect(codes(answer)).toEqual(['/keys/20 key_limit_reached', '/keys/21 key_limit_reached'])
    expect(await list()).toHaveLength(40)
    expect((await into(importItems(20))).json().room.keys).toEqual({
      before: 40,
      after: 60,
      limit: 60,
    })
  })

  test('a key set that verifiers could not read', async () => {
    const small = await startApp({ config: { maxJwksBytes: 1_024 } })
    const answer = await sendImport(small, [...importItems(6), importItem({ active: false })])
    expect(codes(answer)).toEqual(['/keys/5 jwks_too_large'])
    const report = (await sendImport(small, importItems(5))).json()
    const jwks = await small.inject({ url: '/v1/projects/payments/.well-known/jwks.json' })
    expect(report.room.jwksBytes).toEqual({ before: 11, after: jwks.body.length, limit: 1_024 })
  })

  test('a body of its own size, and the limit of that in the refusal', async () => {
    const limit = 4 * 1_024 * 1_024
    const padded = (length: number) => [importItem({ name: 'x'.repeat(length) })]
    expect((await into(padded(limit - 1_000))).statusCode).toBe(400)
    const answer = await into(padded(limit))
    expect(answer.statusCode).toBe(413)
    expect(answer.json()).toMatchObject({ code: 'body_too_large', limit })
  })
})

test('a project that is deleted meanwhile: in it before, or 404, and nothing without a project', async () => {
  for (let round = 0; round < 10; round += 1) {
    const name = await newProject()
    const { id } = (await server.send('GET', `/v1/projects/${name}`)).json()
    const [imported, deleted] = await Promise.all([
      into(importItems(2), { project: name }),
      server.send('DELETE', `/v1/projects/${name}`),
    ])
    const outcome = `${imported.statusCode} ${deleted.statusCode}`
    expect(['200 409', '404 204']).toContain(outcome)
    const rows = await server.database.query('select id from jwt_key where project_id = ?', id)
    expect(rows).toHaveLength(imported.statusCode === 200 ? 2 : 0)
  }
})

test('a body of many values is refused before it is parsed; commas in texts are none', async () => {
  const url = `/v1/projects/${project}/key-imports`
  const answer = await server.send('POST', url, { body: `{"keys":[${'[],'.repeat(70_000)}1]}` })
  expect(answer.json()).toMatchObject({ code: 'invalid_json' })
  expect(answer.json().detail).toContain('more than 20000 values')
  const text = `\\",[{${',[{'.repeat(60_000)}`
  expect(codes(await into([importItem({ name: text })]))).toEqual(['/keys/0/name too_long'])
  const wrong = await server.send('POST', url, { body: { kyes: [], dryRun: 'yes' } })
  expect(codes(wrong)).toEqual(['/kyes unknown_field', '/keys required', '/dryRun wrong_type'])
})

test('a fifth import of one project is 429 before its body is read, and others are not', async () => {
  const base = await server.listen()
  const { id } = (await server.send('GET', `/v1/projects/${project}`)).json()
  const other = await newProject()
  const start = async (name: string, apiKey: string) => {
    const connection = rawConnection(base)
    const target = `POST /v1/projects/${name}/key-imports HTTP/1.1`
    const form = ['Content-Type: application/json', 'Content-Length: 4000000']
    const headers = ['Host: x', `X-Api-Key: ${apiKey}`, ...form, 'Expect: 100-continue']
    connection.socket.write(requestHead(target, ...headers))
    return { connection, text: await connection.waitFor(/ (100 Continue|429 [\s\S]*}$)/) }
  }
  const started: Awaited<ReturnType<typeof start>>[] = []
  for (let count = 0; count < 4; count += 1) {
    started.push(await start(project, await server.apiKey('writer', id)))
  }
  const [first] = started
  expect(started.every(({ text }) => text.includes('100 Continue'))).toBe(true)
  const fifth = await start(project, await server.apiKey('writer', id))
  expect(readProblem(fifth.text)).toMatchObject({ status: 429, problem: { code: 'rate_limited' } })
  started.push(fifth, await start(other, await server.apiKey('writer')))
  expect(started.at(-1)?.text).toContain('100 Continue')
  first?.connection.socket.destroy()
  const again = async () => {
    started.push(await start(project, await server.apiKey('writer', id)))
    return started.at(-1)?.text
  }
  await expect.poll(again).toContain('100 Continue')
  for (const { connection } of started) connection.socket.destroy()
})

describe('keys of another registry', () => {
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

  test('keep why a key ended; a compromised one stays off, and one that is active keeps the mark', async () => {
    const endings = [home, {}, { expireTime: '2099-01-01T00:00:00.000Z' }]
    const items = endings.map((end) => importItem({ ...end, kid: kid(), reason: 'compromised' }))
    expect((await into(items)).json()).toMatchObject({ created: 3 })
    for (const [index, item] of items.entries()) {
      const url = `/v1/projects/${project}/jwt-keys/${item.kid}`
      const { details } = (await server.send('GET', url)).json()
      if (index === 0) expect(details.ended.reason).toBe('compromised')
      else expect(details.state).toBe('compromised')
      await server.send('PATCH', url, { body: { active: false } })
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
    expect(refused.json().errors[0].detail).toContain(
      `${item.kid}, and there it is not compromised`,
    )
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
    [
      'an expiry before the creation',
      { createTime: home.createTime, expireTime: '2024-04-01T00:00:00Z' },
      '/expireTime time_order',
    ],
    ['a reason of no end', { reason: 'superseded' }, '/reason reason_without_end'],
  ])('%s is refused', async (_name, members, fault) => {
    expect(codes(await into([importItem(members)]))).toEqual([`/keys/0${fault}`])
  })

  test('a kid is never given to other material: here, elsewhere, deleted, project deleted, in one import', async () => {
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
    const again = items.map((item) => importItem({ kid: item?.kid }))
    expect(codes(await into(again))).toEqual(again.map((_, at) => `/keys/${at}/kid kid_taken`))
    const twice = { kid: kid() }
    const both = await into([importItem(twice), importItem(twice)])
    expect(codes(both)).toEqual(['/keys/1/kid kid_taken'])
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
})
