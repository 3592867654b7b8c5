import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../packages/server/src/features/keys/stored.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { closeModulus, prime, rsaRecord } from '../support/keys/weak-keys.ts'
import { readJson, startServer, temporaryFolder } from '../support/server/process.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, origin } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

const main = join(import.meta.dirname, '../../packages/cli/src/main.ts')
const { folder } = temporaryFolder()
const file = join(folder, 'data/pubring.db')
const limits = { maxKeys: 1_000, maxJwksBytes: 10_000_000 }

const server = await startServer(folder)
const store = await openStore(`sqlite:${file}`)

afterAll(async () => {
  await store.close()
})

async function put(key: KeyRecord): Promise<KeyRecord> {
  return store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}

function startAudit(...args: string[]) {
  const child = spawn(process.execPath, [main, 'audit', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  })
  const written = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (text: Buffer) => {
      written[stream] += text
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code, ...written }))
  return { child, ended }
}

const audit = (...args: string[]) => startAudit(...args).ended

describe('pubring audit, beside a server', () => {
  let weak: KeyRecord
  let shared: KeyRecord[]

  test('finds nothing in a new registry and exits with 0', async () => {
    const { id } = await createProject(store, 'good')
    await put(rsaRecord(id, prime() * prime()))
    expect(await audit()).toEqual({
      code: 0,
      stdout: '1 key, 1 examined now, audited: nothing found.\n',
      stderr: '',
    })
  })

  test('writes a line for each finding and exits with 1', async () => {
    const [one, two] = [await createProject(store, 'one'), await createProject(store, 'two')]
    const p = prime()
    weak = await put(rsaRecord(one.id, closeModulus(50_000n)))
    shared = [await put(rsaRecord(one.id, p * prime())), await put(rsaRecord(two.id, p * prime()))]
    const { code, stdout, stderr } = await audit()
    const lines = stdout.trimEnd().split('\n')
    expect(code).toBe(1)
    expect(lines).toEqual([
      expect.stringMatching(
        `^rsa_shared_prime  one  ${shared[0]?.id}  new, active: .*${shared[1]?.id}`,
      ),
      expect.stringMatching(
        `^rsa_shared_prime  two  ${shared[1]?.id}  new, active: .*${shared[0]?.id}`,
      ),
      expect.stringMatching(`^rsa_primes_too_close  one  ${weak.id}  new, active: .*50000 steps`),
      '4 keys, 3 examined now, audited: 3 findings (3 new), 0 deactivated.',
    ])
    expect(stderr).toBe('Weak keys are active. Deactivate them with --deactivate, or one by one.\n')
  })

  test('--json prints one document, and --project limits it', async () => {
    const { code, stdout, stderr } = await audit('--json', '--project', 'TWO')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      rules: expect.stringMatching(/^\d+\.[0-9a-f]{16}$/),
      keys: 1,
      examined: 0,
      complete: true,
      ledgerFaults: [],
      findings: [
        {
          projectId: shared[1]?.projectId,
          projectName: 'two',
          kid: shared[1]?.id,
          code: 'rsa_shared_prime',
          detail: expect.any(String),
          isNew: false,
          active: true,
          deactivated: false,
        },
      ],
      failures: [],
    })
  })

  test('--deactivate takes the keys out of the running server’s key sets within a second', async () => {
    const jwks = `${server.url}/v1/projects/one/.well-known/jwks.json`
    const published = async () => (await (await fetch(jwks)).text()).includes(weak.id)
    expect(await published()).toBe(true)
    const { code, stdout } = await audit('--deactivate')
    expect(code).toBe(1)
    expect(stdout.match(/known, deactivated/g)).toHaveLength(3)
    await waitUntil(async () => !(await published()))
    const list = await fetch(`${server.url}/v1/projects/one/jwt-keys`, {
      headers: { 'X-Api-Key': server.apiKey },
    })
    const keys = await readJson<{ active: boolean }[]>(list)
    expect(keys.map(({ active }) => active)).toEqual([false, false])
  })

  test('the finding is among the events of the project, without naming the other project', async () => {
    const response = await fetch(`${server.url}/v1/projects/two/events`, {
      headers: { 'X-Api-Key': server.apiKey },
    })
    const events = await readJson<{ type: string; changes: object }[]>(response)
    expect(events.map(({ type }) => type)).toEqual([
      'project.created',
      'key.created',
      'key.weakness_found',
      'key.updated',
    ])
    expect(events[2]?.changes).toEqual({
      weaknesses: { to: 'rsa_shared_prime' },
      state: { to: expect.any(String) },
    })
  })
})

describe('an interrupted audit', () => {
  const [projectCount, keysEach] = [32, 50]
  beforeAll(async () => {
    const records = Array.from({ length: keysEach }, () => keyRecord(''))
    for (let index = 0; index < projectCount; index += 1) {
      const { id } = await createProject(store, `many-${index}`)
      await Promise.all(records.map((key) => put({ ...key, id: newId(), projectId: id })))
    }
  })

  function passed(): number {
    const database = new DatabaseSync(file, { readOnly: true })
    const row = database.prepare('select count(*) n from key_audit where passed_rules is not null')
    const { n } = row.get() ?? {}
    database.close()
    return Number(n)
  }

  test.each([
    ['SIGTERM', 143],
    ['SIGKILL', null],
  ] as const)('%s keeps the results so far', async (signal, expected) => {
    const before = passed()
    const { child, ended } = startAudit()
    await waitUntil(() => passed() > before)
    child.kill(signal)
    const { code, stdout, stderr } = await ended
    expect(code).toBe(expected)
    if (signal !== 'SIGTERM') return
    expect(stdout).toMatch(/, partially audited: .*\n$/)
    expect(stderr).toMatch(/^Interrupted: run it again to resume\.$/m)
    expect(passed()).toBeLessThan(projectCount * keysEach)
  })

  test('the next audit examines the rest', async () => {
    const before = passed()
    const { stdout } = await audit('--json')
    const { keys, examined, complete } = JSON.parse(stdout)
    expect(complete).toBe(true)
    expect(examined).toBe(keys - before)
    // The key that is weak by itself never passes.
    expect(passed()).toBe(keys - 1)
    expect(JSON.parse((await audit('--json')).stdout)).toMatchObject({ examined: 1 })
  })
})

describe('an audit that cannot run', () => {
  test.each([
    [['--project', 'nobody'], 6, /^pubring: There is no project nobody\.\n$/],
    [
      ['--database-url', 'sqlite:./none.db'],
      66,
      /^pubring: There is no database at \.\/none\.db\.\n$/,
    ],
    [['--wrong'], 64, /^pubring: unknown option '--wrong'/],
  ])('%j: exit code %i', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await audit(...args)
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
