import truncatedWidth from 'fast-string-truncated-width'
import { describe, expect, test } from 'vitest'
import { formatTable, uniqueLength } from '../../packages/cli/src/terminal/table.ts'
import { columnsOf, notify, type Terminal } from '../../packages/cli/src/terminal/terminal.ts'
import { cutMiddle } from '../../packages/cli/src/terminal/text.ts'
import { sendImport } from '../support/app/imports.ts'
import { ecKey, rsaKey } from '../support/keys/pem.ts'
import { documentOf, startShell } from './support.ts'

const labels = [
  'orders service in the region europe-west, spring 2026',
  'orders service in the region europe-west, autumn 2026',
  '注文サービス・欧州西リージョン・二〇二六年春の署名鍵（本番環境）',
  'refunds 🔑👨‍👩‍👧🇩🇪 with a label that is longer than any table has room for',
]
/** Ids that begin alike, as those of one import do; the first two also end alike. */
const ids = [
  '019ac8f2-6c1e-7d53-a1b0-000001abcdef',
  '019ac8f2-6c1e-7d53-a1b0-000002abcdef',
  '019ac8f2-6c1e-7d53-a1b0-000003000003',
  '019ac8f2-6c1e-7d53-a1b0-00000000a4b5',
]

const shell = await startShell()
const keys = labels.map((name, index) => ({
  name,
  kid: ids[index],
  algorithm: index === 3 ? 'RS256' : 'ES256',
  publicKeyPem: (index === 3 ? rsaKey() : ecKey()).publicKeyPem,
  active: index !== 1,
  createTime: `2024-05-0${index + 1}T10:00:00.000Z`,
  updateTime: `2024-05-0${index + 1}T10:00:00.000Z`,
  ...(index === 2 ? { expireTime: '2025-01-01T00:00:00.000Z' } : {}),
}))
expect((await sendImport(shell.test, keys)).statusCode).toBe(200)

const plain = { NO_COLOR: '1' }
const list = (...args: string[]) => shell.pubring(['key', 'list', ...args])
const listed = async (...args: string[]) =>
  (await list(...args)).stdout
    .split('\n')
    .flatMap((line) => ids.indexOf(line.split('\t')[0] ?? '') + 1 || [])

describe('a table', () => {
  test.each([40, 60, 80])('never wraps at %i columns', async (columns) => {
    for (const command of [['key', 'list'], ['api-key', 'list'], ['events'], ['project', 'list']]) {
      const { stdout } = await shell.pubring(command, { columns, env: plain })
      const lines = stdout.trimEnd().split('\n')
      expect(lines.length, stdout).toBeGreaterThan(1)
      // A word that is longer than the terminal stays whole, on a line of its own.
      for (const line of lines.filter((each) => each.trim().includes(' ')))
        expect(truncatedWidth(line).width, line).toBeLessThanOrEqual(columns)
      if (command[0] === 'key') for (const id of ids) expect(stdout).toContain(id.slice(-7))
    }
  })

  test('tells the ids of all columns apart, and from others', () => {
    const stdout = { isTTY: true, columns: 20 } as Terminal['stdout']
    const columns = [0, 1].map((index) => ({
      heading: `ID${index}`,
      value: (row: readonly string[]) => row[index] ?? '',
      id: true as const,
    }))
    const format = (row: string[], others: string[] = []) =>
      formatTable({ stdout, env: plain } as unknown as Terminal, columns, [row], others).split(
        '\n',
      )[1]
    expect(format(['019ac8f2-6c1e01', '019ac8f2-6c1e02'])).toBe('6c1e01  6c1e02')
    expect(format(['019ac8f2-6c1e01', '019ac8f3-6c1e01'])).toBe('2-6c1e01  3-6c1e01')
    expect(format(['019ac8f2-6c1e01', ''], ['019ac8f3-6c1e01'])).toBe('2-6c1e01')
    // A column without values is left out, heading and all.
    expect(format(['', '019ac8f2-6c1e01'])).toBe('6c1e01')
  })

  test('shows below a row what does not fit beside the others, in whole words', async () => {
    const { stdout } = await shell.pubring(['events'], { columns: 80, env: plain })
    const joined = stdout.replaceAll(/\n +/g, ' ')
    expect(joined, stdout).toContain(`label ${labels[0]}`)
    const wide = await shell.pubring(['events'], { columns: 1_000, env: plain })
    expect(wide.stdout.split('\n')[0]).toMatch(/SUBJECT +CHANGES$/)
  })

  test('has 80 columns if neither the terminal nor COLUMNS tells', () => {
    const unknown = { isTTY: true, columns: 0 }
    expect(columnsOf(unknown, { COLUMNS: '50' })).toBe(50)
    expect(columnsOf(unknown, {})).toBe(80)
    expect(columnsOf({ isTTY: true, columns: 90 }, { COLUMNS: '50' })).toBe(90)
  })

  test('keeps the ends of labels, and as much of the ends of ids as tells them apart', async () => {
    const { stdout } = await shell.pubring(['key', 'list'], { columns: 100, env: plain })
    const [head = '', ...rows] = stdout.trimEnd().split('\n')
    expect(head).toMatch(/^KID +LABEL +ALGORITHM +STATE +CREATED +EXPIRES$/)
    expect(rows[0]).toMatch(/^1abcdef +orders .*ing 2026 /)
  })

  test('shortens in whole characters, of which some take two columns', () => {
    expect(cutMiddle('abcdefghij', 5)).toBe('ab…ij')
    expect(cutMiddle('鍵鍵鍵鍵鍵', 6)).toBe('鍵…鍵')
    expect(cutMiddle('👨‍👩‍👧🇩🇪👨‍👩‍👧🇩🇪', 5)).toBe('👨‍👩‍👧…🇩🇪')
    expect(uniqueLength(['019ac8f2-6c1e01', '019ac8f2-6c1e02'])).toBe(6)
    expect(uniqueLength(['019ac8f2-6c1e01', '019ac8f3-6c1e01', '019ac8f3-6c1e01'])).toBe(8)
  })
})

