import { describe, expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { openConsole } from '../support/console/console.ts'
import { rememberSecret } from '../support/secrets.ts'

const hostile = '<img src=x onerror=document.title=1>'

const console_ = await openConsole()

const createSecret = async (name: string, role: 'reader' | 'writer' | 'admin', project?: string) =>
  rememberSecret(
    'an API key',
    (await console_.client.apiKeys.create({ name, role, ...(project && { project }) })).apiKey,
  )

const selfOf = (apiKey: string) =>
  createClient({ url: console_.server.url, apiKey, retries: 0 }).apiKeys.self()

describe('an API key', () => {
  test('is created for one project with an expiry, shown once, and works', async () => {
    const page = await console_.open('/api-keys')
    await page.getByRole('button', { name: 'New API key' }).click()
    await page.getByLabel('Name').fill(hostile)
    await page.getByText('Writer', { exact: true }).click()
    await page.getByRole('combobox', { name: 'Project' }).fill('default')
    await page.getByLabel('Expires at').fill('2099-01-02T03:04')
    await page.getByRole('button', { name: 'Create API key' }).click()
    await page.getByText('shown only once').waitFor()
    const secret =
      (await page
        .getByRole('dialog')
        .getByText(/^pubring_/)
        .textContent()) ?? ''
    expect(await selfOf(rememberSecret('an API key', secret))).toMatchObject({
      name: hostile,
      role: 'writer',
      expireTime: expect.stringMatching(/^2099/),
    })
    await page.getByRole('button', { name: 'I have copied it' }).click()
    const row = page.getByRole('row').filter({ hasText: hostile })
    await row.getByText('writer', { exact: true }).waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(await page.title()).not.toBe('1')
  })

  test('is renamed without touching the seconds of its expiry', async () => {
    const expireTime = '2098-05-06T07:08:09.123Z'
    const { id } = await console_.client.apiKeys.create({ name: 'old', role: 'reader', expireTime })
    const page = await console_.open('/api-keys')
    await page.getByRole('button', { name: 'Edit old' }).click()
    await page.getByLabel('Name').fill('new')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Actions for new' }).waitFor()
    expect(await console_.client.apiKeys.get(id)).toMatchObject({ name: 'new', expireTime })
  })

  test('expires no later than the one that creates it, which keeps its own expiry', async () => {
    const expireTime = '2090-01-02T03:04:05.000Z'
    const members = { name: 'brief', role: 'admin', expireTime } as const
    const { apiKey } = await console_.client.apiKeys.create(members)
    const page = await console_.open('/api-keys', {
      apiKey: rememberSecret('an API key', apiKey),
      timezoneId: 'UTC',
    })
    await page.getByRole('button', { name: 'New API key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('one that you create or extend must expire by then').waitFor()
    const expiry = dialog.getByLabel('Expires at')
    expect(await expiry.inputValue()).toBe('2090-01-02T03:04')
    await dialog.getByLabel('Name').fill('longer')
    await expiry.fill('2091-01-01T00:00')
    await dialog.getByRole('button', { name: 'Create API key' }).click()
    await dialog.getByText('The API key expires too soon for this operation').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Edit brief' }).click()
    expect(await dialog.getByLabel('Expires at').isDisabled()).toBe(true)
  })

  test('is revoked, reactivated and deleted', async () => {
    const secret = await createSecret('pipeline', 'writer')
    const page = await console_.open('/api-keys')
    const act = async (item: string, button: string) => {
      await page.getByRole('button', { name: 'Actions for pipeline' }).click()
      await page.getByRole('menuitem', { name: item }).click()
      const identity = page.getByRole('dialog').getByRole('group', { name: 'The API key' })
      expect(await identity.textContent()).toMatch(/pipeline.*pubring_.*writer.*Expires/)
      await page.getByRole('dialog').getByRole('button', { name: button }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await act('Revoke', 'Revoke')
    await expect(selfOf(secret)).rejects.toMatchObject({ status: 401 })
    await page.getByRole('row', { name: /revoked pipeline/ }).waitFor()
    await act('Reactivate', 'Reactivate')
    await expect(selfOf(secret)).resolves.toMatchObject({ active: true })
    await act('Delete', 'Delete permanently')
    await expect(selfOf(secret)).rejects.toMatchObject({ status: 401 })
    expect(await page.getByText('pipeline').count()).toBe(0)
  })

  test('of the session cannot be revoked, deleted or demoted', async () => {
    const page = await console_.open('/api-keys')
    await page.getByText('sign in with another one to revoke it').waitFor()
    expect(await page.getByRole('button', { name: 'Actions for first admin' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Edit first admin' }).click()
    expect(await page.getByRole('radio', { name: 'Reader' }).isDisabled()).toBe(true)
    await page.getByLabel('Expires at').fill('2099-01-02T03:04')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/Nobody would be admin of all projects/).waitFor()
  })
})

describe('API keys and the ledger', () => {
  test.each([
    ['a reader', 'reader', undefined],
    ['a writer', 'writer', undefined],
    ['an admin of one project', 'admin', 'default'],
  ] as const)('are not offered to %s', async (name, role, project) => {
    const apiKey = await createSecret(name, role, project)
    const page = await console_.open('/api-keys', { apiKey })
    await page.getByText('Only an admin or auditor of all projects can see this page.').waitFor()
    const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
    expect(await links.allTextContents()).toEqual([
      project === undefined ? 'Projects' : 'Project',
      'Sessions',
    ])
    await page.goto(`${console_.server.url}/console/#/history`)
    await page.getByText('can see this page.').waitFor()
  })
})

test('an API key is created with the keyboard alone', async () => {
  const page = await console_.open('/api-keys')
  await page.getByRole('button', { name: 'New API key' }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Name').waitFor()
  await page.keyboard.type('by hand')
  await page.keyboard.press('Enter')
  await page.getByText('shown only once').waitFor()
  const secret =
    (await page
      .getByRole('dialog')
      .getByText(/^pubring_/)
      .textContent()) ?? ''
  expect(await selfOf(rememberSecret('an API key', secret))).toMatchObject({ name: 'by hand' })
})
