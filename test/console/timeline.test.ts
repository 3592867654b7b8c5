import { expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { edKey } from '../support/keys/pem.ts'

const console_ = await openConsole({
  PUBRING_JWKS_MAX_AGE: '5',
  PUBRING_MAX_KEYS_PER_PROJECT: '300',
})
const { client, register } = console_
const projectId = (await client.projects.create({ name: 'orders' })).id
const winter = await register(projectId, 'winter')
const expireTime = new Date(Date.now() + 20 * 86_400_000).toISOString()
await register(projectId, 'spring', { expireTime })
await client.keys.update(projectId, winter, { active: false })
const gone = await register(projectId, 'gone')
await client.keys.update(projectId, gone, { active: false })
await client.keys.delete(projectId, gone)
const page = await console_.open(`/projects/${projectId}/timeline`)

/** The states of a key's bar in the picture, or of its rows in the table. */
const statesOf = (label: string) =>
  page.evaluate<string[]>(`{
    const { view } = Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))
    const row = [...document.querySelectorAll('.chart-rows > li')].find((each) => each.textContent.includes('${label}'))
    const rows = [...document.querySelectorAll('tr[data-state]')]
    let key
    const ofKey = rows.filter((each) => {
      key = each.querySelector('th')?.textContent ?? key
      return key.includes('${label}')
    })
    const found = view === 'table' ? ofKey : [...row.querySelectorAll('[data-state]')]
    found.map((each) => each.dataset.state)
  }`)

test('each key has a bar with its states, and the table has the same', async () => {
  const expected = {
    winter: ['spreading', 'off'],
    spring: ['spreading', 'current', 'expired'],
    gone: ['spreading', 'off'],
  }
  await page.locator('li[data-kid]').first().waitFor()
  const read = async () =>
    Object.fromEntries(
      await Promise.all(Object.keys(expected).map(async (each) => [each, await statesOf(each)])),
    )
  await expect.poll(read).toEqual(expected)
  const bar = page.locator('li', { hasText: 'winter' }).getByRole('img')
  await expect
    .poll(() => bar.getAttribute('aria-label'))
    .toMatch(/^Spreading from .+; Off from .+no end known$/)
  await page.getByText('Table', { exact: true }).click()
  await page.locator('tr[data-state]').first().waitFor()
  await expect.poll(read).toEqual(expected)
  const table = page.getByRole('table')
  await table.getByText('Deactivated key by first admin').first().waitFor()
  await table.getByText('Deleted key by first admin').waitFor()
  // Its state after that of spreading may be planned too.
  await table.locator('tr[data-state=expired]', { hasText: '(planned)' }).waitFor()
})

test('a bar expands to its spans with the keyboard, and keys zoom and move the picture', async () => {
  await page.getByText('Picture', { exact: true }).click()
  const row = page.locator('li[data-kid]', { hasText: 'winter' }).getByRole('button')
  await row.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('cell', { name: 'Off', exact: true }).waitFor()
  const days = async () => {
    const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1])
    const [from = 0, to = 0] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? ''))
    return { from: from / 86_400_000, length: (to - from) / 86_400_000 }
  }
  await page.keyboard.press('0')
  const all = await days()
  expect(all.length).toBeGreaterThan(20)
  await page.keyboard.press('+')
  expect((await days()).length).toBeCloseTo(all.length / 2, 3)
  await page.keyboard.press('-')
  await page.keyboard.press('ArrowLeft')
  // The URL has what is shown.
  expect((await days()).from).toBeCloseTo(all.from - all.length / 2, 1)
})

test('events that cannot be read are reported, and read when asked for again', async () => {
  const fail: Parameters<typeof page.route>[1] = (each) => each.fulfill({ status: 500, body: '' })
  await page.route('**/events?*key.created*', fail)
  await page.reload()
  const retry = page.getByRole('button', { name: 'Try again' })
  await retry.waitFor()
  await page.unroute('**/events?*key.created*')
  await retry.click()
  await page.locator('li[data-kid]').first().waitFor()
})

test('hundreds of keys are drawn in parts, and any is found', async () => {
  const keys = Array.from({ length: 140 }, (_, index) => ({
    name: `service ${index}`,
    algorithm: 'EdDSA' as const,
    publicKeyPem: edKey().publicKeyPem,
  }))
  await client.keys.import(projectId, { keys })
  await page.getByText('The first 100 of 143 keys').waitFor()
  const bars = page.locator('li[data-kid]')
  await expect.poll(() => bars.count()).toBe(100)
  await page.getByRole('button', { name: 'Show 43 more' }).click()
  await expect.poll(() => bars.count()).toBe(143)
  await page.getByLabel('Search the timeline').fill('service 139')
  await page.getByText('1 of 143 keys').waitFor()
  expect(await statesOf('service 139')).toContain('spreading')
})
