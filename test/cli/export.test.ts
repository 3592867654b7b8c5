import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readContent } from '../../packages/cli/src/import/read.ts'
import type { KeyStateEntry } from '../../packages/client/src/index.ts'
import { sendImport } from '../support/app/imports.ts'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, rsaKey } from '../support/keys/pem.ts'
import { documentOf, startShell } from './support.ts'

const labels = ['plain', '=HYPERLINK("https://x.example","a")', "'", 'Ключ 🔑', 'e', 'f', 'g']

const [from, to] = await Promise.all([startShell(), startShell()])
const times = { createTime: '2024-05-01T10:00:00.000Z', updateTime: '2024-06-01T10:00:00.000Z' }
const keys = labels.map((name, index) => ({
  name,
  algorithm: index === 0 ? 'PS256' : 'ES256',
  publicKeyPem: (index === 0 ? rsaKey() : ecKey()).publicKeyPem,
  active: index % 2 === 0,
  ...(index < 4 ? times : {}),
  ...(index === 3 ? { expireTime: '2025-01-01T00:00:00.000Z' } : {}),
  ...(index === 4 ? { expireTime: '2099-01-01T00:00:00.000Z' } : {}),
  ...(index === 1 ? { reason: 'superseded' } : {}),
  ...(index === 3 ? { reason: 'compromised' } : {}),
  ...(index === 5 ? { publishedKid: 'inactive-one' } : {}),
  ...(index === 6 ? { publishedKid: 'arn:aws:kms/+1' } : {}),
}))
expect((await sendImport(from.test, keys)).statusCode).toBe(200)
await from.test.send('POST', '/v1/projects', { body: { name: 'orders' } })
await sendImport(from.test, keys.slice(0, 2), { project: 'orders' })

