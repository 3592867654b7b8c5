import { readFileSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { registerAndSign } from '../support/app/key-set.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { createLiar, foreignKey } from '../support/log/liar.ts'
import { documentOf, startShell } from './support.ts'

let vkey: string

const key = createKeyFile()
const shell = await startShell({ logSigner: key.open() })

const path = (name: string) => `${shell.folder}/${name}`
const read = (name: string) => readFileSync(path(name), 'utf8')
const sign = async () => (await shell.pubring(['log', 'checkpoint'])).stdout

function verify(name: string, ...flags: string[]) {
  const files = ['--file', path(`${name}.jsonl`), '--proof', path(`${name}.tlog-proof`)]
  return shell.pubring(['ledger', 'verify', ...files, '--log-key', vkey, ...flags])
}

test('before the first checkpoint there is nothing to export', async () => {
  const { code, stderr } = await shell.pubring(['ledger', 'export', path('early')])
  expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringMatching(/next checkpo/) })
})

test('an export can be verified without the server, also against the log', async () => {
  shell.file('old-checkpoint', await sign())
  vkey = (await (await fetch(`${shell.url}/log/vkey`)).text()).trim()
  for (const name of ['renamed', shell.test.project.name]) {
    await shell.pubring(['project', 'rename', shell.test.project.id, name])
  }
  await sign()
  await shell.pubring(['project', 'rename', shell.test.project.id, 'later'])
  const args = ['ledger', 'export', path('payments.jsonl'), '--since', path('old-checkpoint')]
  const exported = await shell.pubring([...args, '--project', shell.test.project.id])
  expect(exported.stderr).toMatch(/^Exported 4 events, of which the log has 3: /)
  expect(exported.code).toBe(0)
  const lines = read('payments.jsonl').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).revision)).toEqual([1, 2, 3, 4])
  expect(read('payments.tlog-proof')).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra .+\nindex \d+\n/)
  expect(read('payments.consistency')).toMatch(/^old 2\n/)

  for (const flags of [
    [],
    ['--log', `${shell.url}/log`],
    ['--since', path('old-checkpoint'), '--consistency', path('payments.consistency')],
    ['--since', path('old-checkpoint'), '--log', `${shell.url}/log`],
  ]) {
    const { code, stdout, stderr } = await verify('payments', ...flags)
    expect({ code, stdout }, stderr).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^whole {3}[0-9a-f-]{36} {2}revision 4 {2}[0-9a-f]{64}\n$/),
    })
  }
})

test('with --log the key set at the public address must be the one that the log has', async () => {
  const liar = await createLiar(shell.url)
  const { kid } = await registerAndSign(shell.test)
  await sign()
  const through = (...flags: string[]) => verify('payments', '--log', `${liar.url}/log`, ...flags)
  expect(documentOf(await through('--json'))).toMatchObject({ served: { kids: [kid] } })
  liar.add(foreignKey.jwk, 1)
  const later = await through()
  expect(later.code).toBe(0)
  expect(later.stderr).toContain('is that of event 5: 1 key.')
  expect(later.stderr).toContain('It also has keys that are not in the log yet: foreign.')
  liar.add(foreignKey.jwk)
  expect(await through()).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^BROKEN {2}The key set is not .* it has the key "foreign"/),
  })
})

test('the ledger of the system is exported as well, and no file is replaced', async () => {
  const args = ['ledger', 'export', path('system'), '--system', '--json']
  expect(documentOf(await shell.pubring(args))).toMatchObject({
    ledgerId: '00000000-0000-0000-0000-000000000000',
    files: [path('system.jsonl'), path('system.tlog-proof')],
  })
  expect(documentOf(await verify('system', '--json'))).toMatchObject({ whole: true })
  for (const name of ['system.jsonl', 'system.tlog-proof']) {
    const again = await shell.pubring(args)
    expect(again).toMatchObject({ code: 66, stderr: expect.stringMatching(/exists already/) })
    rmSync(path(name))
  }
  expect(await shell.pubring(['ledger', 'export', path('none/x'), '--system'])).toMatchObject({
    code: 66,
    stderr: expect.stringMatching(/cannot be written/),
  })
})

test('a checkpoint of another log is rejected', async () => {
  const other = (await sign()).replace(/^[^\n]+/, 'other.example/log')
  const file = shell.file('other-checkpoint', other)
  const args = ['ledger', 'export', path('again'), '--since', file]
  const { code, stderr } = await shell.pubring([...args, '--project', shell.test.project.id])
  expect(code).toBe(64)
  expect(stderr).toMatch(
    /is a checkpoint of other\.example\/log, and the log is keys\.example\.com/,
  )
})
