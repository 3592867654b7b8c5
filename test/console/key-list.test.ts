import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { ecKey, edKey } from '../support/keys/pem.ts'

/** Many more than fit into a window. */
const count = 240
const day = 86_400_000

const console_ = await openConsole({ PUBRING_MAX_KEYS_PER_PROJECT: '1000' })
const { client } = console_
const projectId = (await client.projects.get('default')).id
const keys = Array.from({ length: count }, (_, index) => ({
  name: `service ${index % 12}, key ${String(index).padStart(3, '0')}`,
  algorithm: index % 4 === 0 ? ('EdDSA' as const) : ('ES256' as const),
  publicKeyPem: (index % 4 === 0 ? edKey() : ecKey()).publicKeyPem,
  active: index % 10 === 0,
  ...(index === 10 && { expireTime: new Date(Date.now() + 5 * day).toISOString() }),
}))
for (let from = 0; from < count; from += 120) {
  await client.keys.import(projectId, { keys: keys.slice(from, from + 120) })
}
const page = await console_.open(`/projects/${projectId}/keys`)

const table = () => page.getByRole('table', { name: 'Keys' })
const rows = () => page.locator('tr[data-id]')
const open = async (query: string) => {
  await console_.go(`/projects/${projectId}/keys${query}`)
  await rows().first().waitFor()
}
const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })
/** The labels of the rows in view; fewer are rendered below them after a moment. */
const labels = async () =>
  (await page.locator('tr[data-id] .row-link').allTextContents()).slice(0, 5)
const expectRows = (size: number) =>
  expect.poll(() => table().getAttribute('aria-rowcount')).toBe(String(size + 1))
const state = (name: string) =>
  page.getByRole('group', { name: 'State' }).getByRole('button', { name })

test('only rows near the window are rendered, and the keyboard reaches all of them', async () => {
  await open('')
  await expectRows(count)
  expect(await rows().count()).toBeLessThan(60)
  await page.getByRole('link', { name: 'key 239' }).focus()
  await page.keyboard.press('End')
  const focused = () =>
    page.evaluate<string[]>(`[
      document.activeElement.textContent,
      document.activeElement.closest('tr').getAttribute('aria-rowindex'),
    ]`)
  await expect.poll(focused).toEqual(['service 0, key 000', String(count + 1)])
  await page.keyboard.press('ArrowUp')
  await expect.poll(focused).toEqual(['service 1, key 001', String(count)])
  expect(await rows().count()).toBeLessThan(60)
  const scrolled = () => page.evaluate<number>('scrollY')
  await expect
    .poll(() => page.evaluate('scrollY > 0 && history.state?.scroll === scrollY'))
    .toBe(true)
  const bottom = await scrolled()
  await page.getByRole('link', { name: 'key 001' }).click()
  await heading('service 1, key 001').waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'key 001' }).waitFor()
  expect(Math.abs((await scrolled()) - bottom)).toBeLessThan(200)
  await page.getByRole('link', { name: 'key 001' }).focus()
  // The focused row stays although the window is elsewhere.
  await page.evaluate('scrollTo(0, 0)')
  await page.getByRole('link', { name: 'key 239' }).waitFor()
  await page.getByRole('link', { name: 'key 001' }).waitFor()
  await page.keyboard.press('Home')
  await expect.poll(focused).toEqual(['service 11, key 239', '2'])
})

