import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openShell } from '../cli/support.ts'
import { runCommand } from '../support/console/commands.ts'
import { openConsole } from '../support/console/console.ts'
import { run } from '../support/console/snippets.ts'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { repository, startPlatforms } from '../support/network/platforms.ts'
import { rememberSecret } from '../support/secrets.ts'

const hostile = `o'rders "of" $HOME \\ \`today\``

// Verifiers know a new key after two seconds, so that a rotation can be finished.
const console_ = await openConsole({ PUBRING_JWKS_MAX_AGE: '1' })
const projectId = (await console_.client.projects.get('default')).id
const page = await console_.open('/')

const runShown = (scope: Page | Locator = page) => runCommand(scope, console_.apiKey)

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

const registered = async (name: string, { publicKeyPem } = ecKey()) =>
  (await console_.client.keys.create(projectId, { name, algorithm: 'ES256', publicKeyPem })).kid
/** The form whose button has this name. */
const form = (name: string) => page.locator('form', { has: page.getByRole('button', { name }) })

test('the curl commands of a rotation do what its steps say', async () => {
  const { rotations } = console_.client
  const [from, to] = [await registered('old'), await registered('new')]
  await goTo(`/projects/${projectId}/rotate/${from}`)
  await page.getByLabel('Maximum token lifetime').fill('60')
  const start = form('Start with this key')
  await start.getByPlaceholder('Choose a key').click()
  await page.getByRole('option', { name: /^new/ }).click()
  const { id } = Object(await runShown(start))
  expect(await rotations.get(projectId, id)).toMatchObject({ from, to, tokenLifetime: 3_600 })
  await page.getByRole('button', { name: 'Abandon this rotation' }).click()
  await runDeletion()
  expect(await rotations.get(projectId, id)).toMatchObject({ state: 'abandoned' })
  const again = await rotations.start(projectId, { from, to, tokenLifetime: 60 })
  const resume = (await page.getByText('pubring key rotate --resume').textContent()) ?? ''
  const env = { PUBRING_URL: console_.server.url, PUBRING_API_KEY: console_.apiKey }
  const resumed = await openShell(() => env).pubring(resume.split(' ').slice(1))
  expect(resumed.stderr).toContain('confirm that with --switched')
  await runShown(form('The signer uses the new key'))
  expect(await rotations.get(projectId, again.id)).toMatchObject({ state: 'finished' })
})

test('a compromised key has a curl command that revokes it, and none that only replaces it', async () => {
  const { client } = console_
  const leaked = ecKey()
  const kid = await registered('leaked', leaked)
  await client.keys.check({ publicKeyPem: privatePem(leaked) })
  await goTo(`/projects/${projectId}/keys/${kid}`)
  await page.getByRole('button', { name: 'Replace and revoke now' }).click()
  await dialog().getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await dialog().getByText('Valid key').waitFor()
  await dialog().getByLabel('Label').fill('successor')
  expect(await dialog().getByRole('button', { name: 'Show curl command' }).count()).toBe(1)
  await runShown(form('Revoke without a new key'))
  expect(await client.keys.get(projectId, kid)).toMatchObject({ active: false })
})

test('the curl commands of registration links and sessions do what their dialogs say', async () => {
  const { registrationLinks, sessions } = console_.client
  await goTo(`/projects/${projectId}/keys`)
  await page.getByRole('button', { name: 'Registration link' }).click()
  await dialog().getByLabel('Note').fill(hostile)
  const { id, url } = Object(await runInDialog())
  rememberSecret('the secret of a link', new URL(url).hash.slice(1))
  await choose(`Actions for the link ${hostile}`, 'Revoke')
  await runShown(dialog())
  expect(await registrationLinks.get(projectId, id)).toMatchObject({ state: 'revoked' })

  await page.reload()
  const session = await sessions.create()
  await goTo('/sessions')
  expect(await runShown()).toContainEqual(expect.objectContaining({ id: session.id }))
  const others = page.getByRole('row').filter({ hasText: '127.0.0.1' })
  await others.filter({ hasNotText: 'this browser' }).getByRole('button').click()
  await page.getByRole('menuitem', { name: 'End session', exact: true }).click()
  await runShown(dialog())
  expect((await sessions.list()).map((each) => each.id)).not.toContain(session.id)
  await page.reload()
  await goTo('/status')
  expect(await runShown()).toHaveProperty('version')
})

test('the commands of access rules find the ids, and do what their dialogs say', async () => {
  const { accessRules } = console_.client
  const platforms = await startPlatforms()
  const ca = join(console_.server.folder, 'platforms.pem')
  writeFileSync(ca, getCACertificates('default').at(-1) ?? '')
  await goTo('/access-rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  await dialog().getByLabel('Owner/repo').fill(repository.name)
  const lookup = dialog().getByLabel('command that prints the ids', { exact: true })
  const env = { ...platforms.env, CURL_CA_BUNDLE: ca }
  const printed = await run(['sh', '-ec', (await lookup.textContent()) ?? ''], '.', env)
  expect(printed).toBe(`${repository.id}\n${repository.owner.id}\n`)
  await dialog().getByRole('combobox', { name: 'Project' }).fill('default')
  await dialog().getByLabel('Value 1').fill(String(repository.id))
  await dialog().getByLabel('Value 3').fill('refs/heads/main')
  const { id } = Object(await runInDialog())
  const rule = () => accessRules.get(id)
  expect(await rule()).toMatchObject({ conditions: { repository_id: '74' }, active: true })
  await page.reload()
  expect(await runShown()).toMatchObject([{ id }])
  await page.getByRole('button', { name: `Edit ${repository.name}` }).click()
  await dialog().getByLabel('Name').fill(hostile)
  await runInDialog()
  expect(await rule()).toMatchObject({ name: hostile })
  await page.reload()
  await choose(`Actions for ${hostile}`, 'Deactivate')
  await runInDialog()
  expect(await rule()).toMatchObject({ active: false })
  await page.reload()
  await choose(`Actions for ${hostile}`, 'Delete')
  await runShown(dialog())
  await expect(rule()).rejects.toMatchObject({ status: 404 })
})
