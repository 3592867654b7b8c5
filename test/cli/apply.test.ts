import { createPublicKey } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { documentOf, listen, startShell } from './support.ts'

let project: string
let projects = 0

const shell = await startShell()

beforeEach(async () => {
  projects += 1
  project = `project-${projects}`
  await shell.test.send('POST', '/v1/projects', { body: { name: project } })
})

const spring = { label: 'spring', publicKeyPem: ecKey().publicKeyPem }
const summer = { label: 'summer', publicKeyPem: rsaKey().publicKeyPem, algorithm: 'PS256' }
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
    expect(await apply(file, '--dry-run')).toMatchObject({ code: 2 })
    expect(await keys()).toEqual([])
    const first = await apply(file)
    expect(first).toMatchObject({
      code: 0,
      stdout: `--- project ${project}\n+++ ${file}\n+ spring (ES256)\n+ summer (PS256, inactive)\n`,
    })
    expect(await keys()).toMatchObject([
      { label: 'spring', active: true },
      { label: 'summer', algorithm: 'PS256', active: false },
    ])
    const before = await revision()
    const second = await apply(file)
    expect(second).toMatchObject({ code: 0, stdout: '' })
    expect(second.stderr).toContain('Nothing to do')
    expect(await apply(file, '--dry-run')).toMatchObject({ code: 0, stdout: '' })
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
    const ran = await apply(
      declare({ ...spring, label: 'Spring', expireTime }, { ...summer, active: true }),
    )
    expect(
      ran.stdout
        .replace(/[0-9a-f-]{36}/g, 'KID')
        .split('\n')
        .slice(2),
    ).toEqual([
      '  KID spring',
      '-   label: spring',
      '+   label: Spring',
      '-   expireTime: none',
      `+   expireTime: ${expireTime}`,
      '  KID summer',
      '-   active: false',
      '+   active: true',
      '',
    ])
    expect(await keys()).toMatchObject([{ label: 'Spring', expireTime }, { active: true }])
    await apply(declare({ ...spring, expireTime: null }, summer))
    expect(await keys()).toMatchObject([{ label: 'spring' }, { label: 'summer' }])
    expect((await keys())[0]).not.toHaveProperty('expireTime')
  })

  test.each([
    ['null, before the exp of its JWK', null, undefined],
    ['a time, before the exp of its JWK', '2098-01-01T00:00:00.000Z', '2098-01-01T00:00:00.000Z'],
    ['nothing, as the exp of its JWK', undefined, '2099-01-01T00:00:00.000Z'],
  ])('registers a key with an expireTime of %s', async (_name, expireTime, registered) => {
    const exp = Date.parse('2099-01-01') / 1000
    const jwk = { ...createPublicKey(spring.publicKeyPem).export({ format: 'jwk' }), exp }
    const file = declare({ label: 'spring', publicKeyPem: JSON.stringify(jwk), expireTime })
    expect((await apply(file)).code).toBe(0)
    expect((await keys())[0]?.expireTime).toBe(registered)
    expect(await apply(file, '--dry-run')).toMatchObject({ code: 0, stdout: '' })
  })

  test('does not undo what the file leaves out, such as a revocation', async () => {
    const file = declare(spring, summer)
    await apply(file)
    const [, { id }] = (await keys()) as [object, { id: string }]
    const there = ['--project', project]
    await shell.pubring(['key', 'deactivate', id, ...there])
    await shell.pubring(['key', 'expire', 'spring', '30d', '--yes', ...there])
    const before = await revision()
    for (const run of [await apply(file, '--dry-run'), await apply(file)]) {
      expect(run).toMatchObject({ code: 0, stdout: '' })
    }
    expect(await revision()).toBe(before)
  })

  test('can run several times at once', async () => {
    await apply(declare(spring, summer))
    const file = declare({ ...summer, label: 'Summer' })
    const runs = await Promise.all([1, 2, 3].map(() => apply(file, '--prune', '--yes')))
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(await keys()).toMatchObject([{ label: 'Summer' }])
  })

  test('reads YAML, and names the line of a mistake without its text', async () => {
    const pem = (lineBreak: string) => spring.publicKeyPem.trim().replaceAll('\n', lineBreak)
    for (const value of [
      `|\n      ${pem('\n      ')}`,
      `>\n      ${pem('\n      ')}`,
      `'${pem('\\n')}'`,
    ]) {
      const text = `project: ${project}\nkeys:\n  - label: spring\n    publicKeyPem: ${value}\n`
      expect(await apply(shell.file('keys.yaml', text))).toMatchObject({ code: 0 })
      expect(await keys()).toMatchObject([{ label: 'spring', algorithm: 'ES256' }])
    }
    const broken = shell.file('broken.yaml', 'keys:\n  - label: "secret\n')
    expect(await apply(broken)).toEqual({
      code: 66,
      stdout: '',
      stderr: expect.stringMatching(
        /^pubring: .*broken.yaml is not valid JSON or YAML \(line \d\)\.\nhint: For example: \{"project"/,
      ),
    })
  })

  test('creates the project', async () => {
    project = `new-${projects}`
    const file = declare(spring)
    const dry = await apply(file, '--dry-run')
    expect(dry).toMatchObject({ code: 2, stdout: expect.stringMatching(/^--- no project yet\n/) })
    const weak = { label: 'weak', publicKeyPem: fixture('keys/rsa/bits-1024.pem') }
    for (const ran of [await apply(declare(weak), '--dry-run'), await apply(declare(weak))]) {
      expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('key 1, weak: ') })
    }
    expect((await shell.test.send('GET', `/v1/projects/${project}`)).statusCode).toBe(404)
    expect((await apply(declare(spring))).stderr).toContain(
      `Project ${project} does not exist yet: it is created.`,
    )
    expect(await keys()).toMatchObject([{ label: 'spring' }])
  })

  test('takes no name that another project gave up just now, without --release-name', async () => {
    await shell.pubring(['project', 'rename', project, `${project}-old`])
    const file = declare(spring)
    for (const flags of [['--dry-run'], []]) {
      const refused = await apply(file, ...flags)
      expect(refused).toMatchObject({ code: 7, stderr: expect.stringContaining('--release-name') })
      expect(refused.stderr).not.toContain('release=true')
    }
    expect((await apply(file, '--dry-run', '--release-name')).code).toBe(2)
    expect((await apply(file, '--release-name')).code).toBe(0)
    expect(await keys()).toMatchObject([{ label: 'spring' }])
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
    expect(dry.stdout).toMatch(/\n- [0-9a-f-]{36} spring \(active: deactivate, then delete\)\n$/)
    const plan = documentOf(await apply(declare(summer), '--prune', '--dry-run', '--json'))
    const none = { add: [], change: [], undeclared: [], withheld: [] }
    expect(plan).toMatchObject({ project, dryRun: true, delete: [{ label: 'spring' }], ...none })
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

  test('does not bring back a deleted key without --restore-deleted', async () => {
    await apply(declare(spring))
    const [{ id } = {}] = await keys()
    await shell.pubring(['key', 'deactivate', String(id), '--project', project, '--yes'])
    await shell.pubring(['key', 'delete', String(id), '--project', project, '--yes'])
    expect(await keys()).toEqual([])
    const ran = await apply(declare(spring, summer))
    expect(ran).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/spring.*\n.*--restore-deleted/),
    })
    expect(await keys()).toMatchObject([{ label: 'summer' }])
    expect((await apply(declare(spring, summer))).code).toBe(3)
    expect((await apply(declare(spring, summer), '--restore-deleted')).code).toBe(0)
    expect(await keys()).toHaveLength(2)
  })

  test('leaves out a key that is over', async () => {
    const ran = await apply(declare({ ...spring, expireTime: '2020-01-01T00:00:00Z' }))
    expect(ran).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('Nothing to do'),
    })
  })

  test('reads key files relative to the declaration', async () => {
    shell.file('spring.pem', spring.publicKeyPem)
    expect((await apply(declare({ label: 'by file', file: 'spring.pem' }))).code).toBe(0)
    expect(await keys()).toMatchObject([{ label: 'by file' }])
  })
})

