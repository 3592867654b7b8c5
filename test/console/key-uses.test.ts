import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'

const console_ = await openConsole()
const { client, server } = console_
const projectId = (await client.projects.get('default')).id
const kid = await console_.register(projectId, 'orders, spring')
const other = await console_.register(projectId, 'orders, autumn')
const inTime = (ms: number) => new Date(Date.now() + ms).toISOString()
await client.keyUses.report(projectId, {
  reporter: 'orders-api',
  uses: [{ kid, lastTime: inTime(-240_000), lastExp: inTime(3_600_000) }],
})
const fetchAs = (userAgent: string) =>
  fetch(`${server.url}/v1/projects/${projectId}/.well-known/jwks.json`, {
    headers: { 'user-agent': userAgent },
  })
await fetchAs('gateway/1')
await fetchAs('service/2')
const page = await console_.open(`/projects/${projectId}/keys`)
const seen = page.getByText(/Seen 4 minutes ago by orders-api; its last token ends at .* UTC\./)

test('the list of keys says which are in use, and never that one is unused', async () => {
  const row = (id: string) => page.locator(`tr[data-id="${id}"]`)
  await expect.poll(() => row(kid).textContent()).toContain('in use')
  await expect.poll(() => row(other).textContent()).toContain('use unknown')
})

test('the page of a key and the dialog that deactivates it say who has seen it', async () => {
  await console_.go(`/projects/${projectId}/keys/${kid}`)
  await seen.waitFor()
  await page.getByRole('button', { name: 'Deactivate' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Still in use').waitFor()
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await page.getByText('Who may still accept it').waitFor()
})

test('after the revocation it says who has fetched the key set since, as seen by this replica', async () => {
  await fetchAs('gateway/1')
  const table = page.getByRole('table', { name: 'Who has fetched the key set' })
  await expect
    .poll(() => table.getByRole('row', { name: /gateway\/1/ }).textContent())
    .toContain('has the set without it')
  await expect
    .poll(() => table.getByRole('row', { name: /service\/2/ }).textContent())
    .toContain('has an older set')
  await page
    .getByText(/As seen by this replica since .* It does not know verifiers behind a cache/)
    .waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
})
