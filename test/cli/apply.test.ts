import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ecKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { documentOf, startShell } from './support.ts'

let shell: Awaited<ReturnType<typeof startShell>>
let project: string
let projects = 0
beforeAll(async () => {
  shell = await startShell()
})
afterAll(() => shell.close())
beforeEach(async () => {
  projects += 1
  project = `project-${projects}`
  await shell.test.send('POST', '/v1/projects', { body: { name: project } })
})

const spring = { name: 'spring', publicKeyPem: ecKey().publicKeyPem }
const summer = { name: 'summer', publicKeyPem: rsaKey().publicKeyPem, algorithm: 'PS256' }
const declare = (...keys: unknown[]) =>
  shell.file('declared.json', JSON.stringify({ project, keys }))
const apply = (file: string, ...args: string[]) => shell.pubring(['apply', file, ...args])
const keys = async (): Promise<Record<string, unknown>[]> =>
  (await shell.test.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
const revision = async () =>
  (await shell.test.send('GET', `/v1/projects/${project}`)).json().revision

describe('pubring apply', () => {
  test('applies a declaration, and changes nothing the second time', async () => {
    const file = declare(spring, { ...summer, active: false })
    const first = await apply(file)
    expect(first).toMatchObject({
      code: 0,
      stdout: '+ spring (ES256)\n+ summer (PS256, inactive)\n',
    })
    expect(await keys()).toMatchObject([
      { label: 'spring', active: true },
      { label: 'summer', algorithm: 'PS256', active: false },
    ])
    const before = await revision()
    const second = await apply(file)
    expect(second).toMatchObject({ code: 0, stdout: '' })
    expect(second.stderr).toContain('Nothing to do')
    expect(await revision()).toBe(before)
  })

  test('publishes a key under the declared kid, which cannot change', async () => {
    const migrated = { ...spring, publishedKid: 'kms/key-1' }
    expect((await apply(declare(migrated))).code).toBe(0)
    expect((await apply(declare(migrated))).stderr).toContain('Nothing to do')
    const ran = await apply(declare({ ...spring, publishedKid: 'kms/key-2' }))
    expect(ran).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('published as kms/key-1'),
    })
  })

  test('changes keys that differ, and prints the plan', async () => {
    await apply(declare(spring, { ...summer, active: false }))
    const expireTime = '2099-01-01T00:00:00.000Z'
    const ran = await apply(declare({ ...spring, name: 'Spring', expireTime }, summer))
    expect(ran.stdout).toMatch(
      /^~ [0-9a-f-]{36} spring: label spring → Spring, expireTime none → 2099.*\n~ .* summer: active false → true\n$/,
    )
    expect(await keys()).toMatchObject([{ label: 'Spring', expireTime }, { active: true }])
    await apply(declare(spring, summer))
    expect(await keys()).toMatchObject([{ label: 'spring' }, { label: 'summer' }])
    expect((await keys())[0]).not.toHaveProperty('expireTime')
  })

  test('keeps undeclared keys, and deletes them with --prune --yes', async () => {
    await apply(declare(spring, summer))
    const kept = await apply(declare(summer))
    expect(kept.stderr).toContain('Keys that are not in the file: 1. They stay')
    expect(await keys()).toHaveLength(2)
    const asked = await apply(declare(summer), '--prune')
    expect(asked).toMatchObject({ code: 10, stderr: expect.stringContaining('--yes') })
    expect(await keys()).toHaveLength(2)
    const dry = await apply(declare(summer), '--prune', '--dry-run')
    expect(dry.stdout).toMatch(/^- [0-9a-f-]{36} spring \(active: deactivate, then delete\)\n$/)
    expect(await keys()).toHaveLength(2)
    expect((await apply(declare(summer), '--prune', '--yes')).code).toBe(0)
    expect(await keys()).toMatchObject([{ label: 'summer' }])
  })

  test('removes the last active key only with --yes', async () => {
    await apply(declare(spring))
    for (const file of [declare({ ...spring, active: false }), declare()]) {
      const ran = await apply(file, '--prune')
      expect(ran).toMatchObject({ code: 10, stderr: expect.stringContaining('last active key') })
    }
    const expiring = { ...spring, expireTime: '2099-01-01T00:00:00.000Z' }
    expect(await apply(declare(expiring))).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('then expires at 2099-01-01'),
    })
    expect(await keys()).toMatchObject([{ active: true }])
    expect((await apply(declare({ ...spring, active: false }), '--yes')).code).toBe(0)
    expect(await keys()).toMatchObject([{ active: false }])
  })

  test('prints the plan with --json', async () => {
    const plan = documentOf(await apply(declare(spring), '--json', '--dry-run'))
    expect(plan).toMatchObject({
      project,
      dryRun: true,
      add: [{ name: 'spring', algorithm: 'ES256', active: true }],
      change: [],
      delete: [],
      undeclared: [],
    })
    expect(await keys()).toEqual([])
  })

  test('reads key files relative to the declaration', async () => {
    shell.file('spring.pem', spring.publicKeyPem)
    expect((await apply(declare({ name: 'by file', file: 'spring.pem' }))).code).toBe(0)
    expect(await keys()).toMatchObject([{ label: 'by file' }])
  })
})

describe('nothing is changed by a declaration with', () => {
  test.each([
    ['an unknown member', { ...spring, activ: true }, 66, /did you mean/],
    ['a key without a name', { publicKeyPem: spring.publicKeyPem }, 66, /key 2 must have a name/],
    ['neither publicKeyPem nor file', { name: 'x' }, 66, /either publicKeyPem or file/],
    ['a missing file', { name: 'x', file: 'none.pem' }, 66, /none\.pem/],
    ['an invalid time', { ...spring, expireTime: 'soon' }, 66, /expireTime/],
    [
      'an unknown algorithm',
      { ...spring, algorithm: 'ES255' },
      66,
      /key 2 must be one of .*did you mean ES256/,
    ],
    ['text instead of a key', { name: 'x', publicKeyPem: 'hello' }, 66, /no public key/],
    ['a weak key', { name: 'x', publicKeyPem: rsaKey(1024).publicKeyPem }, 3, /1024 bits/],
    ['the same key twice', summer, 3, /Remove one of them/],
  ])('%s', async (_name, key, code, message) => {
    const ran = await apply(declare(summer, key))
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
    expect(await keys()).toEqual([])
  })

  test('a private key, which is not sent', async () => {
    const ran = await apply(declare(summer, { name: 'x', publicKeyPem: privatePem(ecKey()) }))
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Nothing was sent') })
    expect(await revision()).toBe(1)
  })

  test('another project than that of the command', async () => {
    const ran = await apply(declare(spring), '--project', 'payments')
    expect(ran).toMatchObject({ code: 64, stderr: expect.stringContaining('payments') })
  })

  test('another algorithm for a registered key', async () => {
    await apply(declare(summer))
    const ran = await apply(declare({ ...summer, algorithm: 'RS256' }))
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('for PS256') })
    expect(await keys()).toMatchObject([{ algorithm: 'PS256' }])
  })
})
