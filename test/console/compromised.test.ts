import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { signToken } from '../support/keys/tokens.ts'

const console_ = await openConsole()
const { client, go, register } = console_
const project = await client.projects.create({ name: 'shop' })
const leaked = ecKey()
const kid = await register(project.id, 'leaked', { publicKeyPem: leaked.publicKeyPem })
await register(project.id, 'sound')
await client.keys.check({ publicKeyPem: privatePem(leaked) })
const page = await console_.open('/')

/** A project with a compromised key and no other. */
async function projectOfStolen(name: string) {
  const { id } = await client.projects.create({ name })
  const stolen = ecKey()
  const old = await register(id, 'stolen', { publicKeyPem: stolen.publicKeyPem })
  await client.keys.check({ publicKeyPem: privatePem(stolen) })
  return { id, old }
}

const rows = () => page.locator('tr[data-id]')
const status = page.getByRole('status')

test('a key whose private half was submitted is compromised in every view, and on top', async () => {
  const row = page.getByRole('row', { name: /shop/ })
  await row.getByText('Compromised key').waitFor()
  await row.getByText('1 compromised').waitFor()
  await page.getByRole('button', { name: '1 warning', exact: true }).click()
  await page.getByRole('menuitem', { name: /leaked · shop.*Replace it/ }).click()
  await page.getByRole('heading', { name: 'leaked', exact: true }).waitFor()
  await page.getByText('compromised', { exact: true }).first().waitFor()
  await page.getByText('Others have its private key').waitFor()
  expect(await page.getByText('You can sign with it').count()).toBe(0)
  const history = page.getByRole('region', { name: 'History' })
  await history.getByText('compromised (its private key was submitted here)').waitFor()
  expect(await page.getByRole('button', { name: 'Deactivate', exact: true }).count()).toBe(0)
  expect(await accessibilityViolations(page)).toEqual([])

  await go(`/projects/${project.id}/keys`)
  await rows().first().waitFor()
  await expect.poll(() => rows().first().textContent()).toContain('leaked')
  await status.getByText('Replace it and deactivate it now').waitFor()
  await page.getByRole('button', { name: 'Compromised' }).click()
  await expect.poll(() => rows().count()).toBe(1)
  expect(page.url()).toContain('state=compromised')

  await go(`/projects/${project.id}/timeline`)
  await page.locator('[data-state=compromised]').first().waitFor()
  await page.keyboard.press('/')
  await page.getByRole('dialog').getByRole('combobox').fill(kid)
  await page.getByRole('option', { name: /leaked.*compromised/ }).waitFor()
  await page.keyboard.press('Escape')
})

test('a token of a compromised key is never called sound, and leads to its key', async () => {
  const { issuer: iss } = await client.jwks.discovery(project.id)
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss, aud: 'till', iat: now, exp: now + 3_600 }
  const token = signToken(leaked.privateKey, { alg: 'ES256', kid }, claims)
  await go(`/projects/${project.id}/verify`)
  await page.getByLabel('Token', { exact: true }).fill(token)
  for (const audience of ['', 'till']) {
    await page.getByLabel('Expected audience').fill(audience)
    await page.getByRole('button', { name: 'Check token' }).click()
    await page.getByText('Verifiers accept this token, but its key is compromised').waitFor()
  }
  await page.getByText('leaked (ES256, compromised)').waitFor()
  // A key that waits for approval is warned of in the same step.
  const checks = '**/token-checks'
  await page.route(checks, async (route) => {
    const response = await route.fetch()
    const report = await response.json()
    const json = { ...report, key: { ...report.key, active: false } }
    await route.fulfill({ response, json })
  })
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.getByText('some verifiers may reject this token').waitFor()
  await page.getByText('see the warnings (key_active)').waitFor()
  await page.unroute(checks)
  await page.getByRole('main').getByRole('link', { name: 'leaked' }).click()
  await page.getByRole('heading', { name: 'leaked', exact: true }).waitFor()
})

test('one button replaces and revokes it without a wait, and says by when verifiers reject it', async () => {
  await go(`/projects/${project.id}/keys/${kid}`)
  await page.getByRole('button', { name: 'Replace and revoke now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Do not wait').waitFor()
  await dialog.getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await dialog.getByLabel('Label').fill('successor')
  // Its button sends two requests.
  await dialog.getByRole('button', { name: 'Show curl command' }).waitFor()
  expect(await accessibilityViolations(page, '[role=dialog]')).toEqual([])
  await dialog.getByRole('button', { name: 'Replace and revoke now' }).click()
  await dialog.getByText('Sign with it now').waitFor()
  expect(await dialog.getByText('Wait before you sign').count()).toBe(0)
  const sentence =
    /“leaked” is off\. Verifiers that honor the cache headers reject it by \d+:\d\d:\d\d.* \(\d+ s\)/
  await expect.poll(() => dialog.getByRole('status').first().textContent()).toMatch(sentence)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => status.first().textContent()).toMatch(sentence)
  const impact = page.getByRole('region', { name: 'Who rejects it, and by when' })
  for (const text of ['followers', 'honor the cache headers', 'rules of their own']) {
    await impact.getByText(text).waitFor()
  }
  expect(await page.getByRole('button', { name: 'Activate', exact: true }).count()).toBe(0)

  await go(`/projects/${project.id}/keys`)
  await expect.poll(() => status.first().textContent()).toMatch(sentence)
  await page.locator(`tr[data-id="${kid}"]`).getByText('rejected by').waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  const states = await client.keys.states(project.id)
  expect(states.find((each) => each.kid === kid)).toMatchObject({ state: 'off' })
  await page.getByRole('button', { name: 'No warnings' }).waitFor()
})

