import type { Request } from 'playwright-core'
import { expect, test } from 'vitest'
import { searchTextOf } from '../../console/src/search/text.ts'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { privatePem } from '../support/keys/pem.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { rememberSecret } from '../support/secrets.ts'

const pair = keyFor('ES256')
const sent: Request[] = []

const console_ = await openConsole()
const { client } = console_
const projectId = (await client.projects.create({ name: 'shop' })).id
const { publicKeyPem } = pair
const kid = await console_.register(projectId, 'orders, spring', { publicKeyPem })
const key = await client.keys.get(projectId, kid)
await console_.register(projectId, 'orders, autumn')
const page = await console_.open('/')
page.on('request', (request) => sent.push(request))

const dialog = () => page.getByRole('dialog', { name: 'Search' })
const field = () => dialog().getByRole('combobox')
const options = () => dialog().getByRole('option')
async function openSearch(shortcut = '/') {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press(shortcut)
  await field().waitFor()
}
const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

test('the keyboard alone finds a key and opens it, and axe finds no fault', async () => {
  await heading('Projects').waitFor()
  await openSearch('Control+k')
  await page.keyboard.type('orders')
  await options().nth(1).waitFor()
  await expect.poll(() => options().first().getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowDown')
  const active = await field().getAttribute('aria-activedescendant')
  await expect
    .poll(() => page.locator(`[id="${active}"]`).textContent())
    .toBe(await options().nth(1).textContent())
  expect(await accessibilityViolations(page)).toEqual([])
  const label = (await options().nth(1).textContent()) ?? ''
  await page.keyboard.press('Enter')
  await heading(label.includes('spring') ? 'orders, spring' : 'orders, autumn').waitFor()
  await openSearch()
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
})

test('what no key has leads to the history, which still has deleted keys', async () => {
  await openSearch()
  await field().fill('kid=01990000-0000-7000-8000-000000000000')
  await dialog().getByRole('link', { name: 'the history' }).click()
  await heading('History').waitFor()
  expect(page.url()).toContain('subject=01990000-0000-7000-8000-000000000000')
  await dialog().waitFor({ state: 'detached' })
})

test('what is typed while the search is loading is kept', async () => {
  let load = () => {}
  const held = new Promise<void>((resolve) => {
    load = resolve
  })
  await page.route('**/assets/palette-*.js', async (route) => {
    await held
    await route.continue()
  })
  await page.reload()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.type('/ordes')
  await page.keyboard.press('Backspace')
  load()
  await page.keyboard.type('rs')
  await options().nth(1).waitFor()
  await expect.poll(() => field().inputValue()).toBe('orders')
  await page.unrouteAll({ behavior: 'wait' })
  await page.keyboard.press('Escape')
})

test('a key is found by its kid, label, thumbprint and hash, and a project by its name', async () => {
  await openSearch()
  const { thumbprint, spkiSha256 } = key.details
  for (const text of [kid, `…${kid.slice(-6)}`, 'spring', thumbprint, spkiSha256]) {
    await field().fill(text)
    await options().filter({ hasText: 'orders, spring' }).waitFor()
  }
  await field().fill('sho')
  await options().filter({ hasText: projectId }).waitFor()
  await field().fill('nothing of this name')
  await dialog().getByText('Nothing found for “nothing of this name”').waitFor()
  await page.keyboard.press('Escape')
})

test('an answer that comes late does not replace a newer one', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/v1/search?q=order&*', async (route) => {
    await held
    // The page may have cancelled the request by then.
    await route.continue().catch(() => {})
  })
  await openSearch()
  await field().fill('order')
  await page.waitForRequest('**/v1/search?q=order&*')
  await field().fill('shop')
  await options().filter({ hasText: projectId }).waitFor()
  release()
  await page.unrouteAll({ behavior: 'wait' })
  await expect.poll(() => options().count()).toBe(1)
  await page.keyboard.press('Escape')
})

test('of a token only the kid is sent, and of a private key nothing', async () => {
  const token = signToken(pair.privateKey, { alg: 'ES256', kid: kid }, { sub: 'alice' })
  rememberSecret('a token', token)
  sent.length = 0
  await openSearch()
  await field().fill(`Authorization: Bearer ${token}`)
  await dialog().getByText('The token stays in this browser.').waitFor()
  await options().filter({ hasText: 'orders, spring' }).waitFor()
  await field().fill(privatePem(pair))
  await dialog().getByText('This looks like a private key. It was not sent.').waitFor()
  await options().first().waitFor({ state: 'detached' })
  const searches = sent
    .map((request) => new URL(request.url()))
    .filter(({ pathname }) => pathname.endsWith('/search'))
  expect(searches.map(({ searchParams }) => searchParams.get('q'))).toEqual([kid])
  await dialog().getByRole('button', { name: 'Clear the field' }).click()
  await page.keyboard.press('Escape')
})

const header = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

test.each<[string, string]>([
  ['orders, spring', 'orders, spring'],
  [`{"level":"error","msg":"no key","kid":"orders-2026"}`, 'orders-2026'],
  [
    'time=12:00 level=warn kid=01a2203f-3744-7019-8c01-fe68a0d14723 rejected',
    '01a2203f-3744-7019-8c01-fe68a0d14723',
  ],
  [
    'trace=01a2203f-0000-7000-8000-000000000000 msg="auth failed" key=01a2203f-3744-7019-8c01-fe68a0d14723',
    '01a2203f-3744-7019-8c01-fe68a0d14723',
  ],
  ['req_id=7 key_id="orders-2026"', 'orders-2026'],
  ['the key of orders', 'the key of orders'],
  // Logs often leave the claims and the signature out.
  [`token ${header({ alg: 'ES256', kid: 'orders-2026' })}.[redacted]`, 'orders-2026'],
  [`${header({ alg: 'ES256' })}.e30.abc`, ''],
  ['eyJhbGciOiJFUzI1NiIs???', ''],
])('of %s, %j is searched for', (text, query) => {
  expect(searchTextOf(text).query).toBe(query)
})

test('a public key in PEM is searched for as it is', () => {
  expect(searchTextOf(publicKeyPem).query).toBe(publicKeyPem.trim())
})
