import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { ecKey } from '../support/keys/pem.ts'

const console_ = await openConsole()
const { client } = console_
const add = async (name: string, days?: number) => {
  const { id } = await client.projects.create({ name })
  const { publicKeyPem } = ecKey()
  const expireTime = new Date(Date.now() + (days ?? 0) * 86_400_000).toISOString()
  const key = { name: `${name} key`, algorithm: 'ES256' as const, publicKeyPem }
  const { kid } = await client.keys.create(id, { ...key, ...(days && { expireTime }) })
  return { id, kid }
}
const calm = await add('calm')
const { publicKeyPem } = ecKey()
const successor = { name: 'successor', algorithm: 'ES256' as const, publicKeyPem }
const { kid: to } = await client.keys.create(calm.id, successor)
await client.rotations.start(calm.id, { from: calm.kid, to, tokenLifetime: 60 })
const soon = await add('next-week', 5)
await add('next-month', 29)
const broken = await add('broken')
await client.keys.update(broken.id, broken.kid, { active: false })

test('a name that another project gave up is taken once that is confirmed', async () => {
  const page = await console_.open('/')
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
  const page = await console_.open('/')
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('default')
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByText('project_name_taken', { exact: true }).waitFor()
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('default')
  await page.getByRole('textbox', { name: 'Name' }).fill('orders')
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'orders' }).waitFor()
  const { id } = await console_.client.projects.get('orders')
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
  await expect(console_.client.projects.get(id)).rejects.toMatchObject({ status: 404 })
})

test('what breaks first comes first, the bell counts it, and a warning leads to its key', async () => {
  const { client } = console_
  const page = await console_.open('/')
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
  expect(await figures.allTextContents()).toContain('project has keys, but no active one')
  const rotation = page.getByRole('link', { name: '1 under way' })
  expect(await rotation.getAttribute('href')).toBe(`#/projects/${calm.id}`)
  expect(await accessibilityViolations(page)).toEqual([])
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await expect.poll(async () => (await names())[0]).toBe('broken')
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await expect.poll(async () => (await names()).at(-1)).toBe('broken')

  await page.getByRole('button', { name: '3 warnings' }).click()
  expect(await accessibilityViolations(page)).toEqual([])
  await page.getByRole('menuitem', { name: /next-week key · next-week/ }).click()
  await page.getByRole('heading', { name: 'next-week key' }).waitFor()
  expect(page.url()).toContain(`/projects/${soon.id}/keys/${soon.kid}`)
  // It is mended, and the bell says so on the next page.
  await client.keys.update(soon.id, soon.kid, { expireTime: null })
  await page.getByRole('button', { name: '2 warnings' }).waitFor()
})

test('a project is found by part of its name, and by its full name or id in any case', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `team-${index}`)
  for (const name of names) await console_.client.projects.create({ name })
  const page = await console_.open('/')
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const search = page.getByRole('textbox', { name: 'Search projects' })
  await search.fill('eam-11')
  await link('team-119').waitFor()
  expect(await page.getByRole('link', { name: /^team-/ }).allTextContents()).toEqual([
    'team-11',
    ...Array.from({ length: 10 }, (_, index) => `team-11${index}`),
  ])
  const { id } = await console_.client.projects.get('team-118')
  await search.fill(id.toUpperCase())
  await link('team-119').waitFor({ state: 'detached' })
  await link('team-118').waitFor()
  await search.fill('nowhere')
  await page.getByText('No projects match “nowhere”').waitFor()
  await page.getByText('To find a key by its kid, a log line or a token, use the search').waitFor()
  await search.fill('')
  await link('broken').waitFor()
})
