import { expect, test } from 'vitest'
import { testClock } from '../support/app/clock.ts'
import { ecKey } from '../support/keys/pem.ts'
import { startShell } from './support.ts'

const clock = testClock()
const shell = await startShell({ clock, config: { jwksMaxAge: 0 } })

/** A project with an active key. */
async function createProject(name: string) {
  await shell.pubring(['project', 'create', name])
  const there = ['--project', name]
  const pubring = (args: string[], call = {}) => shell.pubring([...args, ...there], call)
  const add = async (label: string) => {
    const added = ['key', 'add', '-', '--label', label]
    return (await pubring(added, { input: ecKey().publicKeyPem })).stdout.trim()
  }
  const report = (log: string, ...args: string[]) =>
    pubring(['key-uses', 'report', '--as', 'edge', ...args], { input: log })
  const use = async (kid: string) =>
    JSON.parse((await pubring(['key', 'show', kid, '--json'])).stdout).details.use
  return { kid: await add('first'), add, pubring, report, use }
}

const seconds = (time: string) => Date.parse(time) / 1_000

test.each([
  [
    'HAProxy',
    (kid: string) => `<134>haproxy[7]: 2026-01-02T03:04:05Z kid=${kid} exp=1767330245 200`,
  ],
  [
    'nginx',
    (kid: string) => `2026-01-02T04:04:05+01:00 kid=${kid} exp=1767330245 "GET / HTTP/1.1"`,
  ],
  [
    'Envoy',
    (kid: string) => `[2026-01-02T03:04:05.000Z] kid=${kid} exp=1767330245 GET /?kid=other`,
  ],
  ['JSON', (kid: string) => `{"time":"2026-01-02T03:04:05+0000","kid":"${kid}","exp":1767330245}`],
])('the log of %s is reported', async (name, line) => {
  const { kid, report, use } = await createProject(`log-${name.toLowerCase()}`)
  const log = [line('-'), line(kid), line('unknown'), '', line(kid).replace('-01-02', '-01-01')]
  const ran = await report(log.join('\n'))
  expect(ran.code, ran.stderr).toBe(0)
  expect(ran.stderr).toContain('Reported 1 key as edge.\nWarning: no key of project ')
  expect(ran.stderr).toContain(' has these kids of the log: unknown.')
  const [lastTime, lastExp] = ['2026-01-02T03:04:05.000Z', '2026-01-02T05:04:05.000Z']
  expect(seconds(lastExp)).toBe(1767330245)
  expect(await use(kid)).toMatchObject({ lastTime, lastReporter: 'edge', lastExp })
})

test('a kid or an end that cannot be is no reason to refuse the others', async () => {
  const { kid, report, use } = await createProject('odd-ends')
  const exps = ['1767330245000', '99999999999999', '1767330245', '253402300800', '-1', 'never']
  const log = exps.map((exp) => `2026-01-02T03:04:05Z kid=${kid} exp=${exp}`)
  log.push(`kid=${'x'.repeat(300)} exp=1767330245`)
  const ran = await report(log.join('\n'))
  expect(ran.code, ran.stderr).toBe(0)
  expect(await use(kid)).toMatchObject({ lastExp: '2026-01-02T05:04:05.000Z' })
})

test('a name that cannot be is named by its option', async () => {
  const { report } = await createProject('odd-name')
  const refused = await report('', '--as', 'Edge 2')
  expect(refused.stderr).toContain('--as must be 1 to 128 characters of a-z, 0-9 and -')
})

test('a log without a kid is reported as no use only if it is empty', async () => {
  const { kid, report, use } = await createProject('no-kid')
  const refused = await report('127.0.0.1 GET /\n')
  expect(refused).toMatchObject({ code: 64, stdout: '' })
  expect(refused.stderr).toContain('No line of Standard input has a kid, so nothing was reported')
  expect(await use(kid)).toBeUndefined()
  expect(await report('')).toMatchObject({ code: 0 })
  expect(await use(kid)).toMatchObject({ reporters: 1 })
})

test('ending a key says that it is in use, and asks', async () => {
  const { kid, add, pubring, report } = await createProject('ending')
  await add('second')
  const exp = Math.floor(clock.now() / 1_000) + 3_600
  await report(`kid=${kid} exp=${exp}`)
  const sentence =
    /“first”: seen \d+ seconds? ago by edge; its last token ends at \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\n/
  const deactivate = ['key', 'deactivate', kid]
  const declined = await pubring(deactivate, { answers: { 'Continue?': 'n\r' } })
  expect(declined.stderr).toContain('Verifiers still see a key in use.')
  expect(declined.stderr).toContain('Nothing was changed.')
  expect((await pubring(['key', 'list', '--active'])).stdout).toContain(kid)
  const done = await pubring([...deactivate, '--yes'])
  expect(done).toMatchObject({ code: 0, stderr: expect.stringMatching(sentence) })
  const kept = await pubring(['key', 'delete', kid], { answers: { 'Continue?': 'n\r' } })
  expect(kept.stderr).toContain('Nothing was changed.')
})

test('the end of a rotation says that the old key is in use, and asks', async () => {
  const { kid, pubring, report } = await createProject('rotating')
  await report(`kid=${kid} exp=${Math.floor(clock.now() / 1_000) + 3_600}`)
  const file = shell.file('next.pem', ecKey().publicKeyPem)
  const rotate = ['key', 'rotate', file, '--label', 'next', '--token-lifetime', '5m', '--switched']
  const declined = await pubring(rotate, { answers: { 'Continue?': 'n\r' } })
  expect(declined.stderr).toMatch(/“first”: seen .* ago by edge; its last token ends at/)
  expect(declined.stderr).toContain('Nothing was changed.')
  expect(await pubring([...rotate, '--yes'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('4. The old key'),
  })
})

test('after a revocation it lists who has fetched the key set since, and what it does not know', async () => {
  const { kid, pubring } = await createProject('revoked')
  const get = (userAgent: string) =>
    fetch(`${shell.url}/v1/projects/revoked/.well-known/jwks.json`, {
      headers: { 'user-agent': userAgent },
    })
  for (const agent of ['gateway/1', 'service/2']) await get(agent)
  const done = await pubring(['key', 'deactivate', kid, '--yes'])
  expect(done.stderr).toContain(
    'Who has fetched the key set since: pubring key-uses verifiers --project revoked\n',
  )
  await get('gateway/1')
  const { stdout, stderr } = await pubring(['key-uses', 'verifiers'])
  expect(stdout).toMatch(/^gateway\/1\tcurrent\t2.*\t0\nservice\/2\tolder\t2.*\t0\n$/)
  expect(stderr).toMatch(
    /^As seen by this replica since 2.*, by what clients call themselves: not those behind a cache/,
  )
})

test('verifiers that report are listed, and one is removed', async () => {
  const { kid, pubring, report, use } = await createProject('listed')
  await report('', '--interval', '1m')
  expect((await pubring(['key-uses', 'list'])).stdout).toMatch(/^edge\treports\t2/)
  clock.advance(180_000)
  expect((await pubring(['key-uses', 'list'])).stdout).toMatch(/^edge\tsilent\t2/)
  const shown = await pubring(['key', 'show', kid])
  expect(shown.stdout).toMatch(/use\t1 verifier has been silent for .*, so it may be in use/)
  expect((await pubring(['key-uses', 'remove', 'edge'])).stderr).toContain('Removed edge')
  expect(await use(kid)).toBeUndefined()
  expect((await pubring(['key-uses', 'list'])).stderr).toContain('No verifier reports uses of keys')
})
