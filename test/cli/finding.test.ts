import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { patchKey, registerKey } from '../support/app/keys.ts'
import { startShell } from './support.ts'

let shell: Awaited<ReturnType<typeof startShell>>
let kid: string
let deleted: string
beforeAll(async () => {
  shell = await startShell()
  deleted = await registerKey(shell.test, { name: 'old', active: false })
  await shell.test.send('DELETE', `/v1/projects/payments/jwt-keys/${deleted}`)
  const expireTime = new Date(Date.now() + 700).toISOString()
  kid = await registerKey(shell.test, { name: 'Orders, spring', expireTime })
  await patchKey(shell.test, kid, { label: 'Orders, autumn' })
  await delay(800)
})
afterAll(() => shell.close())

describe('pubring search', () => {
  test('shows what it finds, and that a key was deleted', async () => {
    const found = await shell.pubring(['search', 'orders, a'])
    expect(found.stdout).toBe(`key\t${kid}\tOrders, autumn\tpayments\tinactive\tlabel\n`)
    const { stdout } = await shell.pubring(['search', deleted])
    expect(stdout).toMatch(new RegExp(`^key\t${deleted}\told\tpayments\tdeleted 20.*Z\tkid\n$`))
    const { code, stderr } = await shell.pubring(['search', 'nothing'])
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
})

describe('pubring events', () => {
  const typesOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[2])

  test('shows an expiry where it happened, and not in JSON', async () => {
    const all = ['project.created', 'key.created', 'key.deleted', 'key.created', 'key.updated']
    const { stdout } = await shell.pubring(['events'])
    expect(typesOf(stdout)).toEqual([...all, 'key.expired'])
    const newest = await shell.pubring(['events', '--newest-first', '--subject', kid])
    expect(typesOf(newest.stdout)).toEqual(['key.expired', 'key.updated', 'key.created'])
    const json = JSON.parse((await shell.pubring(['events', '--json'])).stdout)
    expect(json.map(({ type }: { type: string }) => type)).toEqual(all)
  })

  test('are filtered by the server', async () => {
    const { stdout } = await shell.pubring(['events', '--type', 'key.created,key.deleted'])
    expect(typesOf(stdout)).toEqual(['key.created', 'key.deleted', 'key.created'])
    const none = await shell.pubring(['events', '--until', '2026-01-01', '--actor', 'nobody'])
    expect(none.stderr).toBe('No events match.\n')
    const bad = await shell.pubring(['events', '--type', 'key.create'])
    expect([bad.code, bad.stderr]).toEqual([3, expect.stringContaining('key.created')])
  })

  test('are exported as the server sends them', async () => {
    const csv = await shell.pubring(['events', '--format', 'csv', '--type', 'key.updated'])
    expect(csv.stdout.split('\r\n')[1]).toContain('"Orders, autumn"')
    const jsonl = await shell.pubring(['events', '--format', 'jsonl'])
    expect(jsonl.stdout.trimEnd().split('\n')).toHaveLength(5)
    const follow = await shell.pubring(['events', '--follow', '--type', 'key.updated'])
    expect([follow.code, follow.stderr]).toEqual([
      64,
      expect.stringContaining('--follow shows all'),
    ])
  })
})
