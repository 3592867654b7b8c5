import { execFile } from 'node:child_process'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openShell, type Ran, type Shell } from '../cli/support.ts'
import { startApp } from '../support/app/app.ts'
import { edKey, rsaKey, type TestKey } from '../support/keys/pem.ts'

const file = join(import.meta.dirname, '../../docs/workloads/self-rotation.md')
const page = readFileSync(file, 'utf8')

const server = await startApp({ config: { jwksMaxAge: 0, refusalDelayMs: 0 } })
const url = await server.listen()
/** Has no API key. */
const service = openShell(() => ({ PUBRING_URL: url }))
const admin = openShell(() => ({ PUBRING_URL: url, PUBRING_API_KEY: server.admin }))

const idPattern = /^[0-9a-f-]{36}\n$/

/** The commands of the page that begin so. */
function block(start: string): string {
  const found = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  const text = found.find((each) => each.includes(start))
  expect(text, start).toBeDefined()
  return text ?? ''
}

/** Runs commands of the page in a shell, and returns what they print. */
async function inShell(text: string, env: Record<string, string> = {}): Promise<string> {
  const variables = { PATH: process.env.PATH, PUBRING_URL: url, PUBRING_API_KEY: server.admin }
  const script = ['set -e', text].join('\n')
  const { stdout } = await promisify(execFile)('bash', ['-c', script], {
    env: { ...variables, PROJECT: server.project.id, ...env },
  })
  return stdout
}

/** Runs a command of the page, in which the file and the kid are those of this test. */
function run(shell: Shell, start: string, kid = ''): Promise<Ran> {
  const words = block(start).trim().replaceAll('"', '').split(' ').slice(1)
  const values = new Map([
    ['$PROJECT', server.project.id],
    ['KID', kid],
    ['private.pem', join(service.folder, 'private.pem')],
  ])
  return shell.pubring(words.map((word) => values.get(word) ?? word))
}

async function startKey({ privateKey, publicKeyPem }: TestKey, algorithm: string) {
  service.file('private.pem', String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  const body = { name: 'orders', algorithm, publicKeyPem }
  const created = await server.send('POST', '/v1/projects/payments/jwt-keys', { body })
  return created.json().kid as string
}

const read = async (kid: string) =>
  (await server.send('GET', `/v1/projects/payments/jwt-keys/${kid}`)).json()

test('the page does what it says', async () => {
  const old = await startKey(edKey(), 'EdDSA')
  const early = await run(service, 'pubring key rotate')
  expect(early.code).toBe(4)
  expect(early.stderr).toContain('did not exchange a token signed with')
  const next = join(service.folder, 'private.next.pem')
  const { id: ruleId } = JSON.parse(await inShell(block('access-rules" -H')))

  const rotated = await run(service, 'pubring key rotate')
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(idPattern) })
  expect(rotated.stderr).toMatch(/Resuming with[\s\S]*1\. Registered[\s\S]*2\. Every[\s\S]*3\. Now/)
  const kid = rotated.stdout.trim()
  expect(statSync(next).mode & 0o777).toBe(0o600)
  const publicKey = createPublicKey(createPrivateKey(readFileSync(next)))
  const key = await read(kid)
  expect(key).toMatchObject({
    label: expect.stringMatching(/^orders \(\d{4}-\d\d-\d\d\)$/),
    algorithm: 'EdDSA',
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }),
    active: true,
    details: { introducedBy: old },
  })
  const events = JSON.parse((await run(admin, 'pubring events')).stdout)
  const workload = { ruleId, subject: old }
  expect(events.slice(-3)).toMatchObject([
    { type: 'token.exchanged', actor: { workload } },
    { type: 'token.used', actor: { workload } },
    {
      type: 'key.created',
      actor: { workload },
      subject: { id: kid },
      changes: { introducedBy: { to: old } },
    },
  ])

  const again = await run(service, 'pubring key rotate')
  expect(again).toMatchObject({ code: 0, stdout: `${kid}\n` })
  expect(again.stderr).toContain('1. Resuming with “orders')
  renameSync(next, join(service.folder, 'private.pem'))
  const third = (await run(service, 'pubring key rotate')).stdout.trim()
  expect((await read(third)).details.introducedBy).toBe(kid)
  expect((await run(admin, 'pubring key expire', old)).code).toBe(0)

  const warned = await admin.pubring(['key', 'deactivate', kid, '--yes', '-p', 'payments'])
  expect(warned.stderr).toMatch(new RegExp(`Warning: It vouched for keys.*${third}`))
  const ended = await run(admin, 'pubring key deactivate', old)
  expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('vouched') })
  for (const each of [old, kid, third]) expect((await read(each)).active).toBe(false)

  await inShell(block('-X PATCH'), { RULE: ruleId })
  const refused = await run(service, 'pubring key rotate')
  expect(refused).toMatchObject({ code: 6, stdout: '' })
})

test('an RSA key gets a successor of its size', async () => {
  const old = await startKey(rsaKey(), 'RSA')
  renameSync(join(service.folder, 'private.next.pem'), join(service.folder, 'other.pem'))
  await inShell(block('access-rules" -H'))
  const rotated = await run(service, 'pubring key rotate')
  expect(rotated.code, rotated.stderr).toBe(0)
  const { algorithm, details } = await read(rotated.stdout.trim())
  expect({ algorithm, bits: details.bits }).toEqual({ algorithm: 'RSA', bits: 2048 })
  expect(details.introducedBy).toBe(old)
})

test.each([
  [['--self', 'private.pem', '--project', 'payments'], 'by its id'],
  [['--self', '-', '--project', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'], 'takes the file'],
  [['new.pem', '--self', 'private.pem'], 'and no other file'],
  [[], 'Name the file of the new public key'],
])('a mistake is named before a key is made: %j', async (args, message) => {
  const { code, stderr } = await admin.pubring(['key', 'rotate', ...args])
  expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringContaining(message) })
  expect(existsSync('private.next.pem')).toBe(false)
})
