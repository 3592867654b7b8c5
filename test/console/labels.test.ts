import { globSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { ecKey } from '../support/keys/pem.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { waitLimitMs } from '../support/waiting.ts'

const long = 'payments service signing key of the european region, spring!'
const longest = `${'internationalization-of-'.repeat(10)}payments 2026`.slice(0, 255)

const console_ = await openConsole()
const { client } = console_
const projectId = (await client.projects.get('default')).id
for (const name of [long, longest.padEnd(255, 'x')]) {
  const { publicKeyPem } = ecKey()
  const { kid } = await client.keys.create(projectId, { name, algorithm: 'ES256', publicKeyPem })
  await client.keys.update(projectId, kid, { active: name === long })
  await client.apiKeys.create({ name, role: 'reader' })
}

/** Texts that a reader sees cut off or broken on the page. */
const faultsOf = (page: Page) =>
  page.evaluate<string[]>(`{
    const faults = []
    const wide = document.documentElement.scrollWidth - innerWidth
    if (wide > 0) faults.push('the page is wider than the window by ' + wide)
    for (const badge of document.querySelectorAll('main .mantine-Badge-root, header .mantine-Badge-root')) {
      const range = document.createRange()
      range.selectNodeContents(badge)
      const box = badge.getBoundingClientRect(), text = range.getBoundingClientRect()
      const cut = text.left < Math.max(0, box.left - 1) || text.right > Math.min(innerWidth, box.right + 1)
      const inner = badge.querySelector('.mantine-Badge-label')
      if (cut || inner.scrollWidth > inner.clientWidth) faults.push('cut: ' + badge.textContent)
    }
    const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.data.includes(${JSON.stringify(long)})) continue
      for (const { index, 0: word } of node.data.matchAll(/\\S+/g)) {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        if (range.getClientRects().length > 1) faults.push('broken: ' + word)
      }
    }
    faults
  }`)

/** The navigation needs a moment to move. */
async function expectReadable(page: Page, width: number, where: string): Promise<void> {
  await page.setViewportSize({ width, height: 800 })
  await expect.poll(() => faultsOf(page), { message: `${where} at ${width}` }).toEqual([])
}

test('no state is cut and no word broken by long labels, at any width', async () => {
  const page = await console_.open('/')
  const routes = ['keys', 'history'].map((tab) => `/projects/${projectId}/${tab}`)
  const [key] = await console_.client.keys.list(projectId, { active: true })
  for (const route of [
    ...routes,
    `/projects/${projectId}/keys/${key?.id}`,
    '/api-keys',
    '/history',
  ]) {
    await page.goto(`${console_.server.url}/console/#${route}`)
    await page.getByText(long).first().waitFor()
    for (const width of [360, 900, 1280]) await expectReadable(page, width, route)
  }
  await page.goto(`${console_.server.url}/console/#/projects/${projectId}/keys`)
  await page.getByRole('button', { name: `Deactivate ${long}` }).click()
  await page.getByRole('dialog').getByRole('group', { name: 'The key' }).waitFor()
  for (const width of [360, 900]) await expectReadable(page, width, 'the dialog')
})

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
  database.prepare('UPDATE jwt_key SET label = ? WHERE label = ?').run(name, long)
  database.close()
  await console_.client.projects.rename(projectId, 'renamed')
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
  expect(await page.getByLabel('Claims', { exact: true }).textContent()).toContain(
    String.raw`orders \u202etxt.exe`,
  )
})

test('an expired key is not offered to be activated, and a tab that does not exist is said', async () => {
  const { publicKeyPem } = ecKey()
  const expireTime = new Date(Date.now() + 1_500).toISOString()
  const key = { name: 'brief', algorithm: 'ES256', publicKeyPem, expireTime } as const
  await console_.client.keys.create(projectId, key)
  const page = await console_.open(`/projects/${projectId}/nothing`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  expect(await page.title()).toBe('Page not found · Pubring')
  await page.waitForTimeout(Math.max(0, Date.parse(expireTime) - Date.now()) + 50)
  await page.goto(`${console_.server.url}/console/#/projects/${projectId}/keys`)
  await page.getByText('expired', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Actions for brief' }).click()
  const items = await page.getByRole('menuitem').allTextContents()
  expect(items).toEqual(['Rename', 'Extend or clear expiry', 'It was compromised', 'Delete'])
})