const listed = async ({ test: server }: typeof from, project: string) => {
  const keys: object[] = (await server.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
  return keys.map((key) => ({ ...key, projectId: 'any' }))
}

/** What single reads show of each key of the project: its kid, and why it ended. */
const readsOf = async ({ test: server }: typeof from, project: string) => {
  const url = `/v1/projects/${project}/jwt-keys`
  const reads: { kid: string; reason?: string }[] = []
  for (const { id } of (await server.send('GET', url)).json()) {
    const { publishedKid: kid = id, ended } = (await server.send('GET', `${url}/${id}`)).json()
      .details
    reads.push({ kid, ...(ended && { reason: ended.reason }) })
  }
  return reads
}

const kidsOf = async (shell: typeof from, project: string) =>
  (await readsOf(shell, project)).map(({ kid }) => kid)

const exportOf = (...projects: object[]) =>
  JSON.stringify({ format: 'pubring-export', version: 1, projects })

test('an export is imported with ids, states, times, labels and reasons of ends', async () => {
  await to.test.send('POST', '/v1/projects', { body: { name: 'back' } })
  const file = to.file('export.json', (await from.pubring(['export'])).stdout)
  const ran = await to.pubring(['import', file, '--project', 'back', '--json'])
  expect(ran.code, ran.stderr).toBe(0)
  expect(documentOf(ran)).toMatchObject({ created: labels.length, refused: 0 })
  expect(await listed(to, 'back')).toEqual(await listed(from, 'payments'))
  const reads = await readsOf(from, 'payments')
  expect(await readsOf(to, 'back')).toEqual(reads)
  expect([reads[1]?.reason, reads[3]?.reason]).toEqual(['superseded', 'compromised'])
  expect((await kidsOf(to, 'back')).slice(5)).toEqual(['inactive-one', 'arn:aws:kms/+1'])
  const again = await to.pubring(['import', file, '--project', 'back', '--json'])
  expect(documentOf(again)).toMatchObject({ created: 0, present: labels.length })
})

test('an export keeps why active keys will end', async () => {
  const projects = ['marked', 'restored']
  for (const name of projects) await to.test.send('POST', '/v1/projects', { body: { name } })
  const expireTime = '2099-01-01T00:00:00.000Z'
  const reasons = [undefined, 'superseded', 'compromised', 'compromised']
  const items = reasons.map((reason, index) => ({
    ...{ name: `key ${index}`, algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem, reason },
    ...(index < 3 && { expireTime }),
  }))
  expect((await sendImport(to.test, items, { project: 'marked' })).statusCode).toBe(200)
  const file = to.file('marked.json', (await to.pubring(['export', '--project', 'marked'])).stdout)
  const ran = await to.pubring(['import', file, '--project', 'restored'])
  expect(ran.code, ran.stderr).toBe(0)
  const [before, after] = await Promise.all(
    projects.map(async (name) => {
      const states = (await to.test.send('GET', `/v1/projects/${name}/key-states`)).json()
      return states.map(({ kid, endsBecause }: KeyStateEntry) => ({ kid, endsBecause }))
    }),
  )
  expect(after).toEqual(before)
  expect(after.map(({ endsBecause }: KeyStateEntry) => endsBecause)).toEqual(reasons)
  const url = `/v1/projects/restored/jwt-keys/${after[2].kid}`
  const body = { expireTime: null }
  expect((await to.test.send('PATCH', url, { body })).json().code).toBe('key_compromised')
})

test('a writer imports an export with new ids, and tokens with the old ones verify', async () => {
  const file = to.file('export.json', (await from.pubring(['export'])).stdout)
  await to.test.send('POST', '/v1/projects', { body: { name: 'writers' } })
  const env = { PUBRING_API_KEY: await to.test.apiKey('writer') }
  const call = ['import', file, '--project', 'writers', '--skip-refused', '--json']
  // The one that has expired cannot be registered anew.
  const expected = (await kidsOf(from, 'payments')).toSpliced(3, 1)
  expect(documentOf(await to.pubring(call, { env }))).toMatchObject({
    created: expected.length,
    refused: 1,
  })
  expect(await kidsOf(to, 'writers')).toEqual(expected)
  const ids = (keys: object[]) => keys.map((key) => Reflect.get(key, 'id'))
  expect(ids(await listed(to, 'writers'))).not.toContain(ids(await listed(from, 'payments'))[0])
  expect(documentOf(await to.pubring(call, { env }))).toMatchObject({
    created: 0,
    present: expected.length,
  })
})

test.each([
  [{ active: 'false' }, /active of a.json, key 1 must be true or false/],
  [{ expireTime: 1 }, /expireTime of a.json, key 1 must be text/],
  [{ active: false, reason: 'lost' }, /reason of a.json, key 1 must be one of unspecified/],
  [{ expiretime: '2020-01-01T00:00:00Z' }, /unknown member: expiretime/],
])('an exported key with %j is rejected', (members, message) => {
  const key = { label: 'a', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem, ...members }
  const text = exportOf({ id: crypto.randomUUID(), name: 'p', keys: [key] })
  expect(() => readContent(Buffer.from(text), 'a.json')).toThrow(message)
})

test.each([{ name: 'p' }, { id: crypto.randomUUID() }])(
  'an exported project with %j alone is rejected',
  (project) => {
    const text = exportOf({ ...project, keys: [] })
    expect(() => readContent(Buffer.from(text), 'a.json')).toThrow(/without an id or without/)
  },
)

describe('import --all', () => {
  const projectsOf = async ({ test: server }: typeof from) =>
    (await server.send('GET', '/v1/projects?limit=200')).json() as { id: string; name: string }[]

  test('moves a registry to a fresh server with the ids of its projects', async () => {
    const fresh = await startShell()

    await from.test.send('POST', '/v1/projects', { body: { name: 'empty' } })
    const file = fresh.file('all.json', (await from.pubring(['export', '--all'])).stdout)
    expect(await fresh.pubring(['import', file])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--all'),
    })
    const taken = await fresh.pubring(['import', file, '--all'])
    expect(taken).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/Project payments has another id here.*Nothing was imported/),
    })
    expect(await projectsOf(fresh)).toHaveLength(1)
    await fresh.pubring(['project', 'rename', 'payments', 'payments-old'])
    for (const flags of [['--dry-run'], []]) {
      const held = await fresh.pubring(['import', file, '--all', ...flags])
      expect(held).toMatchObject({ code: 7, stderr: expect.stringContaining('--release-name') })
    }
    const release = ['--all', '--release-name']
    const dry = await fresh.pubring(['import', file, ...release, '--dry-run', '--json'])
    expect(documentOf(dry)).toMatchObject({ created: labels.length + 2, notSent: 0 })
    const weak = fixture('keys/rsa/bits-1024.pem').replaceAll('\n', '\\n')
    const bad = fresh.file('bad.json', readFileSync(file, 'utf8').replace(/-----BEGIN[^"]*/, weak))
    const refused = await fresh.pubring(['import', bad, ...release, '--dry-run'])
    expect(refused).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('\trsa_modulus_too_small: '),
    })
    const ran = await fresh.pubring(['import', file, ...release])
    expect(ran.code, ran.stderr).toBe(0)
    const ids = (projects: { id: string; name: string }[]) =>
      projects.map(({ id, name }) => `${name} ${id}`).sort()
    const here = (await projectsOf(fresh)).filter(({ name }) => name !== 'payments-old')
    expect(ids(here)).toEqual(ids(await projectsOf(from)))
    expect(await listed(fresh, 'orders')).toEqual(await listed(from, 'orders'))
    await fresh.pubring(['project', 'rename', 'orders', 'orders-here'])
    const again = await fresh.pubring(['import', file, '--all', '--json'])
    expect(documentOf(again)).toMatchObject({ created: 0, present: labels.length + 2 })
    const { stderr } = await fresh.pubring(['import', file, '--all'])
    expect(stderr).toContain('Project orders is called orders-here here.')
  })

  test('keeps what it has created if the id of a later project was taken', async () => {
    const gone = (await to.test.send('POST', '/v1/projects', { body: { name: 'gone' } })).json()
    await to.test.send('DELETE', '/v1/projects/gone')
    const key = { label: 'a', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const early = { id: '0f8fad5b-d9cb-469f-a165-70867728950d', name: 'early' }
    const document = exportOf({ ...early, keys: [key] }, { id: gone.id, name: 'late', keys: [] })
    const call = ['import', to.file('a.json', document), '--all']
    const dry = await to.pubring([...call, '--dry-run'])
    expect(await projectsOf(to)).not.toContainEqual(expect.objectContaining(early))
    const ran = await to.pubring(call)
    for (const { code, stderr } of [dry, ran]) {
      expect({ code, stderr }).toEqual({
        code: 7,
        stderr: expect.stringContaining('was, a project with this id'),
      })
    }
    expect(await projectsOf(to)).toContainEqual(expect.objectContaining(early))
    expect(ran.stderr).toContain('Project early is created')
  })

  test('creates a project once that two exports of a folder have', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e'
    const key = { label: 'twice', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const folder = mkdtempSync(join(to.folder, 'twice-'))
    for (const name of ['a', 'b']) {
      const keys = name === 'a' ? [key] : []
      writeFileSync(join(folder, `${name}.json`), exportOf({ id, name: `twice-${name}`, keys }))
    }
    const ran = await to.pubring(['import', folder, '--all'])
    expect(ran.code, ran.stderr).toBe(0)
    expect((await projectsOf(to)).filter((project) => project.id === id)).toHaveLength(1)
  })

  test('rejects two projects of one name', async () => {
    const projects = [1, 2].map(() => ({ id: crypto.randomUUID(), name: 'one-name', keys: [] }))
    const file = to.file('names.json', exportOf(...projects))
    expect(await to.pubring(['import', file, '--all'])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('two projects with the name one-name'),
    })
  })
})
