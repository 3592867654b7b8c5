import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../packages/cli/src/program.ts'
import { readVersion } from '../../packages/server/src/runtime/version.ts'
import { sendImport } from '../support/app/imports.ts'
import { ecKey } from '../support/keys/pem.ts'
import { documentOf, startShell } from './support.ts'

const shell = await startShell({ config: { maxJwksBytes: 16_777_216 } })

/** By ssh-keygen. */
const sshPublicKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKEsj5bGxDmyZN4mV9YyuNRu1Mdr6CkdoMRsyHHw2hIo alice@laptop in Berlin\n'

const add = (args: readonly string[], call = {}) =>
  shell.pubring(['key', 'add', '-', ...args], { input: ecKey().publicKeyPem, ...call })

describe('a label', () => {
  test.each([[['--label', 'a']], [['--label=a']], [['-n', 'a']]])('is set by %j', async (args) => {
    expect(documentOf(await add([...args, '--json']))).toMatchObject({ label: 'a' })
  })

  test('that is rejected is called like the option that was typed', async () => {
    const ran = await add(['--label', ' '])
    expect(ran).toMatchObject({ code: 3, stdout: '' })
    expect(ran.stderr).toBe('pubring: --label is empty. Send 1 to 255 characters.\n')
    const late = await add(['--label', 'x', '--expires', '2020-01-01'])
    expect(late.stderr).toBe('pubring: --expires must lie in the future.\n')
  })

  test('is suggested: the name of the file, or the comment of an SSH key', async () => {
    const file = shell.file('orders spring.pem', ecKey().publicKeyPem)
    expect(await shell.pubring(['key', 'add', file])).toEqual({
      code: 64,
      stdout: '',
      stderr: `pubring: The key needs a --label: what people call it.
hint: Add one: --label 'orders spring'
`,
    })
    const taken = await shell.pubring(['key', 'add', file], { answers: { 'Label:': ' 2026\r' } })
    expect(taken).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('“orders spring 2026”'),
    })
    const stopped = await shell.pubring(['key', 'add', file], { answers: { 'Label:': '\u0003' } })
    expect(stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('Interrupted.') })
    const ssh = shell.file('id_ed25519.pub', sshPublicKey)
    expect((await shell.pubring(['key', 'add', ssh])).stderr).toContain(
      "--label 'alice@laptop in Berlin'",
    )
    expect((await add([])).stderr).toContain('hint: Add one: --label LABEL\n')
  })
})

describe('an import', () => {
  test('says how much room there is, and which setting raises the limit', async () => {
    await shell.pubring(['project', 'create', 'small'])
    const keys = Array.from({ length: 3 }, (_, index) => ({
      name: `${index}`,
      algorithm: 'ES256',
      publicKeyPem: ecKey().publicKeyPem,
    }))
    await sendImport(shell.test, keys, { project: 'small' })
    for (const [count, all] of [
      [48, '48'],
      [2_000, '2,000'],
    ] as const) {
      const pems = Array.from({ length: count }, () => ecKey().publicKeyPem)
      const file = shell.file('many.pem', pems.join('\n'))
      const ran = await shell.pubring(['import', file, '--project', 'small', '--json'])
      expect(ran.code).toBe(7)
      expect(JSON.parse(ran.stderr)).toMatchObject({
        code: 'key_limit_reached',
        detail: `Project small has room for 47 of ${all} keys; raise PUBRING_MAX_KEYS_PER_PROJECT. Nothing was imported.`,
      })
    }
  })

  test('counts one key as one', async () => {
    const file = shell.file('odd.json', JSON.stringify({ keys: [{ kty: 'oct' }] }))
    const ran = await shell.pubring(['import', file])
    expect(ran).toMatchObject({ code: 3 })
    expect(ran.stderr).toContain('pubring: 1 of 1 key is refused: nothing was imported.\n')
  })
})

describe('an expired key', () => {
  test('is activated with another expiry, as the error says', async () => {
    const times = { createTime: '2024-05-01T10:00:00.000Z', updateTime: '2024-05-01T10:00:00.000Z' }
    const key = { name: 'old', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const sent = [{ ...key, ...times, expireTime: '2025-01-01T00:00:00.000Z' }]
    const [{ kid }] = (await sendImport(shell.test, sent)).json().items
    expect(await shell.pubring(['key', 'activate', 'old'])).toEqual({
      code: 3,
      stdout: '',
      stderr: `pubring: This key expired at 2025-01-01T00:00:00.000Z.
hint: To activate it again, give it a new expiry, or never: pubring key activate ${kid} --expires 90d --project payments
`,
    })
    const ran = await shell.pubring(['key', 'activate', 'old', '--expires', 'never', '--json'])
    expect(documentOf(ran)).toMatchObject({ active: true })
  })
})

describe('an address', () => {
  test('that is empty counts as unset', async () => {
    const { stderr } = await shell.pubring(['key', 'list'], {
      env: { PUBRING_URL: '', PUBRING_PROJECT: '', PUBRING_TIMEOUT: '', PUBRING_PROFILE: '' },
    })
    expect(stderr).toMatch(
      /No server listens at http:\/\/127\.0\.0\.1:8080|project “default”|API key/,
    )
  })

  test('of a server without TLS does not blame its certificate', async () => {
    const url = shell.url.replace('http:', 'https:')
    for (const args of [
      ['key', 'list', '--url', url],
      ['import', `${url}/jwks.json`],
    ]) {
      const ran = await shell.pubring(args)
      expect(ran).toMatchObject({ code: 9, stderr: expect.stringContaining('does not speak TLS') })
      expect(ran.stderr).not.toMatch(/certificate/)
    }
  })
})

test('--version prints the version', async () => {
  for (const option of ['--version', '-V']) {
    const ran = await shell.pubring([option])
    expect(ran).toEqual({ code: 0, stdout: `${readVersion()}\n`, stderr: '' })
    expect(ran.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  }
})

test('whoami and logout are there', async () => {
  expect(await shell.pubring(['whoami'])).toMatchObject({ code: 0, stdout: 'a admin (admin)\n' })
  const ran = await shell.pubring(['logout'])
  expect(ran).toMatchObject({ code: 64, stderr: expect.stringContaining('no profile default') })
})

test('help fits 80 columns, but for examples', () => {
  let written = ''
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  stdout.on('data', (chunk) => {
    written += chunk
  })
  const program = createProgram({
    env: { NO_COLOR: '1' },
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    exitCode: 0,
    json: false,
    interruptSignal: () => new AbortController().signal,
    lowerPriority: () => {},
  })
  const visit = (command: Command): void => {
    command.outputHelp()
    for (const child of command.commands) visit(child)
  }
  visit(program)
  const long = written.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $ '))
  expect(long).toEqual([])
})
