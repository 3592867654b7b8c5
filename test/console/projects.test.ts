import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'

const console_ = await openConsole()
const { client, register } = console_
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
/** A project with one key, which ends after so many days, if it ends. */
const add = async (name: string, days?: number) => {
  const { id } = await client.projects.create({ name })
  const end = days === undefined ? {} : { expireTime: inDays(days).toISOString() }
  return { id, kid: await register(id, `${name} key`, end) }
}
const calm = await add('calm')
const to = await register(calm.id, 'successor')
await client.rotations.start(calm.id, { from: calm.kid, to, tokenLifetime: 60 })
const soon = await add('next-week', 5)
await add('next-month', 29)
const broken = await add('broken')
await client.keys.update(broken.id, broken.kid, { active: false })

test('a name that another project gave up is taken once that is confirmed', async () => {
  const page = await console_.show('/')
  const { id } = await client.projects.create({ name: 'given-up' })
  await client.projects.delete(id)
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('given-up')
  expect(await page.getByRole('checkbox', { name: /gave it up/ }).count()).toBe(0)
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByText('project_name_taken', { exact: true }).waitFor()
  await page.getByRole('checkbox', { name: /gave it up/ }).check()
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'given-up' }).waitFor()
  await client.projects.delete('given-up')
})

test('a project is created, renamed and deleted', async () => {
  const page = await console_.show('/')
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('default')
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByText('project_name_taken', { exact: true }).waitFor()
  await expect.poll(() => page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('default')
  await page.getByRole('textbox', { name: 'Name' }).fill('orders')
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'orders' }).waitFor()
  const { id } = await client.projects.get('orders')
  const issuer = page.getByText(`/v1/projects/${id}`, { exact: false }).first()
  await issuer.waitFor()
  await page.getByRole('button', { name: 'Project actions' }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('shop')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('heading', { name: 'shop' }).waitFor()
  await page.getByRole('button', { name: 'Project actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete project' }).click()
  await page.getByRole('heading', { name: 'Projects' }).waitFor()
  await expect(client.projects.get(id)).rejects.toMatchObject({ status: 404 })
})

test('what breaks first comes first, the bell counts it, and a warning leads to its key', async () => {
  const page = await console_.show('/')
  const names = () => page.locator('tbody tr[data-id] a').allTextContents()
  await expect
    .poll(async () => (await names()).slice(0, 3))
    .toEqual(['broken', 'next-week', 'next-month'])
  const row = page.getByRole('row', { name: /next-week/ })
  await row.getByText('Key expires soon').waitFor()
  await row.getByText('in 4 days').waitFor()
  await page
    .getByRole('row', { name: /broken/ })
    .getByText('No active key')
    .waitFor()
  const figures = page.locator('.figure + *')
  const noKeys = 'project has keys, but no active one'
  await expect.poll(() => figures.allTextContents()).toContain(noKeys)
  const rotation = page.getByRole('link', { name: '1 under way' })
  await expect.poll(() => rotation.getAttribute('href')).toBe(`#/projects/${calm.id}`)
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await expect.poll(async () => (await names())[0]).toBe('broken')
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await expect.poll(async () => (await names()).at(-1)).toBe('broken')

  await page.getByRole('button', { name: '3 warnings' }).click()
  expect(await accessibilityViolations(page, '[role=menu]')).toEqual([])
  await page.getByRole('menuitem', { name: /next-week key · next-week/ }).click()
  await page.getByRole('heading', { name: 'next-week key' }).waitFor()
  expect(page.url()).toContain(`/projects/${soon.id}/keys/${soon.kid}`)
  // It is mended, and the bell says so on the next page.
  await client.keys.update(soon.id, soon.kid, { expireTime: null })
  await page.getByRole('button', { name: '2 warnings' }).waitFor()
})

test('the expiries of all projects are in a calendar, whose days lead to what ends then', async () => {
  const named = ['billing', 'payments']
  for (const name of named) await add(name, 3)
  await add('reports', 40)
  const page = await console_.open('/')
  /** The name of a day for screen readers; the browser and this process have the same time zone. */
  const dayIn = (days: number) => inDays(days).toLocaleDateString('en-US', { dateStyle: 'full' })
  await page.getByText('Calendar', { exact: true }).click()
  const calendar = page.getByRole('table', { name: 'Expiries' })
  await calendar.getByRole('button', { name: `2 on ${dayIn(3)}` }).click()
  const day = page.getByRole('region', { name: dayIn(3) })
  await expect.poll(() => day.evaluate('document.activeElement.ariaLabel')).toBe(dayIn(3))
  const links = named.map((name) => `${name}: ${name} key`)
  await expect.poll(() => day.getByRole('link').allTextContents()).toEqual(links)
  expect(await accessibilityViolations(page)).toEqual([])
  await page.getByRole('textbox', { name: 'Search projects' }).fill('reports')
  await day.waitFor({ state: 'detached' })
  expect(page.url()).toContain('view=calendar')
  // No warning is of a key that ends in 40 days.
  await page
    .getByRole('region', { name: dayIn(40) })
    .getByRole('link')
    .click()
  await page.getByRole('heading', { name: 'reports', exact: true }).waitFor()
})

test('a project is found by part of its name, and by its full name or id in any case', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `team-${index}`)
  for (const name of names) await client.projects.create({ name })
  const page = await console_.open('/')
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const search = page.getByRole('textbox', { name: 'Search projects' })
  await search.fill('eam-11')
  await link('team-119').waitFor()
  const teams = page.getByRole('link', { name: /^team-/ })
  const expected = Array.from({ length: 10 }, (_, index) => `team-11${index}`)
  await expect.poll(() => teams.allTextContents()).toEqual(['team-11', ...expected])
  const { id } = await client.projects.get('team-118')
  await search.fill(id.toUpperCase())
  await link('team-119').waitFor({ state: 'detached' })
  await link('team-118').waitFor()
  await search.fill('nowhere')
  await page.getByText('No projects match “nowhere”').waitFor()
  await page.getByText('To find a key by its kid, a log line or a token, use the search').waitFor()
  await search.fill('')
  await link('broken').waitFor()
})
