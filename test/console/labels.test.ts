import { globSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { waitLimitMs } from '../support/waiting.ts'

const console_ = await openConsole()
const { client } = console_
const projectId = (await client.projects.get('default')).id
await console_.register(projectId, 'orders')

test('characters that reorder text are shown, and rejected while they are typed', async () => {
  const name = 'orders \u202etxt.exe'
  const page = await console_.open(`/projects/${projectId}/keys`)
  await page.getByRole('button', { name: 'Register a key' }).click()
  await page.getByLabel('Label').fill(name)
  await page.getByText('characters that change its direction').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  // The service accepts no such label; a database that was written by other means may have one.
  const [file = ''] = globSync(join(console_.server.folder, 'data/*.db'))
  const database = new DatabaseSync(file, { timeout: waitLimitMs })
  database.prepare('UPDATE jwt_key SET label = ? WHERE label = ?').run(name, 'orders')
  database.close()
  await client.projects.rename(projectId, 'renamed')
  await page.reload()
  const shown = 'orders [U+202E]txt.exe'
  await page.getByText(shown, { exact: true }).first().waitFor()
  await page.getByRole('button', { name: `Actions for ${shown}` }).click()
  // It is inactive, because its row contradicts its ledger.
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog', { name: `Delete “${shown}”?` }).waitFor()
  expect(await page.locator('body').textContent()).not.toContain('\u202e')
  await page.keyboard.press('Escape')
  await page.getByRole('tab', { name: 'Check a token' }).click()
  const token = signToken(keyFor('ES256').privateKey, { alg: 'ES256', kid: 'x' }, { sub: name })
  await page.getByLabel('Token', { exact: true }).fill(token)
  await expect
    .poll(() => page.getByLabel('Claims', { exact: true }).textContent())
    .toContain(String.raw`orders \u202etxt.exe`)
})

test('an expired key is not offered to be activated, and a tab that does not exist is said', async () => {
  const expireTime = new Date(Date.now() + 1_500).toISOString()
  await console_.register(projectId, 'brief', { expireTime })
  const page = await console_.open(`/projects/${projectId}/nothing`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  expect(await page.title()).toBe('Page not found · Pubring')
  await page.waitForTimeout(Math.max(0, Date.parse(expireTime) - Date.now()) + 50)
  await console_.go(`/projects/${projectId}/keys`)
  await page.getByText('expired', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Actions for brief' }).click()
  const items = page.getByRole('menuitem')
  await expect
    .poll(() => items.allTextContents())
    .toEqual(['Rename', 'Extend or clear expiry', 'It was compromised', 'Delete'])
})
