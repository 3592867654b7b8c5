import { expect, test } from 'vitest'
import { type ApiKeyCreate, createClient } from '../../packages/client/src/index.ts'
import { openConsole } from '../support/console/console.ts'
import { rememberSecret } from '../support/secrets.ts'

const hostile = '<img src=x onerror=document.title=1>'

const console_ = await openConsole()
const { client } = console_
const create = (name: string, role: ApiKeyCreate['role'], expireTime?: string) =>
  client.apiKeys.create({ name, role, ...(expireTime && { expireTime }) })
// They are there before the page reads the list.
const old = await create('old', 'reader', '2098-05-06T07:08:09.123Z')
const pipeline = await create('pipeline', 'writer')

const selfOf = (apiKey: string) =>
  createClient({ url: console_.server.url, apiKey, retries: 0 }).apiKeys.self()

test('an API key is created for one project with an expiry, shown once, and works', async () => {
  const page = await console_.open('/api-keys')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New API key' }).focus()
  await page.keyboard.press('Enter')
  await dialog.getByText('Writer', { exact: true }).click()
  await dialog.getByRole('combobox', { name: 'Project' }).fill('default')
  await dialog.getByLabel('Expires at').fill('2099-01-02T03:04')
  await dialog.getByLabel('Name').focus()
  await page.keyboard.type(hostile)
  await page.keyboard.press('Enter')
  await page.getByText('shown only once').waitFor()
  const secret = (await dialog.getByText(/^pubring_/).textContent()) ?? ''
  const expireTime = expect.stringMatching(/^2099/)
  const self = await selfOf(rememberSecret('an API key', secret))
  expect(self).toMatchObject({ name: hostile, role: 'writer', expireTime })
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const row = page.getByRole('row').filter({ hasText: hostile })
  await row.getByText('writer', { exact: true }).waitFor()
  expect(await page.content()).not.toContain(secret)
  expect(await page.title()).not.toBe('1')
})

test('an API key is renamed without touching the seconds of its expiry', async () => {
  const { id, expireTime } = old
  const page = await console_.show('/api-keys')
  await page.getByRole('button', { name: 'Edit old' }).click()
  await page.getByLabel('Name').fill('new')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Actions for new' }).waitFor()
  expect(await client.apiKeys.get(id)).toMatchObject({ name: 'new', expireTime })
})

test('an API key is revoked, reactivated and deleted', async () => {
  const secret = rememberSecret('an API key', pipeline.apiKey)
  const page = await console_.show('/api-keys')
  const dialog = page.getByRole('dialog')
  const act = async (item: string, button: string) => {
    await page.getByRole('button', { name: 'Actions for pipeline' }).click()
    await page.getByRole('menuitem', { name: item }).click()
    const identity = dialog.getByRole('group', { name: 'The API key' })
    await expect.poll(() => identity.textContent()).toMatch(/pipeline.*pubring_.*writer.*Expires/)
    await dialog.getByRole('button', { name: button }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await act('Revoke', 'Revoke')
  await expect(selfOf(secret)).rejects.toMatchObject({ status: 401 })
  await page.getByRole('row', { name: /revoked pipeline/ }).waitFor()
  await act('Reactivate', 'Reactivate')
  await expect(selfOf(secret)).resolves.toMatchObject({ active: true })
  await act('Delete', 'Delete permanently')
  await expect(selfOf(secret)).rejects.toMatchObject({ status: 401 })
  await page.getByText('pipeline').first().waitFor({ state: 'detached' })
})

test('the API key of the session cannot be revoked, deleted or demoted', async () => {
  const page = await console_.show('/api-keys')
  await page.getByText('sign in with another one to revoke it').waitFor()
  expect(await page.getByRole('button', { name: 'Actions for first admin' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Edit first admin' }).click()
  expect(await page.getByRole('radio', { name: 'Reader' }).isDisabled()).toBe(true)
  await page.getByLabel('Expires at').fill('2099-01-02T03:04')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/Nobody would be admin of all projects/).waitFor()
})

test('an API key expires no later than the one that creates it, which keeps its own expiry', async () => {
  const { apiKey } = await create('brief', 'admin', '2090-01-02T03:04:05.000Z')
  rememberSecret('an API key', apiKey)
  const page = await console_.open('/api-keys', { apiKey, timezoneId: 'UTC' })
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('one that you create or extend must expire by then').waitFor()
  const expiry = dialog.getByLabel('Expires at')
  await expect.poll(() => expiry.inputValue()).toBe('2090-01-02T03:04')
  await dialog.getByLabel('Name').fill('longer')
  await expiry.fill('2091-01-01T00:00')
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  await dialog.getByText('The API key expires too soon for this operation').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Edit brief' }).click()
  expect(await expiry.isDisabled()).toBe(true)
})
