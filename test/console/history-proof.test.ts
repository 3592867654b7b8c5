import { createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { formatVerifierKey } from '../../packages/client/src/log/note.ts'
import { openShell } from '../cli/support.ts'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { createSigner } from '../support/log/signers.ts'
import { rememberSecret } from '../support/secrets.ts'
import { waitLimitMs } from '../support/waiting.ts'

const issuer = 'https://issuer.example.com'
const shell = openShell(() => ({}))

const console_ = await openConsole()
const { client } = console_
const projectId = (await client.projects.create({ name: 'payments' })).id
const signer = keyFor('ES256')
const jwk = createPublicKey(signer.publicKeyPem).export({ format: 'jwk' })
await client.accessRules.create({
  for: 'workloads',
  name: 'deploy',
  issuer,
  keySource: 'jwks',
  jwks: { keys: [{ ...jwk, kid: 'k', alg: 'ES256' }] },
  conditions: { environment: 'production' },
  role: 'writer',
  project: projectId,
})
const seconds = Math.floor(Date.now() / 1_000)
const aud = client.url.replace('/v1', '')
const times = { iat: seconds, exp: seconds + 300 }
const claims = { iss: issuer, sub: 'repo:acme', aud, environment: 'production', ...times }
const token = signToken(signer.privateKey, { alg: 'ES256', kid: 'k' }, claims)
const { access_token: apiKey } = await client.tokens.exchange({ token })
rememberSecret('an exchanged API key', apiKey)
const workload = createClient({ url: client.url, apiKey })
const { publicKeyPem } = keyFor('EdDSA')
await workload.keys.create(projectId, { name: 'spring', algorithm: 'EdDSA', publicKeyPem })

const verify = (page: Page) => page.getByRole('button', { name: 'Verify this history' }).click()

/** The files of the export with proof, stored in the shell's folder. */
async function exportFrom(page: Page, name: string): Promise<void> {
  const files = new Set<string>()
  const both = new Promise<void>((resolve) => {
    page.on('download', async (download) => {
      await download.saveAs(join(shell.folder, download.suggestedFilename()))
      if (files.add(download.suggestedFilename()).size === 2) resolve()
    })
  })
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.getByRole('menuitem', { name: 'with its proof' }).click()
  await both
  expect([...files].sort()).toEqual([`${name}.jsonl`, `${name}.tlog-proof`])
}

/** Runs the command that the verified history shows for such an export. */
async function verifyExport(page: Page, name: string, vkey: string) {
  const command = (await page.getByText('pubring ledger verify --file').textContent()) ?? ''
  const filled = command.replaceAll('FILE', `${shell.folder}/${name}`).replace('KEY', vkey)
  return shell.pubring(filled.split(' ').slice(1))
}

test('a history says what the log has, and is verified and exported in the browser', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  await page.getByText('Not in the log yet').waitFor()
  await page.getByRole('button', { name: 'Verify this history' }).click()
  await page.getByText('Not in the log yet').nth(1).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)

  const { verifierKey } = await client.log.checkpoint()
  await page.reload()
  await page.locator('[data-logged="3"]').waitFor()
  await page.getByText('not in the log yet').first().waitFor({ state: 'detached' })
  await client.projects.rename(projectId, 'orders')
  await page.locator('[data-revision="4"]').getByText('not in the log yet').waitFor()
  await page.getByText('Later events are not in the log yet.').waitFor()
  expect(await page.locator('[data-revision="3"]').textContent()).not.toContain('not in the log')

  const registered = page.locator('[data-revision="3"]')
  await registered.getByText('workload', { exact: true }).waitFor()
  await registered.getByText('by an access rule').waitFor()
  await page.locator('[data-revision="4"]').getByText('API key', { exact: true }).waitFor()
  await registered.getByRole('button').first().click()
  await registered.getByText('repo:acme', { exact: true }).waitFor()
  await registered.getByText(issuer, { exact: true }).waitFor()

  await verify(page)
  await page.getByText('Verified: events 1 to 4').waitFor()
  const result = page.getByRole('alert')
  await expect.poll(() => result.textContent()).toContain('has event 3 since')
  await expect.poll(() => result.textContent()).toContain(`${verifierKey}, which this server named`)
  expect(await accessibilityViolations(page)).toEqual([])
  const other = await createSigner(verifierKey.replace(/\+.*/, ''))
  for (const [key, text] of [
    [formatVerifierKey(other.key), 'the checkpoint is not signed by this log key'],
    ['no key', 'the log key or the proof cannot be read'],
    [verifierKey, 'which you entered.'],
  ] as const) {
    await page.getByLabel('Log key from the operator').fill(key)
    await page.getByRole('button', { name: 'Verify with this key' }).click()
    await result.getByText(text).waitFor()
  }

  await exportFrom(page, 'orders')
  const { code, stdout, stderr } = await verifyExport(page, 'orders', verifierKey)
  expect(code, stdout + stderr).toBe(0)
  expect(stdout).toMatch(new RegExp(`^whole +${projectId} +revision 4 `))
})

test('a history that was altered, cut off or exchanged is called broken', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  await page.locator('[data-logged]').waitFor()
  const system = await client.log.prove()
  const alterations: [string, (answer: object[]) => object, string][] = [
    [
      '**/events?*',
      (events) => events.map((each, at) => (at === 1 ? { ...each, time: '' } : each)),
      'event 2 (token.exchanged, ) was altered or moved',
    ],
    ['**/events?*', (events) => events.slice(0, 2), 'the log has event 3'],
    ['**/ledger-proof*', () => system, `The proof is of the ledger ${system.ledgerId}, not of`],
  ]
  for (const [url, alter, reason] of alterations) {
    await page.route(url, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: alter(await response.json()) })
    })
    await verify(page)
    const result = page.getByRole('alert')
    await result.getByText(reason).waitFor()
    await expect.poll(() => result.textContent()).toContain('Broken: this history contradicts')
    await page.unroute(url)
  }
})

test('a history asks for ten minutes whether the log has its events, so that an unattended session ends', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  const answer = () => page.waitForResponse('**/ledger-proof*')
  await page.clock.install()
  await page.reload()
  await page.getByText('Later events are not in the log yet.').waitFor()
  for (const ms of [30_000, 600_000]) {
    const answered = answer()
    await page.clock.fastForward(ms)
    await (await answered).finished()
  }
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))')
  let asked = 0
  page.on('request', (request) => {
    if (request.url().includes('/ledger-proof')) asked += 1
  })
  await page.clock.fastForward(60_000)
  await page.evaluate('fetch("/health/live").then(() => undefined)')
  expect(asked).toBe(0)
})

test('the ledger of the system is verified and exported page by page, until the log has stopped', async () => {
  const { id } = await client.projects.create({ name: 'many' })
  for (let turn = 0; turn < 200; turn += 1) await client.projects.rename(id, `many-${turn}`)
  const { verifierKey } = await client.log.checkpoint()
  const { revision } = await client.log.prove()
  expect(revision).toBeGreaterThan(200)
  const page = await console_.open('/history')
  await verify(page)
  await page.getByText(/^Verified: events 1 to 2\d\d/).waitFor()
  await exportFrom(page, 'system')
  expect(await verifyExport(page, 'system', verifierKey)).toMatchObject({ code: 0 })

  const database = new DatabaseSync(join(console_.server.folder, 'data/pubring.db'), {
    timeout: waitLimitMs,
  })
  database.exec('delete from log_tile')
  database.close()
  await page.reload()
  await page.getByText('The log has stopped. Part of the log is missing').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})
