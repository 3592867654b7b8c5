import { describe, expect, test } from 'vitest'
import { patchKey, registerKey } from '../support/app/keys.ts'
import { startShell } from './support.ts'

const shell = await startShell()
const deleted = await registerKey(shell.test, { name: 'old', active: false })
await shell.test.send('DELETE', `/v1/projects/payments/jwt-keys/${deleted}`)
const kid = await registerKey(shell.test, { name: 'Orders, spring', active: false })
await patchKey(shell.test, kid, { label: 'Orders, autumn' })

describe('pubring search', () => {
  test('shows what it finds', async () => {
    const found = await shell.pubring(['search', 'orders, a'])
    expect(found.stdout).toBe(`key\t${kid}\tOrders, autumn\tpayments\toff\tlabel\n`)
    const { code, stderr } = await shell.pubring(['search', deleted])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'Nothing was found that the API key may see.\n',
    })
  })

  test('prints the response with --json', async () => {
    const { stdout } = await shell.pubring(['search', 'payments', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ results: [{ type: 'project' }], hasMore: false })
  })
})

test('pubring warnings shows the warnings, the most urgent first', async () => {
  const { stdout } = await shell.pubring(['warnings'])
  expect(stdout).toMatch(/^warning\tno_active_key\tpayments\t\t\t\tThe project has keys/)
  const [, detail = ''] = /\t(The project has keys.*)$/m.exec(stdout) ?? []
  const narrow = await shell.pubring(['warnings'], { columns: 60 })
  expect(narrow.stdout.replaceAll(/\n +/g, ' ')).toContain(detail)
})

describe('pubring events', () => {
  const typesOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[2])

  test('are in order, in parts, and filtered by the server', async () => {
    const part = await shell.pubring(['events', '--after', '1', '--limit', '1', '--json'])
    expect(JSON.parse(part.stdout)).toMatchObject([{ revision: 2, type: 'key.created' }])
    const ofKey = await shell.pubring(['events', '--newest-first', '--subject', kid.slice(-6)])
    expect(typesOf(ofKey.stdout)).toEqual(['key.updated', 'key.created'])
    const system = await shell.pubring(['events', '--system'])
    expect(typesOf(system.stdout)).toContain('project.created')
    const { stdout } = await shell.pubring(['events', '--type', 'key.created,key.deleted'])
    expect(typesOf(stdout)).toEqual(['key.created', 'key.deleted', 'key.created'])
    const none = await shell.pubring(['events', '--until', '2026-01-01', '--actor', 'nobody'])
    expect(none.stderr).toBe('No events match.\n')
    const bad = await shell.pubring(['events', '--type', 'key.create'])
    expect([bad.code, bad.stderr]).toEqual([3, expect.stringContaining('key.created')])
    // The project of the test is older.
    expect(typesOf((await shell.pubring(['events', '--since', '1h'])).stdout)).toEqual([
      ...['key.created', 'key.deleted', 'key.created', 'key.updated'],
    ])
    expect(typesOf((await shell.pubring(['events', '--until', '1h'])).stdout)).toEqual([
      'project.created',
    ])
    expect(await shell.pubring(['events', '--since', 'yesterday'])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--since must be a time: a duration before now'),
    })
  })

  test('are exported as the server sends them', async () => {
    const updated = await shell.pubring(['events', '--jsonl', '--type', 'key.updated'])
    expect(JSON.parse(updated.stdout)).toMatchObject({ label: 'Orders, autumn' })
    const jsonl = await shell.pubring(['events', '--jsonl'])
    expect(jsonl.stdout.trimEnd().split('\n')).toHaveLength(5)
    const follow = await shell.pubring(['events', '--follow', '--type', 'key.updated'])
    expect([follow.code, follow.stderr]).toEqual([
      64,
      expect.stringContaining('--follow shows all'),
    ])
  })
})

describe('pubring events --all', () => {
  const all = (...flags: string[]) => shell.pubring(['events', '--all', ...flags])
  const rowsOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))

  test('shows the events of every ledger that match, newest first', async () => {
    const { project } = shell.test
    const rows = rowsOf((await all('--subject', project.id)).stdout)
    // In the ledger of the project and in that of the system.
    expect(rows.map(([ledger, , , type]) => [ledger, type])).toEqual([
      [project.id, 'project.created'],
      ['', 'project.created'],
    ])
    const events = JSON.parse((await all('--subject', deleted, '--json')).stdout)
    expect(events.map(({ type }: { type: string }) => type)).toEqual(['key.deleted', 'key.created'])
    const [{ requestId, projectId }] = events
    expect(projectId).toBe(project.id)
    const ofRequest = await all('--request-id', requestId, '--jsonl')
    expect(JSON.parse(ofRequest.stdout)).toEqual(events[0])
    const limited = rowsOf((await all('--type', 'key.created,key.deleted', '--limit', '2')).stdout)
    expect(limited.map(([, , , type]) => type)).toEqual(['key.created', 'key.deleted'])
    expect(await all('--limit', '0')).toMatchObject({ code: 64 })
    const none = await all('--person', 'ada', '--since', '7d', '--until', '2100-01-01')
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'No events match.\n' })
  })

  test('reads as many pages as there are', async () => {
    const key = await registerKey(shell.test)
    for (let at = 0; at <= 200; at += 1) await patchKey(shell.test, key, { label: `label ${at}` })
    const { stdout } = await all('--subject', key, '--jsonl')
    const revisions = rowsOf(stdout).map(([event = '']) => JSON.parse(event).revision)
    expect(revisions).toHaveLength(202)
    expect(revisions).toEqual(revisions.toSorted((one, other) => other - one))
  })

  test.each([
    [['--person', 'ada'], 'add --all'],
    [['--request-id', 'r'], 'add --all'],
    [['--all', '--project', 'payments'], "cannot be used with option '-p, --project"],
    [['--all', '--system'], "cannot be used with option '--system'"],
    [['--all', '--follow'], "cannot be used with option '-f, --follow'"],
  ])('%j is refused', async (flags, message) => {
    const { code, stderr } = await shell.pubring(['events', ...flags])
    expect([code, stderr]).toEqual([64, expect.stringContaining(message)])
  })
})