test('a message on a terminal is broken between words, and its command is whole', () => {
  let written = ''
  const stderr = { isTTY: true, columns: 30, write: (text: string) => (written += text) }
  const terminal = { stderr, env: {}, json: false } as unknown as Terminal
  notify(terminal, 'Several words that do not fit: pubring key show 019ac8f2-6c1e-7d53 --project x')
  expect(written).toBe(
    'Several words that do not\n  fit:\n  pubring key show 019ac8f2-6c1e-7d53 --project x\n',
  )
})

test('key list --active shows the active keys', async () => {
  expect(await listed('--active')).toEqual([1, 4])
  expect(await listed()).toEqual([1, 2, 3, 4])
})

describe('a short kid', () => {
  test.each([
    ['show', []],
    ['rename', ['renamed']],
    ['expire', ['never']],
  ])('works for key %s %j', async (command, args) => {
    const ran = await shell.pubring(['key', command, '0A4b5', ...args, '--json'])
    expect(documentOf(ran)).toMatchObject({ kid: ids[3] })
  })

  test('of several keys lists them', async () => {
    const ran = await shell.pubring(['key', 'show', 'abcdef'])
    expect(ran).toEqual({
      code: 64,
      stdout: '',
      stderr: `pubring: The ids of 2 keys end with abcdef: pass more of the kid.
hint: ${ids[0]}  ${labels[0]} (active)
hint: ${ids[1]}  ${labels[1]} (inactive)
`,
    })
  })

  test('of no key is not found, and one of three characters is none', async () => {
    for (const ref of ['ffff', '4b5']) {
      const ran = await shell.pubring(['key', 'show', ref])
      expect(ran).toMatchObject({ code: 6, stderr: expect.stringContaining(`no key “${ref}”`) })
    }
  })
})

describe('several keys', () => {
  const changed = async (...args: string[]) =>
    JSON.parse((await shell.pubring([...args, '--json'])).stdout)

  test('are shown, changed and deleted by one command', async () => {
    const [one = '', other = ''] = ids
    expect(await changed('key', 'show', one, other)).toMatchObject([{ kid: one }, { kid: other }])
    expect(await changed('key', 'show', one, one)).toMatchObject({ kid: one, id: one })
    expect(await changed('key', 'show', one, '--pem')).toEqual({
      publicKeyPem: keys[0]?.publicKeyPem,
    })
    expect(await changed('key', 'activate', one, other)).toMatchObject([
      { kid: one, active: true },
      { kid: other, active: true },
    ])
    expect(await changed('key', 'expire', one, other, '90d')).toMatchObject([
      { expireTime: expect.any(String) },
      { expireTime: expect.any(String) },
    ])
    const off = await shell.pubring(['key', 'deactivate', one, other])
    expect(off.stderr).toMatch(/^Deactivated “orders .*\nDeactivated “orders /)
    expect(await changed('key', 'delete', one, other)).toEqual([
      { deleted: one },
      { deleted: other },
    ])
    expect(await listed()).toEqual([3, 4])
  })

  test('change nothing if one of them is unknown or cannot be deleted', async () => {
    expect((await shell.pubring(['key', 'deactivate', `${ids[3]}`, 'none'])).code).toBe(6)
    expect((await shell.pubring(['key', 'delete', `${ids[2]}`, `${ids[3]}`])).code).toBe(7)
    expect(await listed()).toEqual([3, 4])
    expect(await listed('--active')).toEqual([4])
  })

  test('leave the project without an active key only with --yes', async () => {
    expect(await shell.pubring(['key', 'deactivate', `${ids[2]}`, `${ids[3]}`])).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('removes the last active key'),
    })
  })

  test('need a time to expire', async () => {
    const ran = await shell.pubring(['key', 'expire', `${ids[3]}`])
    expect(ran).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('Name a key and a time'),
    })
  })
})

describe('global options', () => {
  test.each([
    [['--project', 'payments', '--timeout=9s', 'key', '--json', 'list']],
    [['-p', 'payments', 'key', 'list', '--json']],
    [['-ppayments', 'key', 'list', '--json']],
  ])('%j', async (args) => {
    const ran = await shell.pubring(args, { env: { PUBRING_PROJECT: undefined } })
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(ran.stdout)).toHaveLength(2)
  })

  test('stand in front of --help, and of an unknown command', async () => {
    const help = await shell.pubring(['--json', '--help', 'key', 'add'])
    expect(help).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: pubring key add/),
    })
    const unknown = await shell.pubring(['--json', 'kee', 'list'])
    expect(JSON.parse(unknown.stderr).detail).toBe("unknown command 'kee'; did you mean key?")
    const missing = await shell.pubring(['--project'])
    expect(missing).toMatchObject({ code: 64 })
  })
})
