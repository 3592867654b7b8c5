import { expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { type Ran, startShell } from './support.ts'

// Without caching, every verifier knows a state after a second.
const shell = await startShell({ config: { jwksMaxAge: 0 } })

const documentOf = ({ stdout }: Ran) => JSON.parse(stdout)

/** A project with one active key, and the file of a new one. */
async function createProject(name: string) {
  await shell.pubring(['project', 'create', name])
  const there = ['--project', name]
  const first = shell.file(`${name}-old.pem`, ecKey().publicKeyPem)
  const old = (await shell.pubring(['key', 'add', first, '--label', 'old', ...there])).stdout.trim()
  const file = shell.file(`${name}-new.pem`, ecKey().publicKeyPem)
  const pubring = (...args: string[]) => shell.pubring([...args, ...there])
  const rotate = (...args: string[]) => pubring('key', 'rotate', file, ...args)
  const states = async (): Promise<Record<string, string>> => {
    const keys: { label: string; active: boolean }[] = documentOf(
      await pubring('key', 'list', '--json'),
    )
    return Object.fromEntries(keys.map(({ label, active }) => [label, active ? 'on' : 'off']))
  }
  const list = async () => documentOf(await pubring('key', 'rotation', 'list', '--json'))
  return { old, file, pubring, rotate, states, list }
}

test('it stops before the switch, and anyone resumes; the old key expires by itself', async () => {
  const { old, pubring, rotate, states, list } = await createProject('in-two-parts')
  const first = await rotate('--label', 'new', '--token-lifetime', '1h')
  expect(first.code, first.stderr).toBe(0)
  expect(first.stderr).toMatch(
    /1\. The key [\s\S]*2\. Every verifier[\s\S]*3\. Now switch the signer/,
  )
  const [rotation] = await list()
  expect(rotation).toMatchObject({ from: old, to: first.stdout.trim(), state: 'overlapping' })
  expect(first.stderr).toContain(
    `Once every signer uses it, run: pubring key rotate --resume ${rotation.id} --project in-two-parts\n`,
  )
  // The same command finds it as well, and changes the token lifetime.
  expect((await rotate('--token-lifetime', '2s')).stderr).toContain('1. Resuming the rotation')
  expect((await list())[0]).toMatchObject({ state: 'overlapping', tokenLifetime: 2 })

  const second = await pubring('key', 'rotate', '--resume', '--switched')
  expect(second.stderr).toMatch(/4\. The old key, .*, expires at 2/)
  await expect.poll(states, { interval: 200 }).toEqual({ old: 'off', new: 'on' })
  const done = await pubring('key', 'rotate', '--resume', rotation.id.slice(-6), '--switched')
  expect(done.stderr).toMatch(/^4\. The old key/)
  const json = await pubring('key', 'rotate', '--resume', rotation.id, '--json')
  expect(documentOf(json)).toMatchObject({ old, state: 'finished' })
})

test.each([
  ['left', 'while it waits', '2. Until every verifier knows it'],
  ['ready', 'after it has waited', '2. Every verifier that honors'],
])(
  '%s: interrupted %s, it prints the command that resumes it, which ends no key',
  async (name, _when, said) => {
    const { file, pubring, list, states } = await createProject(name)
    const controller = new AbortController()
    const onStderr = (text: string) => {
      if (text.includes(said)) controller.abort()
    }
    const args = ['key', 'rotate', file, '--label', 'new', '--token-lifetime', '1h', '--switched']
    const call = { signal: controller.signal, onStderr }
    const ran = await shell.pubring([...args, '--project', name], call)
    expect(ran).toMatchObject({ code: 130, stdout: '' })
    const [, command = ''] = /hint: Resume with: pubring (.*)/.exec(ran.stderr) ?? []
    expect((await shell.pubring(command.split(' '))).stderr).toMatch(/3\. Now switch the signer/)
    expect((await pubring('key', 'rotation', 'list')).stdout).toMatch(/\toverlapping\t/)
    expect((await list())[0]).not.toHaveProperty('expireTime')
    expect(await states()).toEqual({ old: 'on', new: 'on' })
  },
)

test('the keys must be unambiguous', async () => {
  const { pubring, rotate, states } = await createProject('unclear')
  const life = ['--token-lifetime', '1h']
  const refused = async (ran: ReturnType<typeof rotate>, message: RegExp) =>
    expect(await ran).toMatchObject({ code: 64, stderr: expect.stringMatching(message) })
  await refused(rotate('--label', 'new'), /--token-lifetime/)
  await refused(rotate('--label', 'new', '--token-lifetime', '0'), /at least 1s/)
  await refused(rotate(...life), /--label/)
  await refused(pubring('key', 'rotate', '--resume'), /0 rotations are under way/)
  const other = shell.file('other.pem', ecKey().publicKeyPem)
  await pubring('key', 'add', other, '--label', 'other')
  const several = /Several keys are active[\s\S]*--old .*\(old\)[\s\S]*--old .*\(other\)/
  await refused(rotate('--label', 'new', ...life), several)
  expect(await states()).toEqual({ old: 'on', other: 'on' })
})

test('a registered key replaces another one; rotations are listed and abandoned', async () => {
  const { old, pubring, list } = await createProject('registered')
  const other = shell.file('second.pem', ecKey().publicKeyPem)
  await pubring('key', 'add', other, '--label', 'second')
  const args = ['key', 'rotate', '--new', 'second', '--token-lifetime', '1h']
  await pubring(...args)
  const [first] = await list()
  const abandoned = await pubring('key', 'rotation', 'abandon', first.id)
  expect(abandoned.stderr).toMatch(/The keys stay as they are/)
  await pubring(...args, '--old', old)
  const [second] = await list()
  expect(second.id).not.toBe(first.id)
})

test('on a terminal, it asks how long tokens are valid, and whether the signers are switched', async () => {
  const { file, list } = await createProject('asked')
  const args = ['key', 'rotate', file, '--label', 'new', '--project', 'asked']
  const answers = { 'How long are your tokens': '\r', 'Does every signer use it?': 'y\r' }
  const ran = await shell.pubring(args, { answers })
  expect(ran.code, ran.stderr).toBe(0)
  expect(ran.stderr).toMatch(/2\. Until every verifier knows it: waiting \d+ s, until 2/)
  const [rotation] = await list()
  const expected = { state: 'finished', tokenLifetime: 900, expireTime: expect.any(String) }
  expect(rotation).toMatchObject(expected)
})

test('the old key is not ended without confirmation if the new key is not there to stay', async () => {
  const { pubring, rotate, list } = await createProject('guarded')
  const first = await rotate('--label', 'new', '--token-lifetime', '1h')
  await pubring('key', 'expire', first.stdout.trim(), '2h')
  const again = ['key', 'rotate', '--resume', '--switched']
  expect(await pubring(...again)).toMatchObject({
    code: 10,
    stderr: expect.stringMatching(/last active key of project guarded then expires[\s\S]*--yes/),
  })
  expect((await list())[0]).toMatchObject({ state: 'overlapping' })
  expect((await pubring(...again, '--yes')).code).toBe(0)
})
