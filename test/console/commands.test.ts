import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { run } from '../support/console/snippets.ts'
import { ecKey } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'

const hostile = `o'rders "of" $HOME \\ \`today\``

const console_ = await openConsole()
const projectId = (await console_.client.projects.get('default')).id
const page = await console_.open('/')

/** Runs the curl command that is shown, and returns what it printed, parsed. */
async function runShown(scope: Page | Locator = page): Promise<unknown> {
  await scope.getByRole('button', { name: 'Show curl command' }).click()
  const command = (await scope.getByLabel('curl command', { exact: true }).textContent()) ?? ''
  const env = { PUBRING_API_KEY: console_.apiKey }
  const printed = await run(['sh', '-ec', command.replace(/^curl/, 'curl -fsS')], '.', env)
  return printed === '' ? undefined : JSON.parse(printed)
}

const dialog = () => page.getByRole('dialog')

async function choose(menu: string, item: string): Promise<void> {
  await page.getByRole('button', { name: menu }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** Runs the command of the open dialog instead of its button. */
async function runInDialog(): Promise<unknown> {
  const result = await runShown(dialog())
  await dialog().getByRole('button', { name: 'Cancel' }).click()
  return result
}

/** Runs the command that deletes the subject of the open dialog, which then closes by itself. */
async function runDeletion(): Promise<void> {
  await runShown(dialog())
  await dialog().waitFor({ state: 'detached' })
}

const goTo = (route: string) => page.goto(`${console_.server.url}/console/#${route}`)

test('the curl commands of projects do what their dialogs say', async () => {
  await page.getByRole('button', { name: 'New project' }).click()
  await dialog().getByLabel('Name').fill('orders')
  expect(await runInDialog()).toMatchObject({ name: 'orders' })
  const { id } = await console_.client.projects.get('orders')
  await goTo(`/projects/${id}`)
  await choose('Project actions', 'Rename')
  await dialog().getByLabel('Name').fill('shop')
  expect(await runInDialog()).toMatchObject({ id, name: 'shop' })
  await choose('Project actions', 'Delete')
  await runDeletion()
  await expect(console_.client.projects.get(id)).rejects.toMatchObject({ status: 404 })
})

test('the curl commands of keys do what their dialogs say', async () => {
  await goTo(`/projects/${projectId}`)
  await page.getByRole('button', { name: 'Register a key' }).click()
  await dialog().getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await dialog().getByLabel('Label').fill(hostile)
  await dialog().getByText('Valid key').waitFor()
  const { kid } = Object(await runInDialog())
  const key = () => console_.client.keys.get(projectId, kid)
  expect(await key()).toMatchObject({ label: hostile, active: true })
  const menu = `Actions for ${hostile}`
  expect(await runShown()).toMatchObject([{ id: kid }])
  await page.getByRole('link', { name: hostile, exact: true }).click()
  await page.getByRole('heading', { name: hostile }).waitFor()
  expect(await runShown()).toMatchObject({ id: kid })
  await page.goBack()
  await choose(menu, 'Set expiry')
  await dialog().getByLabel('Expires at').fill('2099-01-02T03:04')
  await runInDialog()
  expect((await key()).expireTime).toMatch(/^2099/)
  await page.getByRole('button', { name: `Deactivate ${hostile}` }).click()
  await runInDialog()
  expect(await key()).toMatchObject({ active: false })
  await page.getByRole('button', { name: `Activate ${hostile}` }).click()
  await runInDialog()
  expect(await key()).toMatchObject({ active: true })
  await console_.client.keys.update(projectId, kid, { active: false })
  await choose(menu, 'Rename')
  await dialog().getByLabel('Label').fill(`${hostile}!`)
  expect(await runInDialog()).toMatchObject({ label: `${hostile}!` })
  await choose(`${menu}!`, 'Delete')
  await runDeletion()
  await expect(key()).rejects.toMatchObject({ status: 404 })
})

test('the curl commands of API keys, token checks and ledgers do what the pages say', async () => {
  await goTo('/api-keys')
  await page.getByRole('button', { name: 'New API key' }).click()
  await dialog().getByLabel('Name').fill(hostile)
  const { id, apiKey } = Object(await runInDialog())
  rememberSecret('an API key', apiKey)
  const menu = `Actions for ${hostile}`
  await page.reload()
  expect(await runShown()).toMatchObject([{}, { id, name: hostile }])
  await page.getByRole('button', { name: `Edit ${hostile}` }).click()
  await dialog().getByText('Writer', { exact: true }).click()
  expect(await runInDialog()).toMatchObject({ id, role: 'writer' })
  await choose(menu, 'Revoke')
  expect(await runInDialog()).toMatchObject({ id, active: false })
  await page.reload()
  await choose(menu, 'Reactivate')
  expect(await runInDialog()).toMatchObject({ id, active: true })
  await choose(menu, 'Delete')
  await runInDialog()
  await expect(console_.client.apiKeys.get(id)).rejects.toMatchObject({ status: 404 })
  await goTo(`/projects/${projectId}/verify`)
  await page.getByLabel('Expected audience').fill(hostile)
  expect(await runShown()).toMatchObject({ valid: false, reason: 'malformed_token' })
  for (const route of [`/projects/${projectId}/history`, '/history']) {
    await goTo(route)
    await page.locator('[data-revision]').first().waitFor()
    const first = expect.objectContaining({ revision: 1 })
    expect(await runShown()).toEqual(expect.arrayContaining([first]))
  }
})
