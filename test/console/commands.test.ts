import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { openShell } from '../cli/support.ts'
import { runCommand } from '../support/console/commands.ts'
import { openConsole } from '../support/console/console.ts'
import { run } from '../support/console/snippets.ts'
import { ecKey } from '../support/keys/pem.ts'
import { repository, startPlatforms } from '../support/network/platforms.ts'

/** A form sends the request of which it shows the command, so each kind of request is run once. */
const hostile = `o'rders "of" $HOME \\ \`today\``

// Verifiers know a new key after two seconds, so that a rotation can be finished.
const console_ = await openConsole({ PUBRING_JWKS_MAX_AGE: '1' })
const { client, register } = console_
const projectId = (await client.projects.get('default')).id
const page = await console_.open(`/projects/${projectId}`)
const dialog = page.getByRole('dialog')

test('the commands beside the buttons read, create, change and delete', async () => {
  await page.getByRole('button', { name: 'Register a key' }).click()
  await dialog.getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await dialog.getByLabel('Label').fill(hostile)
  await dialog.getByText('Valid key').waitFor()
  const { kid } = Object(await runCommand(dialog, console_.apiKey))
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  const key = () => client.keys.get(projectId, kid)
  expect(await key()).toMatchObject({ label: hostile, active: true })
  expect(await runCommand(page, console_.apiKey)).toMatchObject([{ id: kid }])
  await page.getByRole('button', { name: `Deactivate ${hostile}` }).click()
  await runCommand(dialog, console_.apiKey)
  expect(await key()).toMatchObject({ active: false })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: `Actions for ${hostile}` }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await runCommand(dialog, console_.apiKey)
  await dialog.waitFor({ state: 'detached' })
  await expect(key()).rejects.toMatchObject({ status: 404 })

  await console_.go(`/projects/${projectId}/verify`)
  await page.getByLabel('Expected audience').fill(hostile)
  // In place of a token it has a word.
  const report = { valid: false, reason: 'malformed_token' }
  expect(await runCommand(page, console_.apiKey)).toMatchObject(report)
  for (const route of [`/projects/${projectId}/history`, '/history']) {
    await console_.go(`${route}?type=key.deleted`)
    await page.locator('[data-revision]').first().waitFor()
    const deleted = { type: 'key.deleted', subject: { type: 'key', id: kid } }
    expect(await runCommand(page, console_.apiKey)).toMatchObject([deleted])
  }
})

test('the commands of a rotation do what its steps say', async () => {
  const [from, to] = [await register(projectId, 'old'), await register(projectId, 'new')]
  const superseded = await register(projectId, 'superseded')
  const end = { expireTime: '2099-01-01T00:00:00Z', reason: 'superseded' } as const
  await client.keys.update(projectId, superseded, end)
  await console_.go(`/projects/${projectId}/rotate/${from}`)
  await page.getByLabel('Maximum token lifetime').fill('60')
  const form = (name: string) => page.locator('form', { has: page.getByRole('button', { name }) })
  const start = form('Start with this key')
  await start.getByPlaceholder('Choose a key').click()
  await page.getByRole('option', { name: /^new/ }).waitFor()
  expect(await page.getByRole('option', { name: /^superseded/ }).count()).toBe(0)
  await page.getByRole('option', { name: /^new/ }).click()
  const { id } = Object(await runCommand(start, console_.apiKey))
  const rotation = () => client.rotations.get(projectId, id)
  expect(await rotation()).toMatchObject({ from, to, tokenLifetime: 3_600 })
  const resume = (await page.getByText('pubring key rotate --resume').textContent()) ?? ''
  const env = { PUBRING_URL: console_.server.url, PUBRING_API_KEY: console_.apiKey }
  const resumed = await openShell(() => env).pubring(resume.split(' ').slice(1))
  expect(resumed.stderr).toContain('confirm that with --switched')
  await runCommand(form('The signer uses the new key'), console_.apiKey)
  expect(await rotation()).toMatchObject({ state: 'finished' })
})

test('the command for a new access rule prints the ids', async () => {
  const platforms = await startPlatforms()
  const ca = join(console_.server.folder, 'platforms.pem')
  writeFileSync(ca, getCACertificates('default').at(-1) ?? '')
  await console_.go('/access-rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  await dialog.getByLabel('Owner/repo').fill(repository.name)
  const lookup = dialog.getByLabel('command that prints the ids', { exact: true })
  const env = { ...platforms.env, CURL_CA_BUNDLE: ca }
  const printed = await run(['sh', '-ec', (await lookup.textContent()) ?? ''], '.', env)
  expect(printed).toBe(`${repository.id}\n${repository.owner.id}\n`)
})
