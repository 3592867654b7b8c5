import { afterAll, beforeAll, expect, test } from 'vitest'
import { openConsole, phone, type TestConsole } from '../support/console/console.ts'
import { keyFor } from '../support/keys/tokens.ts'

const hostile = '<img src=x onerror=document.title=1>'
let console_: TestConsole
let projectId: string

beforeAll(async () => {
  console_ = await openConsole()
  const { client } = console_
  projectId = (await client.projects.create({ name: 'orders' })).id
  const { publicKeyPem } = keyFor('ES256')
  const key = { name: hostile, algorithm: 'ES256' as const, publicKeyPem }
  const { kid } = await client.keys.create(projectId, key)
  await client.keys.update(projectId, kid, { active: false })
  await client.keys.update(projectId, kid, { label: 'orders, spring' })
})
afterAll(() => console_.close())

test('each event of a project is a sentence, with its names rendered as text', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  await page.getByText(`Renamed key “${hostile}” to “orders, spring”`).waitFor()
  await page.getByText('Deactivated key “orders, spring”').waitFor()
  await page.getByText('Registered key “orders, spring”').waitFor()
  expect(await page.title()).not.toBe('1')
})

test('an event expands to its ids and hash with the keyboard', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  const [event] = await console_.client.events.list({ project: projectId, after: 1, limit: 1 })
  await page.locator('[data-revision="2"] button').first().focus()
  await page.keyboard.press('Enter')
  const text = await page.locator('[data-revision="2"]').textContent()
  await page.getByText(String(event?.hash)).waitFor()
  expect(text).toContain(event?.requestId)
  expect(text).toContain(event?.subject.id)
})

test('events are filtered by type, text and time', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  const shown = page.locator('[data-revision]')
  await shown.first().waitFor()
  expect(await shown.count()).toBe(4)
  await page.getByRole('combobox', { name: 'Event' }).click()
  await page.getByRole('option', { name: 'Key changed' }).click()
  expect(await shown.count()).toBe(2)
  await page.getByLabel('Search').fill('no such thing')
  await page.getByText('No matching events').waitFor()
  await page.getByLabel('Search').fill('spring')
  expect(await shown.count()).toBe(2)
  await page.getByLabel('Since').fill('2099-01-01T00:00')
  await page.getByText('No matching events').waitFor()
  await page.getByLabel('Since').fill('')
  await page.getByLabel('Until').fill('2001-01-01T00:00')
  await page.getByText('No matching events').waitFor()
})

test('new events appear in the open system ledger', async () => {
  const page = await console_.open('/ledger')
  await page.getByText('Created project “orders”').waitFor()
  await console_.client.apiKeys.create({ name: 'night watch', role: 'reader' })
  await page.getByText('Created API key “night watch”').waitFor()
})

test('new events appear in the open ledger of a project', async () => {
  const page = await console_.open(`/projects/${projectId}/history`)
  await page.locator('[data-revision]').first().waitFor()
  const { publicKeyPem } = keyFor('EdDSA')
  const key = { name: 'just now', algorithm: 'EdDSA' as const, publicKeyPem }
  await console_.client.keys.create(projectId, key)
  await page.getByText('Registered key “just now”').waitFor()
})

test('a long ledger is loaded in pages, newest first and without gaps', async () => {
  const { id } = await console_.client.projects.create({ name: 'long' })
  for (let turn = 0; turn < 60; turn += 1) {
    await console_.client.projects.rename(id, `long-${turn}`)
  }
  const page = await console_.open(`/projects/${id}/history`, phone)
  const shown = page.locator('[data-revision]')
  await shown.first().waitFor()
  expect(await shown.count()).toBe(50)
  await page.getByRole('button', { name: 'Load older events' }).click()
  await page.locator('[data-revision="1"]').waitFor()
  const revisions = await shown.evaluateAll((found) => found.map((each) => each.dataset.revision))
  expect(revisions).toEqual(Array.from({ length: 61 }, (_, index) => String(61 - index)))
})
