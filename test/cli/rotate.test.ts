import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { waitUntil } from '../support/waiting.ts'
import { type Ran, startShell } from './support.ts'

let shell: Awaited<ReturnType<typeof startShell>>
beforeAll(async () => {
  // Without caching, every verifier knows a state after a second.
  shell = await startShell({ config: { jwksMaxAge: 0 } })
})
afterAll(() => shell.close())

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

test('it stops before the switch, and anyone resumes; the server ends the old key', async () => {
  const { old, pubring, rotate, states, list } = await createProject('in-two-parts')
  const first = await rotate('--label', 'new', '--token-lifetime', '2s')
  expect(first.code, first.stderr).toBe(0)
  expect(first.stderr).toMatch(
    /1\. The key [\s\S]*2\. Every verifier[\s\S]*3\. Now switch the signer/,
  )
  const [rotation] = await list()
  expect(rotation).toMatchObject({ from: old, to: first.stdout.trim(), state: 'overlapping' })
  expect(first.stderr).toContain(
    `pubring key rotate --resume ${rotation.id} --switched --project in-two-parts --token-lifetime 2s`,
  )
  // The same command finds it as well.
  expect((await rotate('--token-lifetime', '2s')).stderr).toContain('1. Resuming the rotation')

  const second = await pubring('key', 'rotate', '--resume', '--switched', '--token-lifetime', '2s')
  expect(second.stderr).toMatch(/4\. The server deactivates the old key/)
  expect(await states()).toEqual({ old: 'on', new: 'on' })
  const third = await pubring('key', 'rotate', '--resume', rotation.id.slice(0, 13), '--json')
  expect(documentOf(third)).toMatchObject({ old, schedule: { disableTime: expect.any(String) } })
  await expect.poll(states, { interval: 200 }).toEqual({ old: 'off', new: 'on' })
  const done = await pubring('key', 'rotate', '--resume', rotation.id)
  expect(done.stderr).toMatch(/4\. The old key, .*, is off since/)
})

test('--resume changes what is scheduled; without new times, and for the same command, it stays', async () => {
  const { rotate, pubring, states, list } = await createProject('changed')
  const begin = ['--label', 'new', '--switched', '--token-lifetime']
  await rotate(...begin, '1h')
  const hoursUntil = (time: string) => (Date.parse(time) - Date.now()) / 3_600_000
  const scheduleAfter = async (ran: Promise<Ran>) => {
    expect((await ran).code, (await ran).stderr).toBe(0)
    return (await list())[0].schedule
  }
  const resume = (...args: string[]) => scheduleAfter(pubring('key', 'rotate', '--resume', ...args))
  const { disableTime } = await resume()
  expect(await scheduleAfter(rotate('--switched', '--token-lifetime', '4h'))).toMatchObject({
    disableTime,
  })
  expect(hoursUntil(disableTime)).toBeCloseTo(1, 1)
  const { deleteTime, ...end } = await resume('--delete')
  expect(end).toMatchObject({ disableTime })
  expect(Date.parse(deleteTime) - Date.parse(disableTime)).toBe(86_400_000)
  const later = await resume('--token-lifetime', '3h', '--delete', '2d')
  expect(hoursUntil(later.disableTime)).toBeCloseTo(3, 1)
  expect(hoursUntil(later.deleteTime)).toBeCloseTo(51, 1)
  expect(await resume('--token-lifetime', '0')).not.toHaveProperty('disableTime')
  expect(await states()).toEqual({ old: 'off', new: 'on' })
  const [{ id }] = await list()
  expect(hoursUntil((await resume(id, '--delete', '1h')).deleteTime)).toBeCloseTo(1, 1)
})

test('a token lifetime of 0 ends the old key immediately; --delete schedules its deletion', async () => {
  const { rotate, states, list } = await createProject('immediate')
  const args = ['--label', 'new', '--switched', '--token-lifetime', '0', '--delete', '2d']
  const ran = await rotate(...args, '--json')
  expect(documentOf(ran)).toMatchObject({
    state: 'finished',
    schedule: { deleteTime: expect.any(String) },
  })
  expect(await states()).toEqual({ old: 'off', new: 'on' })
  const [{ schedule }] = await list()
  expect(Date.parse(schedule.deleteTime) - Date.now()).toBeGreaterThan(86_400_000)
})

