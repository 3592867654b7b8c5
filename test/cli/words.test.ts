import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { readVersion } from '../../packages/server/src/runtime/version.ts'
import { sendImport } from '../support/app/imports.ts'
import { ecKey } from '../support/keys/pem.ts'
import { documentOf, programFor, startShell } from './support.ts'

const shell = await startShell()

/** By ssh-keygen. */
const sshPublicKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKEsj5bGxDmyZN4mV9YyuNRu1Mdr6CkdoMRsyHHw2hIo alice@laptop in Berlin\n'

const add = (args: readonly string[], call = {}) =>
  shell.pubring(['key', 'add', '-', ...args], { input: ecKey().publicKeyPem, ...call })

test('a label that is rejected is called like the option that was typed', async () => {
  expect(documentOf(await add(['-n', 'a', '--json']))).toMatchObject({ label: 'a' })
  const ran = await add(['--label', ' '])
  expect(ran).toMatchObject({ code: 3, stdout: '' })
  expect(ran.stderr).toBe('pubring: --label is empty. Send 1 to 255 characters.\n')
  const late = await add(['--label', 'x', '--expires', '2020-01-01'])
  expect(late.stderr).toBe('pubring: --expires must lie in the future.\n')
})

test('a label is suggested: the name of the file, or the comment of an SSH key', async () => {
  const file = shell.file('orders spring.pem', ecKey().publicKeyPem)
  expect(await shell.pubring(['key', 'add', file])).toEqual({
    code: 64,
    stdout: '',
    stderr: `pubring: The key needs a --label: what people call it.
hint: Add one: --label 'orders spring'
`,
  })
  const taken = await shell.pubring(['key', 'add', file], { answers: { 'Label:': ' 2026\r' } })
  expect(taken.stderr).toContain('“orders spring 2026”')
  const stopped = await shell.pubring(['key', 'add', file], { answers: { 'Label:': '\u0003' } })
  expect(stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('Interrupted.') })
  const ssh = shell.file('id_ed25519.pub', sshPublicKey)
  expect((await shell.pubring(['key', 'add', ssh])).stderr).toContain(
    "--label 'alice@laptop in Berlin'",
  )
  expect((await add([])).stderr).toContain('hint: Add one: --label LABEL\n')
})

test('an expired key is activated with another expiry, as the error says', async () => {
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

test('an import counts one key as one', async () => {
  const file = shell.file('odd.json', JSON.stringify({ keys: [{ kty: 'oct' }] }))
  const ran = await shell.pubring(['import', file])
  expect(ran.stderr).toContain('pubring: 1 of 1 key is refused: nothing was imported.\n')
})

test('an address that is empty counts as unset', async () => {
  const env = { PUBRING_URL: '', PUBRING_PROJECT: '', PUBRING_TIMEOUT: '', PUBRING_PROFILE: '' }
  const { stderr } = await shell.pubring(['key', 'list'], { env })
  expect(stderr).toMatch(
    /No server listens at http:\/\/127\.0\.0\.1:8080|project “default”|API key/,
  )
})

test('a server without TLS does not blame its certificate', async () => {
  const ran = await shell.pubring(['key', 'list', '--url', shell.url.replace('http:', 'https:')])
  expect(ran).toMatchObject({ code: 9, stderr: expect.stringContaining('does not speak TLS') })
  expect(ran.stderr).not.toMatch(/certificate/)
})

test('--version prints the version', async () => {
  for (const option of ['--version', '-V']) {
    const ran = await shell.pubring([option])
    expect(ran).toEqual({ code: 0, stdout: `${readVersion()}\n`, stderr: '' })
  }
})

test('help fits 80 columns, but for examples', () => {
  let written = ''
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  stdout.on('data', (chunk) => {
    written += chunk
  })
  const program = programFor({ env: { NO_COLOR: '1' }, stdout })
  const visit = (command: Command): void => {
    command.outputHelp()
    for (const child of command.commands) visit(child)
  }
  visit(program)
  const long = written.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $ '))
  expect(long).toEqual([])
})
