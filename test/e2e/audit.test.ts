import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../packages/server/src/features/keys/stored.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { openShell } from '../cli/support.ts'
import { closeModulus, prime, rsaRecord } from '../support/keys/weak-keys.ts'
import { readJson, startServer, temporaryFolder } from '../support/server/process.ts'
import { createProject, origin } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()
const file = join(folder, 'data/pubring.db')
const limits = { maxKeys: 1_000, maxJwksBytes: 10_000_000 }

const server = await startServer(folder)
const store = await openStore(`sqlite:${file}`)

afterAll(async () => {
  shell.remove()
  await store.close()
})

async function put(key: KeyRecord): Promise<KeyRecord> {
  return store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}

const shell = openShell(() => ({ PUBRING_DATABASE_URL: `sqlite:${file}` }))
const audit = (...args: string[]) => shell.pubring(['audit', ...args])

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

  test('--again examines all keys once more', async () => {
    expect((await audit('--again')).stdout).toMatch(/^4 keys, 4 examined now/m)
    expect((await audit()).stdout).not.toMatch(/^4 keys, 4 examined now/m)
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
})

test('an audit of a project that does not exist does not run', async () => {
  const { code, stdout, stderr } = await audit('--project', 'nobody')
  expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
  expect(stderr).toBe('pubring: There is no project nobody.\n')
})
