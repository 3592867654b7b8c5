import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import {
  accessibilityViolations,
  openConsole,
  phone,
  type TestConsole,
} from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { rememberSecret } from '../support/secrets.ts'

const pair = keyFor('ES256')
let console_: TestConsole
let projectId: string
let kid: string
let emptyId: string

beforeAll(async () => {
  console_ = await openConsole({
    PUBRING_OIDC_ISSUER: 'https://id.example.com',
    PUBRING_OIDC_CLIENT_ID: 'pubring',
  })
  const { client } = console_
  projectId = (await client.projects.get('default')).id
  const kids: string[] = []
  for (const name of ['orders, spring', 'orders, autumn']) {
    const { publicKeyPem } = name === 'orders, autumn' ? pair : keyFor('ES256')
    kids.push((await client.keys.create(projectId, { name, algorithm: 'ES256', publicKeyPem })).kid)
  }
  emptyId = (await client.projects.create({ name: 'empty' })).id
  const [inactive = '', active = ''] = kids
  kid = active
  await client.keys.update(projectId, inactive, { active: false })
  const { id } = await client.apiKeys.create({ name: 'revoked', role: 'reader' })
  await client.apiKeys.update(id, { active: false })
  const { apiKey } = await client.apiKeys.create({ name: 'pipeline', role: 'reader' })
  rememberSecret('an API key', apiKey)
  await createClient({ url: client.url, apiKey }).sessions.create()
  await client.accessRules.create({
    for: 'workloads',
    name: 'orders, deploy',
    issuer: 'https://token.actions.githubusercontent.com',
    conditions: { repository_id: '74', ref: 'refs/heads/main' },
    role: 'registrar',
    project: projectId,
  })
  await client.accessRules.create({
    for: 'people',
    name: 'platform',
    conditions: { groups: 'platform' },
    role: 'writer',
    project: projectId,
  })
})

/** Every page, with its title. */
const pages = (): Record<string, string> => ({
  '/': 'Projects',
  [`/projects/${projectId}/keys`]: 'Keys · default',
  [`/projects/${projectId}/timeline`]: 'Timeline · default',
  [`/projects/${projectId}/timeline?view=table`]: 'Timeline · default',
  [`/projects/${projectId}/keys/${kid}`]: 'orders, autumn · default',
  [`/projects/${projectId}/keys/${projectId}`]: 'Key not found · default',
  [`/projects/${projectId}/connect`]: 'Connect · default',
  [`/projects/${projectId}/verify`]: 'Check a token · default',
  [`/projects/${projectId}/history`]: 'History · default',
  [`/projects/${projectId}/rotate/${kid}`]: 'Rotate “orders, autumn” · default',
  '/api-keys': 'API keys',
  '/access-rules': 'Access rules',
  '/people': 'People',
  '/sessions': 'Sessions',
  '/ledger': 'Ledger',
  '/no-such-page': 'Page not found',
})