test('it is revoked without a new key as well', async () => {
  const { id, old } = await projectOfStolen('market')
  await go(`/projects/${id}/keys/${old}`)
  await page.getByRole('button', { name: 'Replace and revoke now' }).click()
  await page.getByRole('button', { name: 'Revoke without a new key' }).click()
  await expect.poll(() => client.keys.get(id, old)).toMatchObject({ active: false })
  expect(await client.keys.list(id)).toHaveLength(1)
})

test('a revocation that fails is reported, and its new key is not signed with until another try succeeds', async () => {
  const { id, old } = await projectOfStolen('bank')
  const path = `**/v1/projects/${id}/jwt-keys/${old}`
  const problem = { status: 409, code: 'precondition_failed', title: 'Refused', detail: 'No.' }
  await page.route(path, (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ status: 409, contentType: 'application/problem+json', json: problem })
      : route.fallback(),
  )
  await go(`/projects/${id}/rotate/${old}`)
  await page.getByText('a rotation would wait').waitFor()
  await go(`/projects/${id}/keys/${old}`)
  await page.getByRole('button', { name: 'Replace and revoke now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('This is the last active key').waitFor()
  expect(await dialog.getByLabel('Publish now').count()).toBe(0)
  await dialog.getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await dialog.getByLabel('Label').fill('heir')
  await dialog.getByRole('button', { name: 'Replace and revoke now' }).click()
  await dialog.getByRole('alert').getByText('Refused').waitFor()
  await dialog.getByText('The new key is registered').waitFor()
  expect(await dialog.getByText('Sign with it now').count()).toBe(0)
  await page.unroute(path)
  await dialog.getByRole('button', { name: 'Revoke now' }).click()
  await dialog.getByText(/Sign with it now.*know it by \d+:\d\d:\d\d/).waitFor()
  const [first, second] = await client.keys.list(id)
  expect([first?.active, second?.active]).toEqual([false, true])
})

test('a key that has ended can be called compromised later', async () => {
  const pair = ecKey()
  const { publicKeyPem } = pair
  const ended = await register(project.id, 'found out', { publicKeyPem })
  await client.keys.update(project.id, ended, { active: false, reason: 'superseded' })
  await go(`/projects/${project.id}/keys/${ended}`)
  const button = page.getByRole('button', { name: 'It was compromised' })
  await button.click()
  const dialog = page.getByRole('dialog', { name: 'Was “found out” compromised?' })
  await dialog.getByText('counts as valid at no time').waitFor()
  await dialog.getByRole('button', { name: 'It was compromised' }).click()
  await page.getByText('It is compromised: it stays off').waitFor()
  await button.waitFor({ state: 'detached' })
  const { details } = await client.keys.get(project.id, ended)
  expect(details.ended).toMatchObject({ reason: 'compromised' })
  await go(`/projects/${project.id}/keys`)
  await page.getByRole('button', { name: 'Register a key' }).click()
  await page.getByRole('textbox', { name: 'Public key' }).fill(publicKeyPem)
  await page.getByText('It is compromised: make a new key pair.').waitFor()
  await page.keyboard.press('Escape')
})

test('what is refused to a compromised key is not offered', async () => {
  const { id, old } = await projectOfStolen('bakery')
  await client.keys.update(id, old, { active: false })
  await go(`/projects/${id}/keys`)
  await status.getByText('none is active').waitFor()
  await page.getByRole('button', { name: 'Actions for stolen' }).click()
  const items = page.getByRole('menuitem')
  await expect.poll(() => items.allTextContents()).toEqual(['Rename', 'Delete'])
  await page.keyboard.press('Escape')

  // Without the states, the page of a key must not call a key anything else.
  const states = `**/v1/projects/${id}/key-states`
  const problem = { status: 400, code: 'invalid_request', title: 'No states', detail: 'None.' }
  await page.route(states, (route) =>
    route.fulfill({ status: 400, contentType: 'application/problem+json', json: problem }),
  )
  await page.goto('about:blank')
  await go(`/projects/${id}/keys/${old}`)
  await page.getByRole('alert').getByText('No states').waitFor()
  await page.unroute(states)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('It is compromised: it stays off').waitFor()
})
