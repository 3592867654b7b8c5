import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noteBackup } from '../../packages/server/src/kernel/storage/sqlite/file.ts'
import { readVersion } from '../../packages/server/src/runtime/version.ts'
import { openConsole, openStranger, phone } from '../support/console/console.ts'

const console_ = await openConsole()
const file = join(console_.server.folder, 'data/pubring.db')
const page = await console_.open('/status')
/** The text of the figure or fact with this name. */
const textOf = (name: string) =>
  page.getByRole('main').getByText(name, { exact: true }).locator('..').textContent()

test('the status of a service that works, with what it runs on, its last backup and its followers', async () => {
  await page.getByText('none by pubring backup').waitFor()
  expect(await textOf('Key sets')).toContain('Fresh')
  expect(await textOf('Changes')).toContain('Accepted')
  expect(await textOf('Version')).toContain(readVersion())
  expect(await textOf('Database')).toContain('SQLite')
  noteBackup(file)
  const keySet = `${console_.server.url}/v1/projects/default/.well-known/jwks-full.json`
  await fetch(keySet, { headers: { 'user-agent': 'pubring-follow (edge-1)' } })
  await page
    .getByRole('region', { name: /^Followers/ })
    .getByText(/^None since/)
    .waitFor()
  await page.reload()
  await page.getByRole('cell', { name: 'edge-1' }).waitFor()
  await page
    .getByText(/seconds? ago|now/)
    .first()
    .waitFor()
  expect(await page.getByText('none by pubring backup').count()).toBe(0)
  for (const [name, heading] of [
    ['API reference', 'Pubring'],
    ['Errors, and what to do', 'Errors'],
  ] as const) {
    const href = await page.getByRole('link', { name }).getAttribute('href')
    const answer = await fetch(new URL(String(href), `${console_.server.url}/console/`))
    expect(await answer.text()).toContain(heading)
  }
})

test('without its database it says that changes fail and which keys verifiers get, until it is back', async () => {
  renameSync(file, `${file}.away`)
  await page.getByText('storage', { exact: true }).first().waitFor()
  expect(await textOf('Changes')).toContain('Rejected')
  renameSync(`${file}.away`, file)
  await page.getByText('by the database').waitFor()
  expect(await textOf('Key sets')).toContain('Fresh')
})

test('the page of errors fits a phone', async () => {
  const errors = await openStranger(console_, phone)
  await errors.goto(`${console_.server.url}/docs/errors#weak_key`)
  expect(await errors.evaluate('document.documentElement.scrollWidth > screen.width')).toBe(false)
})
