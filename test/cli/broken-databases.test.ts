import { existsSync } from 'node:fs'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { registerKey } from '../support/app/keys.ts'
import { documentOf, startShell } from './support.ts'

const shell = await startShell()
const flag = ['--database-url', shell.test.database.url]
const kid = await registerKey(shell.test)
const file = `${shell.folder}/b.db`

const alter = (label: string) =>
  shell.test.database.execute('update jwt_key set label = ? where id = ?', label, kid)
const named = (ledger: string, table: string) =>
  new RegExp(`key ${kid}: label: the ledger says ${ledger}, the table ${table}`)

describe('a row that contradicts its ledger', () => {
  let label: string
  beforeAll(async () => {
    const [row] = await shell.test.database.query('select label from jwt_key where id = ?', kid)
    label = String(row?.label)
  })
  beforeEach(async () => {
    await alter('mine\u0007')
    return () => alter(label)
  })

  test.each([['check'], ['ledger', 'verify'], ['audit']])(
    'is named by %s, with exit code 1',
    async (...command) => {
      const { code, stdout } = await shell.pubring([...command, ...flag])
      expect(code).toBe(1)
      expect(stdout).toMatch(named('".+"', '"mine\\\\u0007"'))
      const json = documentOf(await shell.pubring([...command, '--json', ...flag]))
      expect(JSON.stringify(json)).toContain(kid)
    },
  )

  test('is named by backup, which writes FILE.broken instead and exits with 1', async () => {
    const { code, stderr } = await shell.pubring(['backup', file, ...flag])
    expect(code).toBe(1)
    expect(stderr).toMatch(named('".+"', '"mine.*"'))
    expect(stderr).toMatch(/b\.db\.broken contains every change .* \S+b\.db was not written/)
    expect([existsSync(file), existsSync(`${file}.broken`)]).toEqual([false, true])
    expect(existsSync(`${file}.partial`)).toBe(false)
  })

  test('keeps restore from replacing the database, unless --accept-broken; events record that', async () => {
    const target = `sqlite:${shell.folder}/restored.db`
    const restore = ['restore', `${file}.broken`, '--database-url', target]
    const refused = await shell.pubring(restore)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/was altered: .*\n.*--accept-broken/)
    expect(existsSync(`${shell.folder}/restored.db`)).toBe(false)
    const [, command = ''] = /^hint: To see all: pubring (.*)$/m.exec(refused.stderr) ?? []
    const checked = await shell.pubring(command.split(' '))
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringMatching(/^BROKEN/) })

    const accepted = await shell.pubring([...restore, '--accept-broken'])
    expect(accepted.code).toBe(0)
    expect(accepted.stderr).toMatch(/Accepted: ledger of .* key /)
    const verified = await shell.pubring(['ledger', 'verify', '--database-url', target])
    expect(verified.code).toBe(0)
    expect(verified.stderr).toMatch(/1 ledger verified only from where an operator accepted/)
  })

  test('is accepted in place by ledger accept, once that is confirmed', async () => {
    const copy = await shell.test.database.copy()
    const at = ['--database-url', copy.url]
    const unconfirmed = await shell.pubring(['ledger', 'accept', ...at])
    expect(unconfirmed.code).toBe(10)
    expect(unconfirmed.stderr).toMatch(/label: the ledger says/)
    await copy.execute('update event set time = ? where revision = 1', '2020-01-01')
    expect((await shell.pubring(['ledger', 'accept', '--yes', ...at])).code).toBe(0)
    expect((await shell.pubring(['check', ...at])).code).toBe(0)
    const events = await copy.query(
      "select type, subject_type from event where type like '%.accepted' or type = 'key.recorded' order by type",
    )
    expect(events).toEqual([
      { type: 'key.recorded', subject_type: 'key' },
      { type: 'ledger.accepted', subject_type: 'ledger' },
      { type: 'ledger.accepted', subject_type: 'ledger' },
    ])
    await copy.execute('update jwt_key set enabled = 0')
    expect((await shell.pubring(['check', ...at])).code).toBe(1)
  })
})

test('without a fault, backup and check say so, and there is nothing to accept', async () => {
  const noted = `${shell.test.database.url.replace('sqlite:', '')}.backed-up`
  expect(existsSync(noted)).toBe(false)
  expect((await shell.pubring(['backup', file, ...flag])).stderr).toMatch(/b\.db .*is whole/)
  expect(existsSync(noted)).toBe(true)
  expect((await shell.pubring(['check', ...flag])).code).toBe(0)
  expect((await shell.pubring(['ledger', 'accept', ...flag])).stderr).toBe('Nothing is broken.\n')
})
