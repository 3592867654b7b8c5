import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { startTlsProxy, type TlsProxy } from '../support/network/tls-proxy.ts'
import { type Ran, startShell } from './support.ts'

const main = join(import.meta.dirname, '../../src/main.ts')

let shell: Awaited<ReturnType<typeof startShell>>
let proxy: TlsProxy
beforeAll(async () => {
  shell = await startShell()
  proxy = await startTlsProxy()
  proxy.forwardTo(shell.url)
})
afterAll(async () => {
  await proxy.close()
  await shell.close()
})

function environment(more: Record<string, string> = {}) {
  const { PATH = '' } = process.env
  const { admin, project } = shell.test
  const known = { PUBRING_URL: shell.url, PUBRING_API_KEY: admin, PUBRING_PROJECT: project.name }
  return { PATH, HOME: shell.folder, ...known, ...more }
}

/** `pubring …` as a process, by way of a shell where a script is given. */
async function spawned(
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

test.each([
  ['a list', ['key', 'list']],
  ['an export', ['export']],
])(
  '%s that cannot be written is said in one line, and nothing is called done',
  async (_name, args) => {
    await spawned(['key', 'add', '-', '--name', 'some'], { input: ecKey().publicKeyPem })
    const { code, stderr } = await spawned(args, { script: 'exec "$0" "$@" > /dev/full' })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'pubring: The output cannot be written (ENOSPC).\n',
    })
  },
)

test('a key from standard input: its kid on stdout, in a pipe without colours', async () => {
  const input = ecKey().publicKeyPem
  const { code, stdout, stderr } = await spawned(['key', 'add', '-', '--name', 'piped'], { input })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
  expect(stderr).toMatch(/^Registered “piped”/)
})

test.each([
  [['key', 'list'], /^$/],
  [['key', 'show', 'nobody'], /^pubring: /],
])('a reader that closes the pipe ends %j quietly', async (args, said) => {
  const script = '{ "$0" "$@"; echo "code $?" >&2; } | true'
  const { stdout, stderr } = await spawned(args, { script })
  expect(stdout).toBe('')
  const [, before, code] = /^([\s\S]*)code (\d+)\n$/.exec(stderr) ?? []
  expect(before).toMatch(said)
  expect(Number(code)).toBe(args.includes('nobody') ? 6 : 0)
})

test('a file that is not there: one line, no stack, exit code 2', async () => {
  const ran = await spawned(['key', 'add', 'none.pem', '--name', 'x'])
  expect(ran).toEqual({ code: 2, stdout: '', stderr: 'pubring: There is no file none.pem.\n' })
})

describe('an authority that is not trusted', () => {
  test('is said, with what makes it trusted; then it is', async () => {
    const env = { PUBRING_URL: proxy.url }
    const refused = await spawned(['key', 'list'], { env })
    expect(refused).toMatchObject({ code: 9, stdout: '' })
    expect(refused.stderr).toMatch(/certificate of https.* is not trusted here \(\w+\)/)
    expect(refused.stderr).toContain('NODE_EXTRA_CA_CERTS=')
    writeFileSync(join(shell.folder, 'authority.pem'), proxy.cert)
    const trusted = { ...env, NODE_EXTRA_CA_CERTS: 'authority.pem' }
    expect((await spawned(['key', 'list'], { env: trusted })).code).toBe(0)
  })
})

test('Ctrl-C ends what follows events, with the code of an interruption', async () => {
  const child = spawn(process.execPath, [main, 'events', '--follow'], { env: environment() })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const closed = once(child, 'close')
  await vi.waitUntil(() => output.includes('key.created'), { timeout: 10_000 })
  child.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  expect(output).not.toMatch(/Error|abort/i)
})

test('shells take the completion scripts, and what they ask for completes', async () => {
  for (const name of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await spawned(['completion', name])
    expect(code).toBe(0)
    expect(stdout).toContain('pubring complete --')
    if (name === 'bash') execFileSync('bash', ['-n'], { input: stdout })
  }
  const complete = async (...words: string[]) =>
    (await spawned(['complete', '--', ...words])).stdout
  expect(await complete('key', 'ro')).toMatch(/^rotate\t/)
  expect(await complete('key', 'add', '--al')).toMatch(/^--algorithm\t/)
  expect(await complete('')).toMatch(/^completion\t/m)
})

test('the version is that of the package', async () => {
  const { stdout } = await spawned(['--version'])
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})
