import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, edKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { expectWithin } from '../support/timing.ts'
import { documentOf, type Ran, startShell } from './support.ts'

let project: string
let projects = 0

const shell = await startShell({ config: { maxKeysPerProject: 1_500, maxJwksBytes: 16_777_216 } })

beforeEach(async () => {
  projects += 1
  project = `project-${projects}`
  await shell.test.send('POST', '/v1/projects', { body: { name: project } })
})

const into = (source: string, ...args: string[]) =>
  shell.pubring(['import', source, '--project', project, '--json', ...args])
const keys = async (): Promise<{ id: string; label: string; algorithm: string }[]> =>
  (await shell.test.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
const labels = async () => (await keys()).map(({ label }) => label)
const ecPem = () => ecKey().publicKeyPem
const pems = (count: number) => Array.from({ length: count }, ecPem)

interface Item {
  number: number
  place: string
  label: string
  outcome: string
  errors?: { code: string }[]
}
const itemsOf = (ran: Ran) => Object(documentOf(ran)).items as Item[]
const causes = (ran: Ran) =>
  itemsOf(ran).flatMap(({ number, errors = [] }) => errors.map(({ code }) => `${number} ${code}`))

describe('all or none', () => {
  test('one weak key keeps the other nine out; repeating a corrected import adds only new keys', async () => {
    const blocks = pems(10)
    const bad = blocks.with(5, fixture('keys/rsa/bits-1024.pem'))
    const refused = await into(shell.file('ten.pem', bad.join('\n')))
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('1 of 10 keys') })
    expect(causes(refused)).toEqual(['6 rsa_modulus_too_small'])
    expect(await keys()).toEqual([])
    const file = shell.file('ten.pem', blocks.join('\n'))
    expect(documentOf(await into(file))).toMatchObject({ created: 10, present: 0, refused: 0 })
    const more = shell.file('ten.pem', [...blocks, ecPem()].join('\n'))
    expect(documentOf(await into(more))).toMatchObject({ created: 1, present: 10, refused: 0 })
    expect(await keys()).toHaveLength(11)
  })

  test('--skip-refused imports the others and reports the rejected ones', async () => {
    const bad = [ecPem(), fixture('keys/rsa/bits-1024.pem'), ecPem(), 'x'].join('\n')
    const ran = await into(shell.file('some.pem', bad), '--skip-refused')
    expect(ran.code).toBe(0)
    expect(documentOf(ran)).toMatchObject({ created: 2, refused: 1 })
    expect(causes(ran)).toEqual(['2 rsa_modulus_too_small'])
    expect(await keys()).toHaveLength(2)
  })

  test('a dry run reports the outcome and registers nothing', async () => {
    const file = shell.file('dry.pem', pems(3).join('\n'))
    const ran = await into(file, '--dry-run')
    expect(documentOf(ran)).toMatchObject({ dryRun: true, created: 3 })
    const said = await shell.pubring(['import', file, '--project', project, '--dry-run'])
    expect(said.stderr).toContain('3 would be registered')
    expect(await keys()).toEqual([])
  })

  test('a weak key in the last of several requests keeps all keys out', async () => {
    const weak = [...pems(1_000), fixture('keys/rsa/bits-1024.pem')]
    const ran = await into(shell.file('large.pem', weak.join('\n')))
    expect(causes(ran)).toEqual(['1001 rsa_modulus_too_small'])
    expect(documentOf(ran)).toMatchObject({ created: 0, notSent: 1_000 })
    expect(await keys()).toEqual([])
  })

  test('keys for which a project has no room are rejected, and the setting that makes it is named', async () => {
    const narrow = await startShell({ config: { maxKeysPerProject: 2 } })
    const refused = async (count: number) => {
      const file = narrow.file('many.pem', pems(count).join('\n'))
      const ran = await narrow.pubring(['import', file])
      expect(ran.code).toBe(3)
      return ran.stdout + ran.stderr
    }
    expect(await refused(3)).toMatch(/takes 1 to 2\. .*PUBRING_MAX_KEYS_PER_PROJECT/)
    await narrow.pubring(['key', 'add', '-', '--label', 'x'], { input: ecPem() })
    expect(await refused(2)).toMatch(/key_limit_reached: .*PUBRING_MAX_KEYS_PER_PROJECT/)
  })
})

