import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openConsole, readableTexts, type TestConsole } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'

const issuer = 'https://issuer.example.com'
const signer = keyFor('ES256')
let console_: TestConsole
beforeAll(async () => {
  console_ = await openConsole()
})
afterAll(() => console_.close())

function tokenWith(claims: object): string {
  const seconds = Math.floor(Date.now() / 1_000)
  const audience = console_.client.url.replace('/v1', '')
  const standard = { iss: issuer, sub: 'deploy', aud: audience, iat: seconds, exp: seconds + 300 }
  return signToken(signer.privateKey, { alg: 'ES256', kid: 'k' }, { ...standard, ...claims })
}

test('a rule is made from “owner/repo”, says what it allows, and is refused while too wide', async () => {
  const page = await console_.open('/access-rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Owner/repo').fill('acme/orders')
  await dialog.getByText("curl -s 'https://api.github.com/repos/acme/orders'").waitFor()
  await dialog.getByRole('combobox', { name: 'Project' }).fill('default')
  await dialog.getByRole('button', { name: 'Create rule' }).click()
  // Only the branch is pinned: the service names the claims to add.
  await dialog.getByRole('alert').getByText('repository_owner_id').waitFor()
  await dialog.getByLabel('Value 1').fill('74')
  await dialog.getByRole('button', { name: 'Create rule' }).click()
  const row = page.getByRole('row', { name: /acme\/orders/ })
  await row
    .getByText(
      'A workload of https://token.actions.githubusercontent.com whose repository_id is 74 and ref is refs/heads/main may read and register keys in default, for at most 15 minutes each time.',
    )
    .waitFor()
  await row.getByText('never').waitFor()
  expect(await console_.client.accessRules.list()).toMatchObject([
    { name: 'acme/orders', conditions: { repository_id: '74', ref: 'refs/heads/main' } },
  ])
  for (const [item, button] of [
    ['Deactivate', 'Deactivate'],
    ['Activate', 'Activate'],
    ['Delete', 'Delete permanently'],
  ] as const) {
    await row.getByRole('button', { name: 'Actions for acme/orders' }).click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
    await dialog.getByRole('button', { name: button, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  expect(await console_.client.accessRules.list()).toEqual([])
})

test('a pasted token is checked step by step, and kept nowhere', async () => {
  const { client } = console_
  const jwk = createPublicKey(signer.publicKeyPem).export({ format: 'jwk' })
  const { id } = await client.accessRules.create({
    for: 'workloads',
    name: 'deploy',
    issuer,
    keySource: 'jwks',
    jwks: { keys: [{ ...jwk, kid: 'k', alg: 'ES256' }] },
    conditions: { environment: 'production' },
    role: 'writer',
    project: 'default',
  })
  const page = await console_.open('/access-rules')
  await page.getByRole('button', { name: 'Actions for deploy' }).click()
  await page.getByRole('menuitem', { name: 'Check' }).click()
  const dialog = page.getByRole('dialog')
  const check = async (token: string) => {
    await dialog.getByLabel('Token', { exact: true }).fill(token)
    await dialog.getByRole('button', { name: 'Check' }).click()
  }
  // It is copied with its quotes.
  await check(JSON.stringify(tokenWith({ environment: 'staging' })))
  await dialog.getByText('The rule refuses this token').waitFor()
  const failed = dialog.locator('[data-step=failed]')
  expect(await failed.textContent()).toMatch(/conditions.*environment/)
  const token = tokenWith({ environment: 'production' })
  await check(token)
  await dialog.getByText('The rule would exchange this token').waitFor()
  expect(await dialog.locator('[data-step=failed]').count()).toBe(0)
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await dialog.waitFor({ state: 'detached' })
  expect(await readableTexts(page)).not.toContain(token)
  expect((await client.accessRules.get(id)).lastExchangeTime).toBeUndefined()
  await client.tokens.exchange({ token })
  await page.reload()
  await page
    .getByRole('row', { name: /deploy/ })
    .getByRole('time')
    .waitFor()
})
