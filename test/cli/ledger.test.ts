import { expect, test } from 'vitest'
import { startShell } from './support.ts'

const shell = await startShell()
const flag = ['--database-url', shell.test.database.url]

test('an altered head that is too large for a sum is named like any other', async () => {
  const { database } = shell.test
  const heads =
    "update ledger set revision = revision + 9007199254740000 where project_id like '0%'"
  await database.execute(heads)
  const verified = await shell.pubring(['ledger', 'verify', ...flag])
  expect(verified.code).toBe(1)
  expect(verified.stdout).toMatch(/the head says/)
  await database.execute(heads.replace('+', '-'))
})

test.each([[['ledger', 'verify']], [['check']]])(
  '%j shows its progress and the remaining time on a terminal only',
  async (command) => {
    const shown = await shell.pubring([...command, ...flag], { answers: {} })
    expect(shown.code).toBe(0)
    expect(shown.stderr).toMatch(/Verifying events .* 3\/3, \S+ left/)
    const piped = await shell.pubring([...command, ...flag])
    expect(piped.stdout).toBe(shown.stdout)
    expect(piped.stderr).not.toContain('Verifying')
    const json = await shell.pubring([...command, '--json', ...flag], { answers: {} })
    expect(json.stderr).toBe('')
  },
)
