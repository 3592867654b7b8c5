import { createPublicKey } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openConsole, readableTexts } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'

const issuer = 'https://issuer.example.com'
/** That of the rules besides, so that one rule accepts a token. */
const otherIssuer = 'https://other.example.com'
const provider = 'https://id.example.com'
const signer = keyFor('ES256')
const console_ = await openConsole({
  PUBRING_OIDC_ISSUER: provider,
  PUBRING_OIDC_CLIENT_ID: 'pubring',
})
const { client } = console_

/** A rule for workloads, but for its name. */
const deploying = {
  for: 'workloads',
  issuer,
  conditions: { environment: 'production' },
  role: 'writer',
  project: 'default',
} as const

const jwk = createPublicKey(signer.publicKeyPem).export({ format: 'jwk' })
const jwks = { keys: [{ ...jwk, kid: 'k', alg: 'ES256' }] }
// They are there before the page reads the list.
const deploy = await client.accessRules.create({
  ...deploying,
  name: 'deploy',
  keySource: 'jwks',
  jwks,
})
const elsewhere = { ...deploying, issuer: otherIssuer }
await client.accessRules.create({ ...elsewhere, name: 'unread' })
const own = { name: 'editable', jwksUri: `${otherIssuer}/keys`, audience: 'here' }
const editable = await client.accessRules.create({ ...elsewhere, ...own })

function tokenWith(claims: object): string {
  const seconds = Math.floor(Date.now() / 1_000)
  const audience = client.url.replace('/v1', '')
  const standard = { iss: issuer, sub: 'deploy', aud: audience, iat: seconds, exp: seconds + 300 }
  return signToken(signer.privateKey, { alg: 'ES256', kid: 'k' }, { ...standard, ...claims })
}

/** Opens the check of a rule; the function checks a text and waits for the verdict. */
async function openCheck(page: Page, rule: string) {
  await page.getByRole('button', { name: `Actions for ${rule}` }).click()
  await page.getByRole('menuitem', { name: 'Check' }).click()
  const dialog = page.getByRole('dialog')
  return async (text: string, verdict: string) => {
    await dialog.getByRole('textbox').fill(text)
    await dialog.getByRole('button', { name: 'Check' }).click()
    await dialog.getByText(verdict).waitFor()
  }
}

test('a rule is made from “owner/repo”, says what it allows, and before that what is missing', async () => {
  const page = await console_.show('/access-rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Owner/repo').fill('acme/orders')
  await dialog.getByText("curl -s 'https://api.github.com/repos/acme/orders'").waitFor()
  await dialog.getByRole('combobox', { name: 'Project' }).fill('default')
  const create = dialog.getByRole('button', { name: 'Create rule' })
  const pins = 'repository_id, repository_owner_id, or enterprise_id'
  await dialog.getByText(`Still needed: a value for ${pins}.`).waitFor()
  expect(await create.isDisabled()).toBe(true)
  await dialog.getByLabel('Value 1').fill('74')
  await dialog.getByLabel('Value 3').fill('')
  await dialog.getByText('Still needed: a value for ref.').waitFor()
  await dialog.getByLabel('Value 3').fill('refs/heads/main')
  await dialog.getByRole('button', { name: 'Create rule' }).click()
  await dialog.getByText(/^(No key of the|The) issuer /).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  const row = page.getByRole('row', { name: /acme\/orders/ })
  await row
    .getByText(
      'A workload of https://token.actions.githubusercontent.com whose repository_id is 74 and ref is refs/heads/main may read and register keys in default, for at most 15 minutes each time.',
    )
    .waitFor()
  await row.getByText('never').waitFor()
  const conditions = { repository_id: '74', ref: 'refs/heads/main' }
  const made = (await client.accessRules.list()).find(({ name }) => name === 'acme/orders')
  expect(made).toMatchObject({ conditions })
  for (const [item, button] of [
    ['Deactivate', 'Deactivate'],
    ['Activate', 'Activate'],
    ['Delete', 'Delete permanently'],
  ] as const) {
    await row.getByRole('button', { name: 'Actions for acme/orders' }).click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
    await dialog.getByRole('button', { name: button, exact: true }).click()
    if (item === 'Activate') {
      await dialog.getByText(/^(No key of the|The) issuer /).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
    }
    await dialog.waitFor({ state: 'detached' })
  }
  await expect(client.accessRules.get(made?.id ?? '')).rejects.toMatchObject({ status: 404 })
})

test('a pasted token is checked step by step, and kept nowhere', async () => {
  const page = await console_.show('/access-rules')
  const check = await openCheck(page, 'deploy')
  const dialog = page.getByRole('dialog')
  const quoted = JSON.stringify(tokenWith({ environment: 'staging' }))
  await check(quoted, 'The rule refuses this token')
  const failed = dialog.locator('[data-step=failed]')
  await expect.poll(() => failed.textContent()).toMatch(/conditions.*environment/)
  const token = tokenWith({ environment: 'production' })
  await check(token, 'The rule would exchange this token')
  expect(await dialog.locator('[data-step=failed]').count()).toBe(0)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await readableTexts(page)).not.toContain(token)
  expect((await client.accessRules.get(deploy.id)).lastExchangeTime).toBeUndefined()
  await client.tokens.exchange({ token })
  await page.reload()
  await page
    .getByRole('row', { name: /deploy/ })
    .getByRole('time')
    .waitFor()
})

