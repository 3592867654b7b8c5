import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createBlocklist } from '../../../packages/intake/src/blocklists/blocklist.ts'
import { createAuditPool, runAudit } from '../../../packages/server/src/features/audit/run.ts'
import { openExistingStore } from '../../../packages/server/src/registry.ts'
import { startApp } from '../../support/app/app.ts'
import { fixture } from '../../support/keys/intake.ts'

const sharing = [fixture('keys/rsa/shared-prime-a.pem'), fixture('keys/rsa/shared-prime-b.pem')]
const plain = fixture('keys/good/rsa2048.pem')
const reused = fixture('keys/rsa/same-modulus-other-e.pem')

const app = await startApp()
for (const name of ['first', 'second']) await app.send('POST', '/v1/projects', { body: { name } })

async function register(project: string, publicKeyPem = '') {
  const body = { name: project, algorithm: 'RSA', publicKeyPem }
  return app.send('POST', `/v1/projects/${project}/jwt-keys`, { body })
}

/** The findings of an audit without its slow checks. */
async function found(): Promise<[code: string, kid: string][]> {
  const findings: [string, string][] = []
  const controller = new AbortController()
  const { signal } = controller
  const pool = createAuditPool(signal)
  const store = await openExistingStore(app.database.url)
  const listener = {
    progress: (stage: string) => stage === 'examining' && controller.abort(),
    finding: ({ code, kid }: { code: string; kid: string }) => findings.push([code, kid]),
    failure: () => {},
  }
  const { clock } = app.context
  const blocklist = createBlocklist()
  const setup = { store, clock, pool, blocklist, listener }
  await runAudit(setup, { deactivate: false, again: false, signal })
  await pool.close()
  await store.close()
  return findings
}

describe.each([
  ['rsa_shared_prime', sharing[0], sharing[1]],
  ['rsa_modulus_reused', plain, reused],
])('%s', (code, one, two) => {
  let kids: string[]

  test('is refused in the project, and names the kid of the other key', async () => {
    const created = await register('first', one)
    expect(created.statusCode, created.body).toBe(201)
    const { kid } = created.json()
    const refused = await register('first', two)
    expect(refused.statusCode).toBe(400)
    expect(refused.json()).toMatchObject({
      code: 'weak_key',
      errors: [{ pointer: '/publicKeyPem', code, detail: expect.stringContaining(kid) }],
    })
    kids = [kid]
  })

  test('is taken in another project, which must not learn of the first', async () => {
    const created = await register('second', two)
    expect(created.statusCode, created.body).toBe(201)
    expect(Object.keys(created.json())).toEqual(['kid'])
    kids.push(created.json().kid)
  })

  test('is found by the audit at both keys', async () => {
    const ours = (await found()).filter((finding) => finding[0] === code)
    expect(ours.map(([, kid]) => kid).toSorted()).toEqual(kids.toSorted())
  })
})

test('the two spellings of one modulus are what the names of the files say', () => {
  const n = (text: string) => createPublicKey(text).export({ format: 'jwk' }).n
  expect(n(plain)).toBe(n(reused))
})
