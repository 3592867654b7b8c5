import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { positionOf } from '../../packages/client/src/index.ts'
import { openConsole } from '../support/console/console.ts'

const hostile = '<img src=x onerror=document.title=1>'

const console_ = await openConsole()
const { client, go, register } = console_
const projectId = (await client.projects.create({ name: 'orders' })).id
const kid = await register(projectId, hostile)
await client.keys.update(projectId, kid, { active: false })
await client.keys.update(projectId, kid, { label: 'orders, spring' })
await register(projectId, 'short-lived', { expireTime: new Date(Date.now() + 700).toISOString() })
const page = await console_.open('/')

const history = (query = '', id = projectId) => `/projects/${id}/history${query}`
const shown = () => page.locator('[data-revision]')
const revisions = () =>
  shown().evaluateAll((found) => found.map((each) => Number(each.dataset.revision)))
/** The filters in the address of the page. */
const query = () => new URLSearchParams(new URL(page.url()).hash.split('?')[1])

test('each event is a sentence with the label as it was then, rendered as text', async () => {
  await go(history())
  await page.getByText(`Renamed key “${hostile}” to “orders, spring”`).waitFor()
  await page.getByText(`Deactivated key “${hostile}”`).waitFor()
  await page.getByText(`Registered key “${hostile}”`).waitFor()
  const zone = await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone')
  await page.getByText(`Times are in ${zone}.`).waitFor()
  expect(await page.title()).not.toBe('1')
})

test.each(['a project', 'the registry'])(
  'the ledger of %s is followed from an event, whose number another history may have',
  async (ledger) => {
    const { id } = await client.projects.create({ name: `followed-${Date.now()}` })
    const followed = page.waitForRequest((request) => 'last-event-id' in request.headers())
    await go(ledger === 'a project' ? history('', id) : '/history')
    const position = (await followed).headers()['last-event-id']
    const scope = ledger === 'a project' ? { project: id } : {}
    const [newest] = await client.events.list({ ...scope, order: 'desc', limit: 1 })
    expect(position).toBe(newest && positionOf(newest))
  },
)

test('a period of whole days is chosen by its name', async () => {
  await go(history())
  const period = page.getByRole('group', { name: 'Time' })
  const midnight = (daysAgo: number) =>
    page.evaluate<string>(`{
      const now = new Date()
      new Date(now.getFullYear(), now.getMonth(), now.getDate() - ${daysAgo}).toISOString()
    }`)
  await period.getByRole('button', { name: 'Yesterday' }).click()
  await page.getByText('No matching events').waitFor()
  const [from, to] = [await midnight(1), await midnight(0)]
  expect(Object.fromEntries(query())).toEqual({ from, to })
  await period.getByRole('button', { name: 'Last 7 days' }).click()
  await page.getByText(`Registered key “${hostile}”`).waitFor()
  expect(Object.fromEntries(query())).toEqual({ from: await midnight(7) })
})

test('the history counts its entries per day', async () => {
  await go(history())
  await shown().first().waitFor()
  const count = await page.locator('.entries > li').count()
  const today = new Date().toLocaleDateString('en-US', { dateStyle: 'full' })
  const calendar = page.getByRole('table', { name: 'Entries per day' })
  await calendar.getByRole('button', { name: `${count} on ${today}` }).click()
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe(today)
})

test('a search that is not finished has found none so far, and can go on', async () => {
  const events = `**/v1/projects/${projectId}/events?*`
  const link = `</v1/projects/${projectId}/events?before=2>; rel="next"`
  await page.route(events, (route) => route.fulfill({ json: [], headers: { link } }))
  await go(history('?type=key.deleted'))
  await page.getByText('None so far').waitFor()
  await page.unroute(events)
  await page.getByRole('button', { name: 'Load older events' }).click()
  await page.getByText('No matching events').waitFor()
  await page.getByText('Change the filters.').waitFor()
})

test('an event expands with the keyboard to its ids and exact time, and leads to its key’s', async () => {
  await go(history())
  const [event] = await client.events.list({ project: projectId, after: 2, limit: 1 })
  const entry = page.locator('[data-revision="3"]')
  await entry.getByRole('button').first().focus()
  await page.keyboard.press('Enter')
  await page.getByText(String(event?.hash)).waitFor()
  const text = await entry.textContent()
  for (const part of [event?.requestId, kid, event?.actor.apiKeyId, event?.time]) {
    expect(text).toContain(part)
  }
  await entry.getByRole('button', { name: 'All events of this key' }).click()
  await page.locator('[data-revision="5"]').waitFor({ state: 'detached' })
  expect(await revisions()).toEqual([4, 3, 2])
  expect(query().get('subject')).toBe(kid)
})