test('without the keys of the issuer, a token is compared with the conditions all the same', async () => {
  const page = await console_.show('/access-rules')
  const check = await openCheck(page, 'unread')
  const dialog = page.getByRole('dialog')
  await check(
    tokenWith({ environment: 'staging', iss: otherIssuer }),
    'The rule refuses this token',
  )
  await expect.poll(() => dialog.locator('[data-step=failed]').textContent()).toMatch(/conditions/)
  await check(
    tokenWith({ environment: 'production', iss: otherIssuer }),
    'All but the signature was checked',
  )
  const skipped = dialog.getByRole('listitem').filter({ hasText: 'A key of the issuer verifies' })
  await expect.poll(() => skipped.getAttribute('data-step')).toBe('not compared')
  await expect
    .poll(() => skipped.textContent())
    .toContain('The signature was not checked. The keys')
})

test('all that can change of a rule for workloads is edited in one form', async () => {
  const page = await console_.show('/access-rules')
  await page.getByRole('button', { name: 'Edit editable' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Still needed: a change.').waitFor()
  await dialog.getByLabel('Audience').fill('')
  await dialog.getByLabel('Value 1').fill('')
  await dialog.getByText('a value for environment').waitFor()
  await dialog.getByText('an audience').waitFor()
  await dialog.getByLabel('Value 1').fill('staging')
  await dialog.getByLabel('Audience').fill('there')
  await dialog.getByLabel('Address of the key set').fill(`${otherIssuer}/jwks`)
  await dialog.getByLabel('Accept each token once').check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect
    .poll(() => client.accessRules.get(editable.id))
    .toMatchObject({
      audience: 'there',
      jwksUri: `${otherIssuer}/jwks`,
      singleUse: true,
      conditions: { environment: 'staging' },
      role: 'writer',
    })
})

test('a rule for people is made, changed, and checked by claims', async () => {
  const page = await console_.show('/access-rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('People', { exact: true }).click()
  await dialog.getByLabel('Name').fill('payments')
  await dialog.getByLabel('Claim 1').fill('groups')
  await dialog.getByLabel('Value 1').fill('platform')
  await dialog.getByLabel('For all projects').check()
  await dialog.getByText('No one gains or loses access.').waitFor()
  await page.setViewportSize({ width: 1_280, height: 500 })
  const create = dialog.getByRole('button', { name: 'Create rule' })
  const bottom = async () => {
    const box = await create.boundingBox()
    return box === null ? 500 : box.y + box.height
  }
  await dialog.getByLabel('Name').focus()
  await expect.poll(bottom).toBeLessThan(500)
  await create.click()
  const row = page.getByRole('row', { name: /payments/ })
  const person = `A person of ${provider} whose groups is`
  await row.getByText(`${person} platform may read keys in all projects.`).waitFor()
  await row.getByRole('button', { name: 'Edit payments' }).click()
  await page.setViewportSize({ width: 390, height: 844 })
  const isInSight = async () => {
    const box = await dialog.getByText('Auditor', { exact: true }).boundingBox()
    return box !== null && box.x + box.width < 390
  }
  await expect.poll(isInSight).toBe(true)
  await page.setViewportSize({ width: 1_280, height: 800 })
  const checks = '**/v1/access-rules/*/checks'
  const problem = { status: 400, code: 'invalid_request', title: 'Not checked', detail: 'No.' }
  await page.route(checks, (route) =>
    route.fulfill({ status: 400, contentType: 'application/problem+json', json: problem }),
  )
  await dialog.getByLabel('Value 1').fill('payments')
  await dialog.getByText('Checking who gains or loses access').waitFor()
  await dialog.getByRole('alert').getByText('Not checked').waitFor()
  await page.unroute(checks)
  // What is given up is not there again, as if it were stored.
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await row.getByRole('button', { name: 'Edit payments' }).click()
  await expect.poll(() => dialog.getByLabel('Value 1').inputValue()).toBe('platform')
  await dialog.getByLabel('Value 1').fill('payments')
  await dialog.getByText('Admin', { exact: true }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row.getByText(`${person} payments may manage everything in all projects.`).waitFor()
  const check = await openCheck(page, 'payments')
  await check('{"groups": ["platform"]}', 'The rule does not apply to this person')
  const failed = dialog.locator('[data-step=failed]')
  await expect.poll(() => failed.textContent()).toMatch(/conditions.*groups/)
  await check('{"groups": ["payments"]}', 'They have the role admin while they are signed in.')
})
