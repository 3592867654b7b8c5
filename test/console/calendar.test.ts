import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { keyFor } from '../support/keys/tokens.ts'

const console_ = await openConsole()
const { client } = console_
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
for (const [name, days] of Object.entries({ orders: 3, payments: 3, reports: 40 })) {
  const { id } = await client.projects.create({ name })
  const { publicKeyPem } = keyFor('ES256')
  const body = { name: `${name} key`, algorithm: 'ES256', publicKeyPem } as const
  await client.keys.create(id, { ...body, expireTime: inDays(days).toISOString() })
}
const page = await console_.open('/')
/** The name of a day for screen readers; the browser and this process have the same time zone. */
const dayIn = (days: number) => inDays(days).toLocaleDateString('en-US', { dateStyle: 'full' })

test('the expiries of all projects are in a calendar, whose days lead to what ends then', async () => {
  await page.getByText('Calendar', { exact: true }).click()
  const calendar = page.getByRole('table', { name: 'Expiries' })
  await calendar.getByRole('button', { name: `2 on ${dayIn(3)}` }).click()
  const day = page.getByRole('region', { name: dayIn(3) })
  await expect.poll(() => day.evaluate('document.activeElement.ariaLabel')).toBe(dayIn(3))
  const links = day.getByRole('link')
  const named = ['orders: orders key', 'payments: payments key']
  await expect.poll(() => links.allTextContents()).toEqual(named)
  // No warning is of a key that ends in 40 days.
  await calendar.getByRole('button', { name: `1 on ${dayIn(40)}` }).waitFor()
  await page.getByText('The next expiry of each of the first 1,000 projects').waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  await page.getByRole('textbox', { name: 'Search projects' }).fill('reports')
  await day.waitFor({ state: 'detached' })
  expect(page.url()).toContain('view=calendar')
  await page
    .getByRole('region', { name: dayIn(40) })
    .getByRole('link')
    .click()
  await page.getByRole('heading', { name: 'reports', exact: true }).waitFor()
})

test('the history counts its entries per day', async () => {
  await console_.show('/history')
  const calendar = page.getByRole('table', { name: 'Entries per day' })
  await page.locator('[data-revision]').first().waitFor()
  const count = await page.locator('[data-revision]').count()
  await calendar.getByRole('button', { name: `${count} on ${dayIn(0)}` }).click()
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe(dayIn(0))
  expect(await accessibilityViolations(page)).toEqual([])
})