test('who deactivated a key, and when, is found in the whole ledger by filters in the address', async () => {
  const { id } = await client.projects.create({ name: 'long' })
  for (let turn = 0; turn < 60; turn += 1) await client.projects.rename(id, `long-${turn}`)
  await go(history('', id))
  await page.getByText('The newest 50 entries').waitFor()
  await page.getByRole('button', { name: 'Load older events' }).click()
  await page.locator('[data-revision="1"]').waitFor()
  expect(await revisions()).toEqual(Array.from({ length: 61 }, (_, index) => 61 - index))
  await page.getByRole('combobox', { name: 'Events' }).click()
  await page.getByRole('option', { name: 'Project created' }).click()
  await page.keyboard.press('Escape')
  await page.getByText('1 matching entry').waitFor()
  expect(await revisions()).toEqual([1])

  await go(history())
  await page.getByRole('combobox', { name: 'Key' }).fill('orders, spring')
  await page.getByText('3 matching entries').waitFor()
  await page.getByRole('combobox', { name: 'Actor' }).fill('no such actor')
  await page.getByText('No matching events').waitFor()
  await page.getByRole('combobox', { name: 'Actor' }).fill('first admin')
  await page.getByText('3 matching entries').waitFor()
  expect(Object.fromEntries(query())).toEqual({ subject: kid, actor: 'first admin' })
  // A colleague opens the same address.
  await page.reload()
  await page.getByText('3 matching entries').waitFor()
  await page.getByLabel('From (local').fill('2099-01-01T00:00')
  await page.getByText('No matching events').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByLabel('To (local').fill('2001-01-01T00:00')
  await page.getByText('No matching events').waitFor()
})

test('what matches in a project is exported as JSON lines', async () => {
  await go(history(`?subject=${kid}&type=key.updated`))
  await page.getByText('2 matching entries').waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.getByRole('menuitem', { name: 'The events that match' }).click()
  const file = await download
  expect(file.suggestedFilename()).toBe('orders-history.jsonl')
  const lines = (await readFile(await file.path(), 'utf8')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).revision)).toEqual([4, 3])
})

test('new events appear in the open ledgers of a project and of the system', async () => {
  await go(history())
  await shown().first().waitFor()
  await register(projectId, 'just now')
  await page.getByText('Registered key “just now”').waitFor()
  await go('/history')
  await page.getByRole('heading', { name: 'History' }).waitFor()
  await shown().first().waitFor()
  await client.apiKeys.create({ name: 'night watch', role: 'reader' })
  await page.getByText('Created API key “night watch”').waitFor()
})

test('the history of all has every ledger, by project, type, subject and time, and is exported', async () => {
  await go('/history')
  await page.getByText(/^Registered key “just now”/).waitFor()
  await page.getByText('Created API key “night watch”').waitFor()
  await page.getByRole('button', { name: 'Load older events' }).click()
  await page.getByText('Renamed project “long-24” to “long-25”').first().waitFor()
  await page.getByRole('combobox', { name: 'Project' }).fill('orders')
  await page.getByText('The ledger of orders').or(page.getByText('Not in the log yet')).waitFor()
  await page.getByText('Created API key “night watch”').waitFor({ state: 'detached' })
  // With one project, expiries are known too.
  await page.locator('[data-expiry]').getByText('Key “short-lived” expired').waitFor()
  await page.getByText('by the end that first admin').waitFor()
  await expect.poll(() => page.locator('[data-revision="2"]').textContent()).toContain('orders #2')
  await page.locator('[data-revision="3"]').getByRole('button').first().click()
  await page.getByRole('button', { name: 'All events of this key' }).click()
  await page.getByText('3 matching entries').waitFor()
  expect(Object.fromEntries(query())).toEqual({ subject: kid })
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.getByRole('menuitem', { name: 'The events that match' }).click()
  expect((await download).suggestedFilename()).toBe('all-history.jsonl')
  const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n')
  const events = lines.map((line) => JSON.parse(line))
  expect(events.map((each) => [each.projectId, each.revision])).toEqual(
    [4, 3, 2].map((revision) => [projectId, revision]),
  )
  await page.getByRole('combobox', { name: 'Events' }).click()
  await page.getByRole('option', { name: 'Key registered' }).click()
  await page.keyboard.press('Escape')
  await page.getByText('1 matching entry').waitFor()
  await page.getByLabel('To (local').fill('2001-01-01T00:00')
  await page.getByText('No matching events').waitFor()
  await go('/history?person=nobody')
  await page.getByText('No matching events').waitFor()
})

test('the history of a key has its rotations', async () => {
  const [from, to] = [await register(projectId, 'summer'), await register(projectId, 'autumn')]
  const { id } = await client.rotations.start(projectId, { from, to, tokenLifetime: 60 })
  for (const each of [from, to]) {
    await go(`/projects/${projectId}/keys/${each}`)
    const entries = page.getByRole('region', { name: 'History' })
    await entries.getByText('Started rotation of key “summer” to “autumn”').waitFor()
  }
  await go(`/projects/${projectId}/keys/${from}`)
  await page.getByText('It has no expiry time. A rotation replaces it.').waitFor()
  await client.rotations.abandon(projectId, id)
  await page.getByText('Abandoned rotation of key “summer”').waitFor()
})
