import type { Page } from 'playwright-core'
import type { RegistrationLinkCreate } from '../../../packages/client/src/index.ts'
import { rememberSecret } from '../secrets.ts'
import type { TestConsole } from './console.ts'

type Members = Partial<RegistrationLinkCreate>

/** Creates a link of a project, and returns its address. */
export async function createLink(
  { client }: TestConsole,
  { note = 'ACME Corp, orders API', ...members }: Members = {},
  project = 'default',
): Promise<string> {
  const { url } = await client.registrationLinks.create(project, { note, ...members })
  rememberSecret('the secret of a link', new URL(url).hash.slice(1))
  return url
}

export const keyField = (page: Page) => page.getByRole('textbox', { name: 'Public key' })

/** Registers the key in the field, converting it where that is offered; returns its kid. */
export async function registerKey(page: Page, publicKey: string): Promise<string> {
  await keyField(page).fill(publicKey)
  const extract = page.getByRole('button', { name: 'Extract public key' })
  const accepted = page.getByText('Valid key')
  await extract.or(accepted).waitFor()
  if (await extract.isVisible()) await extract.click()
  await accepted.waitFor()
  await page.getByRole('button', { name: 'Register key' }).click()
  await page.getByRole('heading', { name: 'Your key is registered' }).waitFor()
  return (await page.locator('.large-kid').textContent()) ?? ''
}

/** The program of the page that signs with the registered key. */
export async function programOf(page: Page, language: string): Promise<string> {
  await page.getByRole('tab', { name: language }).click()
  const program = page.getByLabel(`program for ${language}`, { exact: true })
  return (await program.textContent()) ?? ''
}

/** Checks a token, and returns the title of the verdict. */
export async function checkToken(page: Page, token: string): Promise<string> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Check token' }).click()
  const verdict = page.locator('[data-verdict]')
  await verdict.waitFor()
  return (await verdict.textContent()) ?? ''
}