async function go(page: Page, route: string): Promise<void> {
  await page.goto(`${console_.server.url}/console/#${route}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
}

const menuItem = (name: string) => (page: Page) => page.getByRole('menuitem', { name }).click()
const press = (name: string) => (page: Page) => page.getByRole('button', { name }).click()
const inMenu = (menu: string, item: string) => [press(menu), menuItem(item)]
type Step = (page: Page) => Promise<unknown>
const forPeople: Step = (page) => page.getByText('People', { exact: true }).last().click()

/** Every menu, dialog and form with an error: its page and what opens it. */
const open = (): [name: string, route: string, ...steps: Step[]][] => {
  const keys = `/projects/${projectId}/keys`
  const autumn = 'Actions for orders, autumn'
  const spring = 'Actions for orders, spring'
  const error = (page: Page) => page.getByText('It was not sent.').waitFor()
  return [
    ['the account menu', '/', press('Signed in as API key')],
    ['a new project', '/', press('New project')],
    ['the menu of a project', keys, press('Project actions')],
    ['renaming a project', keys, ...inMenu('Project actions', 'Rename')],
    ['the menu of an active key', keys, press(autumn)],
    ['the menu of an inactive key', keys, press(spring)],
    ['renaming a key', keys, ...inMenu(autumn, 'Rename')],
    ['the expiry of a key', keys, ...inMenu(autumn, 'Set expiry')],
    ['deactivating a key', keys, press('Deactivate orders, autumn')],
    ['activating a key', keys, press('Activate orders, spring')],
    ['deleting a key', keys, ...inMenu(spring, 'Delete')],
    [
      'an error in a field',
      keys,
      press('Register a key'),
      (page) => page.getByLabel('Label').fill(`pubring_${'a'.repeat(49)}`),
      error,
    ],
    [
      'a filter of the history',
      `/projects/${projectId}/history`,
      (page) => page.getByRole('combobox', { name: 'Events' }).click(),
    ],
    ['a new API key', '/api-keys', press('New API key')],
    ['a new access rule', '/access-rules', press('New rule')],
    ['the menu of an access rule', '/access-rules', press('Actions for orders, deploy')],
    ['a rule for people', '/access-rules', press('New rule'), forPeople],
    ['editing an access rule', '/access-rules', press('Edit platform')],
    ['a check of a token', '/access-rules', ...inMenu('Actions for orders, deploy', 'Check')],
    ['deactivating a rule', '/access-rules', ...inMenu('Actions for orders, deploy', 'Deactivate')],
    ['deleting a rule', '/access-rules', ...inMenu('Actions for orders, deploy', 'Delete')],
    ['ending a session', '/sessions', ...inMenu('Actions for pipeline', 'End session')],
    ['the menu of an API key', '/api-keys', press('Actions for revoked')],
    ['editing an API key', '/api-keys', press('Edit revoked')],
    ['reactivating an API key', '/api-keys', ...inMenu('Actions for revoked', 'Reactivate')],
    ['deleting a project', `/projects/${emptyId}`, ...inMenu('Project actions', 'Delete')],
    ['deleting an API key', '/api-keys', ...inMenu('Actions for revoked', 'Delete')],
    [
      'the suggestions of projects',
      '/api-keys',
      press('New API key'),
      (page) => page.getByRole('combobox', { name: 'Project' }).click(),
      (page) => page.getByRole('option', { name: 'default' }).waitFor(),
    ],
  ]
}

test('axe finds no fault on any page, and each has its title', async () => {
  const page = await console_.open('/')
  const faults: Record<string, string[]> = {}
  for (const [route, title] of Object.entries(pages())) {
    await go(page, route)
    expect(await page.title()).toBe(`${title} · Pubring`)
    const found = await accessibilityViolations(page)
    if (found.length > 0) faults[route] = found
  }
  expect(faults).toEqual({})
})

const opened = '[role=menu], [role=dialog], [role=listbox]'

test('axe finds no fault in any menu, dialog and error', async () => {
  const page = await console_.open('/')
  const faults: Record<string, string[]> = {}
  for (const [name, route, ...steps] of open()) {
    await go(page, route)
    for (const step of steps) await step(page)
    await page.locator(opened).filter({ visible: true }).first().waitFor()
    const found = await accessibilityViolations(page, opened)
    if (found.length > 0) faults[name] = found
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.locator('[role=menu], [role=dialog]').first().waitFor({ state: 'detached' })
  }
  expect(faults).toEqual({})
})

test('axe finds no fault in the report of a token', async () => {
  const page = await console_.open(`/projects/${projectId}/verify`)
  for (const signer of [pair.privateKey, keyFor('ES256').privateKey]) {
    const token = signToken(signer, { alg: 'ES256', kid }, { iat: 1 })
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByRole('button', { name: 'Check token' }).click()
    await page.locator('[data-step]').first().waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
  }
})

/** The focused element: its role or tag, and its name or text. */
const focused = (page: Page) =>
  page.evaluate<string>(`{
    const { activeElement: each } = document
    const name = each.getAttribute('aria-label') ?? each.textContent
    ;(each.getAttribute('role') ?? each.tagName.toLowerCase()) + ': ' + name
  }`)

test('the focus returns after dialogs and menus, and stays after changes of tab and page', async () => {
  const page = await console_.open(`/projects/${projectId}/keys`)
  const pressKeys = async (...names: string[]) => {
    for (const name of names) await page.keyboard.press(name)
  }
  const expectFocus = (expected: string) => expect.poll(() => focused(page)).toBe(expected)
  await page.getByRole('button', { name: 'Register a key' }).focus()
  await pressKeys('Enter')
  await page.getByRole('dialog').waitFor()
  await pressKeys('Escape')
  await expectFocus('button: Register a key')
  const spring = 'Actions for orders, spring'
  const choose = async (item: string) => {
    await pressKeys('Enter')
    // A menu focuses its first item a moment after it is shown.
    await page.locator('[role=menuitem]:focus').waitFor()
    await page.getByRole('menuitem', { name: item }).focus()
    await pressKeys('Enter')
  }
  for (const item of ['Rename', 'Delete']) {
    await page.getByRole('button', { name: spring }).focus()
    await choose(item)
    await page.getByRole('dialog').waitFor()
    await pressKeys('Escape')
    await expectFocus(`button: ${spring}`)
  }
  // The row is gone, and with it what opened the dialog.
  await choose('Delete')
  await page.getByRole('button', { name: 'Delete permanently' }).focus()
  await pressKeys('Enter')
  await expectFocus('h1: default')
  await page.getByRole('tab', { name: 'Keys' }).focus()
  for (const name of ['Timeline', 'Connect', 'Check a token', 'History']) {
    await pressKeys('ArrowRight')
    await page.getByRole('tab', { name, selected: true }).waitFor()
    await page.getByRole('tabpanel', { name, exact: true }).waitFor()
    await expectFocus(`tab: ${name}`)
  }
  await page.getByRole('link', { name: 'API keys' }).focus()
  await pressKeys('Enter')
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  await expectFocus('a: API keys')
  await page.goto(`${console_.server.url}/console/#/projects/${projectId}/keys`)
  await page.getByRole('link', { name: 'Rotate orders, autumn' }).click()
  await expectFocus('h1: Rotate “orders, autumn”')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expectFocus('h1: default')
})

test('no page is wider than a phone', async () => {
  const page = await console_.open('/', phone)
  for (const route of Object.keys(pages())) {
    await go(page, route)
    const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(wide, route).toBeLessThanOrEqual(0)
  }
})

test('the list of keys loads at most 200 kB of JavaScript, and nothing violates the rule', async () => {
  const page = await console_.open(`/projects/${projectId}/keys`)
  // Code of dialogs is loaded a second after the page, which a busy machine may take to load.
  await page.addInitScript(`{
    const { setTimeout } = window
    window.setTimeout = (run, ms, ...rest) => (ms === 1000 ? 0 : setTimeout(run, ms, ...rest))
  }`)
  await page.reload()
  await page.locator('tr[data-id]').first().waitFor()
  const files = await page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))`,
  )
  const sizes = files.map(async (file) => {
    const response = await fetch(file, { headers: { 'accept-encoding': 'br' } })
    expect(response.headers.get('content-encoding')).toBe('br')
    return Number(response.headers.get('content-length'))
  })
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  expect(total).toBeGreaterThan(50_000)
  expect(total).toBeLessThanOrEqual(200_000)
})
