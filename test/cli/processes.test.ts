import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { startTlsProxy } from '../support/network/tls-proxy.ts'
import { waitUntil } from '../support/waiting.ts'
import { type Ran, startShell } from './support.ts'

const main = join(import.meta.dirname, '../../bin/pubring.js')

const shell = await startShell()
const proxy = await startTlsProxy()
proxy.forwardTo(shell.url)

function environment(variables: Record<string, string> = {}) {
  const { PATH = '' } = process.env
  const { admin, project } = shell.test
  const known = { PUBRING_URL: shell.url, PUBRING_API_KEY: admin, PUBRING_PROJECT: project.name }
  return { PATH, HOME: shell.folder, ...known, ...variables }
}

/** Runs `pubring …` as a process, through a shell if there is a script. */
async function spawnPubring(
  args: string[],
  {
    env,
    input = '',
    script,
  }: { env?: Record<string, string>; input?: string; script?: string } = {},
): Promise<Ran> {
  const command = [process.execPath, main, ...args]
  const [program = '', ...rest] = script === undefined ? command : ['sh', '-c', script, ...command]
  const child = spawn(program, rest, { env: environment(env), cwd: shell.folder })
  const written = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (chunk) => {
      written[stream] += chunk
    })
  }
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, ...written }
}

test('a user without a home and an entry in the database of users has no profile', async ({
  skip,
}) => {
  // As under DynamicUser of systemd, and in containers with a user of their own.
  const script = 'exec unshare --map-user=54321 env -u HOME "$0" "$@"'
  const { code, stderr } = await spawnPubring(['key', 'list'], { script })
  skip(stderr.startsWith('unshare:'), 'needs namespaces of users')
  expect([code, stderr]).toEqual([0, expect.stringContaining('has no keys')])
})

test('an output that cannot be written is one line of error', async () => {
  await spawnPubring(['key', 'add', '-', '--label', 'some'], { input: ecKey().publicKeyPem })
  const { code, stderr } = await spawnPubring(['export'], { script: 'exec "$0" "$@" > /dev/full' })
  expect({ code, stderr }).toEqual({
    code: 70,
    stderr: 'pubring: The output cannot be written (ENOSPC).\n',
  })
})

test('a closed pipe ends a command without an error', async () => {
  const script = '{ "$0" "$@"; echo "code $?" >&2; } | true'
  const { stdout, stderr } = await spawnPubring(['key', 'list'], { script })
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'code 0\n' })
})

describe('an untrusted certificate authority', () => {
  test('is reported with the variable that makes it trusted', async () => {
    const env = { PUBRING_URL: proxy.url }
    const refused = await spawnPubring(['key', 'list'], { env })
    expect(refused).toMatchObject({ code: 9, stdout: '' })
    expect(refused.stderr).toMatch(/certificate of https.* is not trusted here \(\w+\)/)
    expect(refused.stderr).toContain('NODE_EXTRA_CA_CERTS=')
    writeFileSync(join(shell.folder, 'authority.pem'), proxy.cert)
    const trusted = { ...env, NODE_EXTRA_CA_CERTS: 'authority.pem' }
    expect((await spawnPubring(['key', 'list'], { env: trusted })).code).toBe(0)
  })
})

test('Ctrl-C ends events --follow with exit code 130', async () => {
  const child = spawn(process.execPath, [main, 'events', '--follow'], { env: environment() })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const closed = once(child, 'close')
  await waitUntil(() => output.includes('key.created'))
  child.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  expect(output).not.toMatch(/Error|abort/i)
})
