import { describe, expect, test } from 'vitest'
import { registerKey } from '../support/app/keys.ts'
import { startShell } from './support.ts'

const shell = await startShell()
const { database } = shell.test
for (const name of ['first', 'second']) await registerKey(shell.test, { name })

const flag = ['--database-url', database.url]

/** `pubring ledger verify` beside the server. */
const verify = (...args: string[]) =>
  shell.pubring(['ledger', 'verify', ...args], { env: { PUBRING_DATABASE_URL: database.url } })

test('an altered head that is too large for a sum is named like any other', async () => {
  const heads =
    "update ledger set revision = revision + 9007199254740000 where project_id like '0%'"
  await database.execute(heads)
  const verified = await shell.pubring(['ledger', 'verify', ...flag])
  expect(verified.code).toBe(1)
  expect(verified.stdout).toMatch(/the head says/)
  await database.execute(heads.replace('+', '-'))
})

test('a terminal shows the progress and the remaining time', async () => {
  const command = ['ledger', 'verify', ...flag]
  const shown = await shell.pubring(command, { answers: {} })
  expect(shown.code).toBe(0)
  expect(shown.stderr).toMatch(/Verifying events .* 5\/5, \S+ left/)
  const piped = await shell.pubring(command)
  expect(piped.stdout).toBe(shown.stdout)
  expect(piped.stderr).not.toContain('Verifying')
  expect((await shell.pubring([...command, '--json'], { answers: {} })).stderr).toBe('')
})

describe('pubring ledger verify', () => {
  test('finds the ledgers of a running server whole, and exits with 0', async () => {
    const { code, stdout, stderr } = await verify()
    expect({ code, stderr: stderr.split('\n')[0] }).toEqual({
      code: 0,
      stderr: '2 ledgers, 5 events: all whole.',
    })
    expect(stdout).toMatch(
      /^whole {3}system {32}revision 2 {2}[0-9a-f]{64}\nwhole {3}[0-9a-f-]{36} {2}revision 3 {2}[0-9a-f]{64}\n$/,
    )
  })

  test('the hash it prints is that of the last event', async () => {
    const { stdout } = await verify('--project', 'PAYMENTS')
    const [row] = await database.query(
      "select hash from event where type = 'key.created' and revision = 3",
    )
    expect(stdout.trim().split(/ +/)).toContain(row?.hash)
  })

  test.each([
    [['--project', 'nobody'], 6, /^pubring: There is no ledger of nobody/],
    [
      ['--database-url', 'sqlite:./none.db'],
      66,
      /^pubring: There is no database at \.\/none\.db\.\n$/,
    ],
    [['--database-url', './none.db'], 64, /^pubring: --database-url must be sqlite:PATH/],
  ])('fails for %j with exit code %i', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await verify(...args)
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test('reports an event edited under the running server as one break, and exits with 1', async () => {
    await database.execute(
      "update event set actor_name = 'nobody' where type = 'key.created' and revision = 2",
    )
    const { code, stdout, stderr } = await verify()
    expect(code).toBe(1)
    expect(stderr).toBe('2 ledgers, 3 events: 1 broken.\n')
    const [system, project, ...others] = stdout.trimEnd().split('\n')
    expect(others).toEqual([])
    expect(system).toMatch(/^whole {3}system/)
    expect(project).toMatch(
      /^BROKEN {2}[0-9a-f-]{36} {2}revision 2: event 2 \(key\.created, .*\) was altered or moved.*; \d+ rows? of the tables differ/,
    )
    const checked = await shell.pubring(['check', '--database-url', database.url])
    expect(checked.code).toBe(1)
    expect(checked.stdout.match(/was altered or moved|of the tables differ/g)).toHaveLength(2)
  })
})
