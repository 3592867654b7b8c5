import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { freePort } from '../support/server/process.ts'

const port = await freePort()
const proxy = await startTcpProxy(port)
const url = `http://127.0.0.1:${proxy.port}`
const console_ = await openConsole({ PUBRING_PORT: String(port), PUBRING_PUBLIC_URL: url })

const registered = (name: string) => console_.register('default', name)

const storage = (page: Page) => page.evaluate<string>('JSON.stringify({ ...sessionStorage })')
const notLive = (page: Page) => page.getByText(/^Not live since \d/)

test('an outage closes no dialog, loses nothing that was typed, and ends by itself', async () => {
  const kid = await registered('winter')
  const page = await console_.open('/projects/default', { url })
  await page.getByRole('button', { name: 'Actions for winter' }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  const label = page.getByRole('dialog').getByLabel('Label')
  await label.fill('winter, renamed')
  proxy.cut()
  await notLive(page).waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('dialog').getByText('The service cannot be reached').waitFor()
  await expect.poll(() => label.inputValue()).toBe('winter, renamed')
  await expect.poll(() => page.locator(`tr[data-id="${kid}"]`).count()).toBe(1)
  // The stream of events is broken, so this is seen only by loading everything again.
  await registered('made during the outage')
  proxy.restore()
  await notLive(page).waitFor({ state: 'detached' })
  await page.getByText('made during the outage').waitFor()
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.locator(`tr[data-id="${kid}"]`).getByText('winter, renamed').waitFor()
  await registered('made after the outage')
  await page.getByText('made after the outage').waitFor()
})

test('a reload during an outage resumes the session when the service is back', async () => {
  const page = await console_.open('/projects/default', { url })
  await page.locator('tr[data-id]').first().waitFor()
  // The page is there, as from a cache or a proxy, and the service is not.
  await page.route(`${url}/v1/**`, (route) => route.abort())
  await page.reload()
  await page.getByText('The service cannot be reached').waitFor()
  await page.unrouteAll()
  await page.locator('tr[data-id]').first().waitFor()
})

test('an unfinished form is open again after a reload, without what is secret', async () => {
  const { publicKeyPem } = ecKey()
  const page = await console_.open('/projects/default', { url })
  await page.getByRole('button', { name: 'Register a key' }).click()
  const dialog = page.getByRole('dialog')
  const field = dialog.getByRole('textbox', { name: 'Public key' })
  await field.fill(publicKeyPem)
  await dialog.getByLabel('Label').fill('half done')
  await dialog.getByLabel('Expires at').fill('2099-01-02T03:04')
  const secret = privatePem(ecKey())
  await dialog.getByLabel('Published kid').fill(secret)
  await page.getByText('It was not sent.').waitFor()
  expect(await storage(page)).not.toContain(secret.slice(40, 80))
  await page.reload()
  await dialog.getByText('Valid key').waitFor()
  await expect.poll(() => field.inputValue()).toBe(publicKeyPem)
  await expect.poll(() => dialog.getByLabel('Label').inputValue()).toBe('half done')
  await expect.poll(() => dialog.getByLabel('Expires at').inputValue()).toBe('2099-01-02T03:04')
  expect(await dialog.getByLabel('Published kid').inputValue()).toBe('')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.reload()
  await page.getByRole('button', { name: 'Register a key' }).click()
  expect(await field.inputValue()).toBe('')
  // Signing out leaves nothing to the next user of the tab.
  await dialog.getByLabel('Label').fill('of the first user')
  await page.keyboard.press('Escape')
  expect(await storage(page)).toContain('of the first user')
  await page.getByRole('button', { name: /^Signed in as/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await storage(page)).toBe('{}')
})

test('a page whose code is gone after an upgrade offers the new version and keeps the input', async () => {
  const page = await console_.open('/projects/default', { url })
  await page.getByRole('button', { name: 'Register a key' }).click()
  await page.getByLabel('Label').fill('before the upgrade')
  await page.keyboard.press('Escape')
  // As after an upgrade: another page, and none of the old files.
  const index = await (await fetch(`${url}/console/`)).text()
  await page.route(`${url}/console/assets/**`, (route) => route.fulfill({ status: 404 }))
  await page.route(`${url}/console/`, (route) =>
    route.fulfill({ body: index.replace(/index-[\w-]+\.js/, 'index-new.js') }),
  )
  await page.getByRole('tab', { name: 'Check a token' }).click()
  await page.getByText('There is a new version of the console').waitFor()
  // The rest of the page still works.
  await page.getByRole('tab', { name: 'Keys' }).click()
  await page.locator('tr[data-id]').first().waitFor()
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByText('There is a new version of the console').waitFor()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  await page.getByRole('link', { name: 'Projects' }).click()
  await page.getByRole('link', { name: 'default', exact: true }).click()
  await page.getByRole('button', { name: 'Register a key' }).click()
  await expect.poll(() => page.getByLabel('Label').inputValue()).toBe('before the upgrade')
})