test('a JSON document is searched for a key set, but not each character of its texts', async () => {
  const file = shell.file('long.json', JSON.stringify({ text: 'x'.repeat(8_000_000) }))
  const begin = performance.now()
  const ran = await shell.pubring(['import', file])
  expectWithin(3_000, performance.now() - begin)
  expect(ran).toMatchObject({ code: 66, stderr: expect.stringContaining('holds no keys that can') })
})

describe('PEM blocks', () => {
  test('each is a key named by the comment before it', async () => {
    const blocks = pems(2).map((pem, index) => `note\n# signer ${index}, =1+1\n${pem}`)
    const ran = await into(shell.file('many.pem', `a list of keys\n\n${blocks.join('\n')}`))
    expect(documentOf(ran)).toMatchObject({ created: 2 })
    expect(await labels()).toEqual(['signer 0, =1+1', 'signer 1, =1+1'])
  })

  test('a private key among the blocks keeps everything from being sent, with any flag', async () => {
    const blocks = pems(3).with(1, privatePem(ecKey()))
    const file = shell.file('private.pem', blocks.join('\n'))
    for (const flags of [[], ['--skip-refused'], ['--dry-run']]) {
      const ran = await into(file, ...flags)
      expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Nothing was sent') })
      expect(causes(ran)).toEqual(['2 private_key_submitted'])
    }
    expect(await keys()).toEqual([])
    const events = (await shell.test.send('GET', `/v1/projects/${project}/events`)).json()
    expect(events).toHaveLength(1)
  })

  test('a duplicate key and a truncated block are rejected with their places', async () => {
    const twice = ecPem()
    const cut = ecPem().split('\n').slice(0, 2).join('\n')
    const ran = await into(shell.file('odd.pem', [twice, ecPem(), twice, cut].join('\n')))
    expect(causes(ran)).toEqual(['3 duplicate_key', '4 pem_incomplete'])
    expect(itemsOf(ran)[2]?.place).toMatch(/odd\.pem, block 3$/)
  })

  test('labels come from the file, algorithms from the key and --algorithm', async () => {
    const file = shell.file('spring.pem', rsaKey().publicKeyPem)
    await into(file, '--algorithm', 'PS256')
    const mixed = [edKey().publicKeyPem, ecPem(), rsaKey().publicKeyPem].join('\n')
    await into(shell.file('mixed.pem', mixed), '--algorithm', 'PS512')
    expect((await keys()).map(({ label, algorithm }) => `${label}: ${algorithm}`)).toEqual([
      'spring: PS256',
      'mixed 1: EdDSA',
      'mixed 2: ES256',
      'mixed 3: PS512',
    ])
  })
})

describe('other sources', () => {
  test('a folder: its key files in order; skipped files are counted', async () => {
    mkdirSync(join(shell.folder, 'keys'), { recursive: true })
    shell.file('keys/b.pem', ecPem())
    shell.file('keys/a.pem', ecPem())
    shell.file('keys/README.md', 'hello')
    shell.file('keys/.hidden.pem', 'hello')
    const folder = join(shell.folder, 'keys')
    const ran = await shell.pubring(['import', folder, '--project', project])
    expect(await labels()).toEqual(['a', 'b'])
    expect(ran.stderr).toContain('with other extensions: 1.')
  })

  test('standard input', async () => {
    const call = ['import', '-', '--project', project]
    const ran = await shell.pubring(call, { input: ecPem() })
    expect(ran).toMatchObject({
      code: 0,
      stderr: '1 registered, 0 already registered, 0 rejected.\n',
    })
    expect(ran.stdout).toMatch(/^1\tcreated\t[0-9a-f-]{36}\tStandard input\tStandard input\t\n$/)
  })

  test.each([
    ['invalid JSON', '{"keys": [', /not valid JSON/],
    ['unrelated JSON', '{"a": 1}', /holds no keys/],
  ])('%s is rejected', async (_name, text, message) => {
    const ran = await into(shell.file('odd.txt', text))
    expect(ran).toMatchObject({ code: 66, stdout: '', stderr: expect.stringMatching(message) })
  })
})