describe('nothing is changed by a declaration with', () => {
  test.each([
    ['an unknown member', { ...spring, activ: true }, 66, /did you mean/],
    ['a key without a label', { publicKeyPem: spring.publicKeyPem }, 66, /key 2 must have a label/],
    ['neither publicKeyPem nor file', { label: 'x' }, 66, /either publicKeyPem or file/],
    ['a missing file', { label: 'x', file: 'none.pem' }, 66, /none\.pem/],
    ['an invalid time', { ...spring, expireTime: 'soon' }, 66, /expireTime/],
    [
      'an unknown algorithm',
      { ...spring, algorithm: 'ES255' },
      66,
      /key 2 must be one of .*did you mean ES256/,
    ],
    ['text instead of a key', { label: 'x', publicKeyPem: 'hello' }, 3, /No PEM block was found/],
    ['the same key twice', summer, 3, /Remove one of them/],
  ])('%s', async (_name, key, code, message) => {
    const ran = await apply(declare(summer, key))
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
    expect(await keys()).toEqual([])
  })

  const hidden = privatePem(ecKey()).replaceAll(/-----.*-----\n|\s/g, '')
  const long = '#'.repeat(16_384)
  test.each([
    ['a long key', { publicKeyPem: summer.publicKeyPem + long + hidden }, /more than 16384/],
    ['a long label', { ...summer, label: long + hidden }, /more than 16384/],
    ['a kid', { ...summer, publishedKid: hidden }, /Nothing was sent/],
  ])('%s with a private key without a marker, which is not sent', async (_name, key, cause) => {
    const sent: string[] = []
    const { url, close } = await listen(async (request, response) => {
      sent.push(await text(request))
      response.setHeader('content-type', 'application/json').end('[]')
    })
    const ran = await apply(declare({ label: 'x', ...key }), '--url', url)
    close()
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringMatching(cause) })
    expect(sent.join('')).not.toContain(hidden)
  })

  test('a private key, which is not sent', async () => {
    const ran = await apply(declare(summer, { label: 'x', publicKeyPem: privatePem(ecKey()) }))
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