test('filters and order are in the URL, and survive a reload and the way back', async () => {
  await open('')
  await page.getByLabel('Filter keys').fill('service 3, key')
  await expectRows(count / 12)
  await page.getByLabel('Algorithm').selectOption('ES256')
  await page.getByRole('button', { name: 'Label' }).click()
  await expect.poll(labels).toContain('service 3, key 003')
  const sorted = await labels()
  expect(sorted).toEqual(sorted.toSorted())
  expect(page.url()).toMatch(/#.*\?q=service\+3%2C\+key&algorithm=ES256&sort=label$/)
  expect(new URL(page.url()).search).toBe('')
  await page.reload()
  await rows().first().waitFor()
  await expect.poll(() => page.getByLabel('Filter keys').inputValue()).toBe('service 3, key')
  expect(await labels()).toEqual(sorted)
  await expect.poll(() => page.locator('th[aria-sort=ascending]').textContent()).toBe('Label')
  await page.getByRole('link', { name: 'key 003' }).click()
  await heading('service 3, key 003').waitFor()
  await page.goBack()
  await rows().first().waitFor()
  expect(await labels()).toEqual(sorted)
})

test('keys are filtered by state and kid, and counted by state', async () => {
  await open('')
  await expectRows(count)
  await expect.poll(() => state('All').textContent()).toBe(`All${count}`)
  await expect.poll(() => state('Off').textContent()).toBe(`Off${count * 0.9}`)
  await state('Off').click()
  await expectRows(count * 0.9)
  await open('?sort=expires')
  await expect.poll(async () => (await labels())[0]).toBe('service 10, key 010')
  await expect.poll(() => rows().first().locator('.warning').textContent()).toMatch(/^in \d days$/)
  const kid = (await rows().first().getAttribute('data-id')) ?? ''
  await open(`?q=${kid}`)
  await expectRows(1)
  await page.getByLabel('Filter keys').fill('none has this')
  await page.getByText('No key matches').waitFor()
  await page.getByRole('button', { name: 'Clear the filters' }).click()
  await expectRows(count)
})

test('one confirmation identifies the selected keys, and says which of them failed', async () => {
  await open('?q=service+8,&sort=label')
  await expectRows(20)
  const select = (name: string) => page.getByRole('checkbox', { name: `Select ${name}` })
  await select('service 8, key 008').click()
  await select('service 8, key 068').click({ modifiers: ['Shift'] })
  await page.getByText('6 selected').waitFor()
  // No row is partly behind the heading of the table.
  await page.evaluate('scrollTo(0, 0)')
  await page.getByRole('button', { name: 'Activate 5' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: 'Activate 5 keys?' }).waitFor()
  await dialog.getByText('1 key of the selection stays as it is').waitFor()
  const shown = await dialog.locator('tr[data-id]').allTextContents()
  const identity = /^service 8, key \d{3}([0-9a-f-]{36})off(EdDSA Ed25519|ES256 P-256)/
  const kids = shown.map((text) => identity.exec(text)?.[1] ?? '')
  expect(kids.filter((kid) => kid !== '')).toHaveLength(5)
  const [first = '', gone = ''] = kids
  // Another admin deletes one meanwhile.
  await client.keys.delete(projectId, gone)
  await dialog.getByRole('button', { name: 'Activate 5 keys' }).click()
  await dialog.getByRole('heading', { name: '4 of 5 keys activated' }).waitFor()
  const reason = dialog.locator(`tr[data-id="${gone}"] [data-failed]`)
  await expect.poll(() => reason.textContent()).toContain('no key')
  await expect.poll(() => dialog.locator(`tr[data-id="${first}"]`).textContent()).toContain('Done')
  expect(await accessibilityViolations(page)).toEqual([])
  expect(await client.keys.get(projectId, first)).toMatchObject({ active: true })
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await page.getByText('selected', { exact: false }).waitFor({ state: 'detached' })
})

test('an outage stops a change of many keys, which can be continued', async () => {
  await open('?q=service+9,')
  await expectRows(20)
  await page.getByRole('checkbox', { name: 'Select all' }).click()
  await page.route('**/jwt-keys/*', (route) => route.abort())
  await page.getByRole('button', { name: 'Activate 20' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Activate 20 keys' }).click()
  await dialog.getByRole('heading', { name: '0 of 20 keys activated' }).waitFor()
  await dialog.getByText('Not tried. The service cannot be reached.').first().waitFor()
  await page.unrouteAll()
  await dialog.getByRole('button', { name: 'Try 20 keys again' }).click()
  await dialog.waitFor({ state: 'detached' })
  const keys = await client.keys.list(projectId, { active: true })
  expect(keys.filter(({ label }) => label.startsWith('service 9,'))).toHaveLength(20)
})

test('changes of a few keys are shown without the list being loaded again', async () => {
  await console_.go(`/projects/${projectId}/keys?q=elsewhere`)
  await page.getByText('No key matches').waitFor()
  const requested: string[] = []
  page.on('request', (request) => requested.push(new URL(request.url()).pathname))
  const shown = async () => (await labels()).toSorted()
  const kid = await console_.register(projectId, 'elsewhere, new', { active: false })
  await expect.poll(shown).toEqual(['elsewhere, new'])
  await client.keys.update(projectId, kid, { label: 'elsewhere, renamed' })
  await expect.poll(shown).toEqual(['elsewhere, renamed'])
  await client.keys.delete(projectId, kid)
  await page.getByText('No key matches').waitFor()
  expect(requested).toContain(`/v1/projects/${projectId}/jwt-keys/${kid}`)
  expect(requested).not.toContain(`/v1/projects/${projectId}/jwt-keys`)
})

test('deactivating all active keys at once warns', async () => {
  await open('')
  await expectRows(count - 1)
  await page.getByRole('checkbox', { name: 'Select all' }).click()
  await page.getByRole('button', { name: /^Deactivate \d+$/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('These are the last active keys.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
})
