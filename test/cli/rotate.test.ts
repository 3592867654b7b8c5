import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { documentOf, startShell } from './support.ts'

let shell: Awaited<ReturnType<typeof startShell>>
beforeAll(async () => {
  // Without caching, every verifier knows a state after a second.
  shell = await startShell({ config: { jwksMaxAge: 0 } })
})
afterAll(() => shell.close())

/** A project with one active key, and the file of a new one. */
async function createProject(name: string) {
  await shell.pubring(['project', 'create', name])
  const there = ['--project', name]
  const first = shell.file(`${name}-old.pem`, ecKey().publicKeyPem)
  const old = (await shell.pubring(['key', 'add', first, '--name', 'old', ...there])).stdout.trim()
  const file = shell.file(`${name}-new.pem`, ecKey().publicKeyPem)
  const rotate = (...args: string[]) => shell.pubring(['key', 'rotate', file, ...there, ...args])
  const states = async () => {
    const { stdout } = await shell.pubring(['key', 'list', ...there])
    return Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t'))
        .map(([, label, , state]) => [label, state]),
    )
  }
  return { old, file, rotate, states }
}

test('without a terminal, it stops before the switch and resumes with --switched', async () => {
  const { old, rotate, states } = await createProject('in-two-parts')
  const first = await rotate('--name', 'new', '--token-lifetime', '1s')
  expect(first.code).toBe(0)
  expect(first.stderr).toMatch(
    /1\. Registered[\s\S]*2\. Every verifier[\s\S]*3\. Now switch the signer/,
  )
  expect(first.stderr).toContain(`--old ${old}`)
  expect(await states()).toEqual({ old: 'active', new: 'active' })
  expect(first.stderr).toMatch(
    /It lets “old” expire 1s later, waits until no verifier trusts it, and keeps it in the list/,
  )
  const again = await rotate('--token-lifetime', '1s', '--json')
  const { kid, ...others } = documentOf(again)
  expect({ others, stderr: again.stderr }).toEqual({
    others: { outcome: 'switch_signer', old, algorithm: 'ES256' },
    stderr: '',
  })
  expect(first.stdout).toBe(`${kid}\n`)

  const second = await rotate('--switched', '--token-lifetime', '1s', '--delete')
  expect(second).toMatchObject({ code: 0, stdout: `${kid}\n` })
  expect(second.stderr).toMatch(
    /4\. “old” stays valid until[\s\S]*5\. No verifier[\s\S]*6\. Deleted “old”/,
  )
  expect(await states()).toEqual({ new: 'active' })

  const third = await rotate('--switched', '--old', old, '--token-lifetime', '1s')
  expect(third).toMatchObject({ code: 0, stdout: `${kid}\n` })
  expect(third.stderr).toMatch(/the rotation is complete/)
})

test('the old key is kept, and a token lifetime of 0 deactivates it immediately', async () => {
  const { rotate, states } = await createProject('kept')
  const ran = await rotate('--name', 'new', '--switched', '--token-lifetime', '0', '--json')
  expect(documentOf(ran)).toMatchObject({ outcome: 'kept' })
  expect(await states()).toEqual({ old: 'inactive', new: 'active' })
})

test('interrupted while old tokens are valid, it prints the command that resumes it', async () => {
  const { old, rotate, states } = await createProject('left')
  const controller = new AbortController()
  const { signal } = controller
  const args = ['--name', 'new', '--switched', '--token-lifetime', '6s', '--delete']
  const file = `${shell.folder}/left-new.pem`
  const rotating = shell.pubring(['key', 'rotate', file, '--project', 'left', ...args], { signal })
  await vi.waitUntil(
    async () => {
      const shown = await shell.pubring(['key', 'show', old, '--project', 'left', '--json'])
      return documentOf(shown).expireTime !== undefined
    },
    { timeout: 20_000 },
  )
  controller.abort()
  const ran = await rotating
  expect(ran).toMatchObject({ code: 130, stdout: '' })
  const [, command = ''] = /hint: Resume with: pubring (.*)/.exec(ran.stderr) ?? []
  const again = `key rotate ${file} --old ${old} --project left --token-lifetime 6s --switched --delete`
  expect(command).toBe(again)
  expect(ran.stderr).toMatch(/hint: It lets “old” expire 6s later.* and deletes it\./)
  expect(await states()).toEqual({ old: 'active', new: 'active' })
  expect((await shell.pubring(command.split(' '))).code).toBe(0)
  expect(await states()).toEqual({ new: 'active' })
  expect((await rotate('--token-lifetime', '6s')).code).toBe(64)
})

test('the old key must be unambiguous, and the new key needs a name', async () => {
  const { rotate, states } = await createProject('unclear')
  const life = ['--token-lifetime', '1h']
  expect(await rotate('--name', 'new')).toMatchObject({
    code: 64,
    stderr: expect.stringMatching(/--token-lifetime/),
  })
  expect(await rotate(...life)).toMatchObject({ code: 64, stderr: expect.stringMatching(/--name/) })
  const other = shell.file('other.pem', ecKey().publicKeyPem)
  await shell.pubring(['key', 'add', other, '--name', 'other', '--project', 'unclear'])
  const ran = await rotate('--name', 'new', ...life)
  expect(ran).toMatchObject({ code: 64, stdout: '' })
  expect(ran.stderr).toMatch(
    /Several keys are active[\s\S]*--old .*\(old\)[\s\S]*--old .*\(other\)/,
  )
  expect(await states()).toEqual({ old: 'active', other: 'active' })
})

test('on a terminal, it asks whether the signers are switched, and keeps the old key', async () => {
  const { file, states } = await createProject('asked')
  const args = [
    'key',
    'rotate',
    file,
    '--name',
    'new',
    '--project',
    'asked',
    '--token-lifetime',
    '1s',
  ]
  const answers = { 'Does every signer use it?': 'y\r' }
  const ran = await shell.pubring(args, { answers })
  expect(ran.code).toBe(0)
  expect(ran.stderr).toMatch(/2\. Until every verifier knows it .*left/)
  expect(await states()).toEqual({ old: 'expired', new: 'active' })
})

test('the old key is not retired without confirmation if the new key is not there to stay', async () => {
  const { old, rotate, states } = await createProject('guarded')
  const life = ['--token-lifetime', '0']
  const first = await rotate('--name', 'new', ...life)
  await shell.pubring(['key', 'expire', first.stdout.trim(), '1h', '--project', 'guarded'])
  const again = ['--old', old, '--switched', ...life]
  expect(await rotate(...again)).toMatchObject({
    code: 10,
    stderr: expect.stringMatching(/last active key of project guarded then expires[\s\S]*--yes/),
  })
  expect(await states()).toEqual({ old: 'active', new: 'active' })
  expect((await rotate(...again, '--yes')).code).toBe(0)
  expect(await states()).toEqual({ old: 'inactive', new: 'active' })
})
