import { afterAll, beforeAll, expect, test } from 'vitest'
import { startShell } from './support.ts'

let shell: Awaited<ReturnType<typeof startShell>>
let flag: string[]
beforeAll(async () => {
  shell = await startShell()
  flag = ['--database-url', shell.test.database.url]
})
afterAll(() => shell.close())

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
