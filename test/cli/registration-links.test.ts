import { beforeAll, expect, test } from 'vitest'
import type { TestApp } from '../support/app/app.ts'
import { bringKey, openLink, startLinks } from '../support/app/registration-links.ts'
import { documentOf, openShell, type Shell } from './support.ts'

let server: TestApp
let shell: Shell
beforeAll(async () => {
  server = await startLinks()
  const env = { PUBRING_URL: await server.listen(), PUBRING_PROJECT: 'payments' }
  shell = openShell(() => ({ ...env, PUBRING_API_KEY: server.admin }))
})

const link = (...args: string[]) => shell.pubring(['registration-link', ...args])

test('create prints the address alone, list shows what came of it, delete ends it', async () => {
  const made = await link('create', '--project', 'payments', '--note', 'ACME Corp, orders API')
  expect(made.code, made.stderr).toBe(0)
  expect(made.stdout).toMatch(/^https:\/\/\S+\/register#pubring_\w{49}\n$/)
  expect(made.stderr).toMatch(
    /^Link for “ACME Corp, orders API”, id \S+, until \S+\. Its keys wait until you activate them\. One browser can open it, and it is shown only once:\n$/,
  )
  const [, secret = ''] = made.stdout.trim().split('#')
  const browser = await openLink(server, secret)
  await bringKey(browser)
  expect((await link('list')).stdout).toMatch(
    /^[0-9a-f-]{36}\tACME Corp, orders API\tused\t1\t\S+\n$/,
  )
  const ended = await link('delete', 'ACME Corp, orders API', '--yes')
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.stderr).toMatch(/^The link for “ACME Corp, orders API” \(\S+\) has ended\.\n$/)
  expect((await link('list')).stdout).toContain('\trevoked\t')
})

test('every option reaches the link', async () => {
  const returnUrl = 'https://platform.example.com/done'
  const options = ['--new-keys', 'active', '--return-url', returnUrl, '--expires', '2d']
  const algorithms = ['--algorithm', 'EdDSA', 'ES256']
  const made = await link('create', '-n', 'all', ...options, ...algorithms, '--json')
  expect(documentOf(made)).toMatchObject({
    note: 'all',
    newKeys: 'active',
    returnUrl,
    algorithms: ['EdDSA', 'ES256'],
    state: 'open',
  })
})

test('a link without a note, or with one that is not known, is a fault of the call', async () => {
  expect((await link('create')).stderr).toMatch(/--note/)
  const unknown = await link('delete', 'Nobody', '--yes')
  expect(unknown.code).not.toBe(0)
  expect(unknown.stderr).toMatch(
    /There is no registration link “Nobody”[\s\S]*registration-link list/,
  )
})
