import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { documentOf, startShell } from './support.ts'

const shell = await startShell()
const { folder } = shell
const flag = ['--database-url', shell.test.database.url]

const foreign = join(folder, 'foreign.db')
const program = new DatabaseSync(foreign)
program.exec('create table orders (id integer); insert into orders values (7)')
program.close()
const bytes = readFileSync(foreign)

const backup = join(folder, 'whole.db')
await shell.pubring(['backup', backup, ...flag])
const whole = readFileSync(backup)
const cut = shell.file('cut.db', whole.subarray(0, whole.length - 5_000))

describe.each([
  [
    'the database of another program',
    foreign,
    /foreign\.db holds tables \(orders\) of another program/,
  ],
  [
    'a backup that was cut off',
    cut,
    new RegExp(`cut\\.db is incomplete: it has ${whole.length - 5_000} of ${whole.length} bytes`),
  ],
])('%s', (_name, file, named) => {
  test.each([
    ['restore', () => ['restore', file, '--database-url', `sqlite:${folder}/target.db`]],
    ['check', () => ['check', file]],
    ['backup', () => ['backup', `${folder}/copy.db`, '--database-url', `sqlite:${file}`]],
    ['migrate', () => ['migrate', '--database-url', `sqlite:${file}`]],
    ['ledger verify', () => ['ledger', 'verify', '--database-url', `sqlite:${file}`]],
    ['copy', () => ['copy', '--from', `sqlite:${file}`, '--to', `sqlite:${folder}/target.db`]],
    ['serve', () => ['serve', '--port', '21999', '--database-url', `sqlite:${file}`]],
  ])('is named by %s, and nothing is changed', async (_command, args) => {
    writeFileSync(join(folder, 'target.db'), whole)
    const before = readFileSync(file)
    const { code, stderr } = await shell.pubring(args())
    expect(stderr).toMatch(named)
    expect([66, 70]).toContain(code)
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readFileSync(join(folder, 'target.db')).equals(whole)).toBe(true)
    expect(existsSync(`${folder}/copy.db`)).toBe(false)
    expect(readdirSync(folder).filter((name) => name.includes('.replaced-'))).toEqual([])
  })

  test('is named by doctor', async () => {
    const ran = await shell.pubring(['doctor', '--json', '--database-url', `sqlite:${file}`])
    expect(ran.code).toBe(1)
    const { steps } = documentOf(ran) as { steps: { step: string; detail: string }[] }
    expect(steps.find(({ step }) => step === 'database')?.detail).toMatch(named)
  })
})

test('the file of the other program is as it was', () => {
  expect(readFileSync(foreign).equals(bytes)).toBe(true)
})

test('a restore over the database of a newer release asks, as nobody can tell what becomes valid again', async () => {
  const file = shell.file('newer.db', whole)
  const newer = new DatabaseSync(file)
  newer.exec("insert into kysely_migration values ('9999-notes', '2030-01-01')")
  newer.close()
  const before = readFileSync(file)
  const restore = ['restore', backup, '--database-url', `sqlite:${file}`]
  const refused = await shell.pubring(restore)
  expect(refused.code).toBe(10)
  expect(refused.stderr).toMatch(/newer Pubring[\s\S]*valid again .*cannot be told[\s\S]*--yes/)
  expect(readFileSync(file).equals(before)).toBe(true)
  expect((await shell.pubring([...restore, '--yes'])).code).toBe(0)
  expect((await shell.pubring(['check', file])).code).toBe(0)
})