test('interrupted while it waits, it prints the command that resumes it', async () => {
  const { pubring, list } = await createProject('left')
  const controller = new AbortController()
  const file = `${shell.folder}/left-new.pem`
  const times = ['--token-lifetime', '6s', '--delete', '2d', '--descendants', 'true']
  const args = ['key', 'rotate', file, '--label', 'new', ...times]
  const rotating = shell.pubring([...args, '--project', 'left'], { signal: controller.signal })
  await waitUntil(async () => (await list()).length > 0)
  controller.abort()
  const ran = await rotating
  expect(ran).toMatchObject({ code: 130, stdout: '' })
  const [, command = ''] = /hint: Resume with: pubring (.*)/.exec(ran.stderr) ?? []
  expect((await shell.pubring(command.split(' '))).stderr).toMatch(/4\. The server deactivates/)
  expect((await pubring('key', 'rotation', 'list')).stdout).toMatch(/\toverlapping\t/)
  expect((await list())[0].schedule).toMatchObject({
    deleteTime: expect.any(String),
    descendants: true,
  })
})

test('the keys must be unambiguous', async () => {
  const { pubring, rotate, states } = await createProject('unclear')
  const life = ['--token-lifetime', '1h']
  const refused = async (ran: ReturnType<typeof rotate>, message: RegExp) =>
    expect(await ran).toMatchObject({ code: 64, stderr: expect.stringMatching(message) })
  await refused(rotate('--label', 'new'), /--token-lifetime/)
  await refused(rotate(...life), /--label/)
  await refused(pubring('key', 'rotate', '--resume'), /0 rotations are under way/)
  const other = shell.file('other.pem', ecKey().publicKeyPem)
  await pubring('key', 'add', other, '--label', 'other')
  const several = /Several keys are active[\s\S]*--old .*\(old\)[\s\S]*--old .*\(other\)/
  await refused(rotate('--label', 'new', ...life), several)
  expect(await states()).toEqual({ old: 'on', other: 'on' })
})

test('a registered key replaces another one; rotations are listed, finished and abandoned', async () => {
  const { old, pubring, states, list } = await createProject('registered')
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
  expect((await pubring('key', 'rotation', 'finish', second.id)).code).toBe(0)
  expect(await states()).toEqual({ old: 'off', second: 'on' })
  expect((await pubring('key', 'rotation', 'finish', second.id)).stderr).toMatch(/is finished/)
})

test('on a terminal, it asks whether the signers are switched', async () => {
  const { file, list } = await createProject('asked')
  const args = ['key', 'rotate', file, '--label', 'new', '--project', 'asked']
  const answers = { 'Does every signer use it?': 'y\r' }
  const ran = await shell.pubring([...args, '--token-lifetime', '1h'], { answers })
  expect(ran.code).toBe(0)
  expect(ran.stderr).toMatch(/2\. Until every verifier knows it .*left/)
  expect((await list())[0].schedule.disableTime).toBeDefined()
})

test('the old key is not ended without confirmation if the new key is not there to stay', async () => {
  const { pubring, rotate, list } = await createProject('guarded')
  const first = await rotate('--label', 'new', '--token-lifetime', '1h')
  await pubring('key', 'expire', first.stdout.trim(), '1h')
  const again = ['key', 'rotate', '--resume', '--switched', '--token-lifetime', '1h']
  expect(await pubring(...again)).toMatchObject({
    code: 10,
    stderr: expect.stringMatching(/last active key of project guarded then expires[\s\S]*--yes/),
  })
  expect((await list())[0]).not.toHaveProperty('schedule')
  expect((await pubring(...again, '--yes')).code).toBe(0)
})

test('with a server that has no rotations, nothing is registered, and the error says so', async () => {
  const requests: string[] = []
  const older = createServer(({ method = '', url = '' }, response) => {
    requests.push(`${method} ${url}`)
    const problem = { type: 'x', title: 'x', status: 404, detail: 'x', code: 'route_not_found' }
    response.writeHead(404, { 'content-type': 'application/problem+json' })
    response.end(JSON.stringify({ ...problem, requestId: 'x' }))
  })
  await new Promise<void>((resolve) => older.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
  const file = shell.file('unsent.pem', ecKey().publicKeyPem)
  const args = ['key', 'rotate', file, '--label', 'new', '--token-lifetime', '1h', '--url', url]
  const ran = await shell.pubring(args)
  expect(ran.stderr).toMatch(/The server is older than rotations[\s\S]*hint: Upgrade it/)
  expect(requests).toEqual(['GET /v1/projects/payments/rotations'])
  older.close()
})
