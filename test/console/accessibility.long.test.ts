import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { spanStates } from '../../console/src/timeline/spans.ts'
import { type Client, createClient } from '../../packages/client/src/index.ts'
import {
  accessibilityViolations,
  loadedScripts,
  openConsole,
  phone,
  type TestConsole,
} from '../support/console/console.ts'
import { layoutFaults, longLabel, looksDifferent } from '../support/console/layout.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { rememberSecret } from '../support/secrets.ts'

const pair = keyFor('ES256')
let console_: TestConsole
let projectId: string
let kid: string
let ended: string
let emptyId: string
let rotatingId: string

beforeAll(async () => {
  console_ = await openConsole({
    PUBRING_OIDC_ISSUER: 'https://id.example.com',
    PUBRING_OIDC_CLIENT_ID: 'pubring',
  })
  const { client } = console_
  projectId = (await client.projects.get('default')).id
  ended = await console_.register(projectId, 'orders, spring')
  const { publicKeyPem } = pair
  kid = await console_.register(projectId, 'orders, autumn', { publicKeyPem })
  emptyId = (await client.projects.create({ name: 'empty' })).id
  rotatingId = await createRotation(client)
  await client.keys.update(projectId, ended, { active: false })
  // It is named on the page of a key that has ended.
  await fetch(`${console_.server.url}/v1/projects/${projectId}/.well-known/jwks.json`)
  await client.apiKeys.create({ name: `pipelines-of-${'everything-'.repeat(9)}`, role: 'reader' })
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

/** A project with a rotation under way, two keys of one label, and a label without a space. */
async function createRotation(client: Client): Promise<string> {
  const { id } = await client.projects.create({ name: 'rotating' })
  const register = (name: string) => console_.register(id, name)
  const from = await register('payments')
  await client.rotations.start(id, { from, to: await register('payments'), tokenLifetime: 3_600 })
  await register('a-label-without-any-space-that-names-a-service-and-its-environment')
  const expireTime = new Date(Date.now() + 40 * 86_400_000).toISOString()
  await console_.register(id, longLabel, { expireTime })
  return id
}

/** Every page, with its title. */
const pages = (): Record<string, string> => ({
  '/': 'Projects',
  '/?view=calendar': 'Projects',
  [`/projects/${projectId}/keys`]: 'Keys · default',
  [`/projects/${rotatingId}/keys`]: 'Keys · rotating',
  [`/projects/${projectId}/timeline`]: 'Timeline · default',
  [`/projects/${projectId}/timeline?view=table`]: 'Timeline · default',
  [`/projects/${projectId}/timeline?from=2026-01-05&to=2026-01-07`]: 'Timeline · default',
  [`/projects/${projectId}/keys/${kid}`]: 'orders, autumn · default',
  [`/projects/${projectId}/keys/${ended}`]: 'orders, spring · default',
  [`/projects/${projectId}/keys/${projectId}`]: 'Key not found · default',
  [`/projects/${projectId}/connect`]: 'Connect · default',
  [`/projects/${projectId}/verify`]: 'Check a token · default',
  [`/projects/${projectId}/history`]: 'History · default',
  [`/projects/${projectId}/rotate/${kid}`]: 'Rotate “orders, autumn” · default',
  '/api-keys': 'API keys',
  '/access-rules': 'Access rules',
  '/people': 'People',
  '/sessions': 'Sessions',
  '/history': 'History',
  '/status': 'Status',
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

/** What depends on a measured width is drawn some frames after a change of the width. */
const frames = `new Promise((drawn) => {
  const wait = (count) => (count === 0 ? drawn() : requestAnimationFrame(() => wait(count - 1)))
  wait(4)
})`

const widths = [320, 390, 768, 992, 1_024, 1_100, 1_280, 1_440]

/** The faults of the layout at these widths. */
async function faultsAt(page: Page, ...all: number[]): Promise<string[]> {
  const faults: string[] = []
  for (const width of all) {
    await page.setViewportSize({ width, height: 800 })
    await page.evaluate(frames)
    faults.push(...(await layoutFaults(page)).map((fault) => `at ${width}: ${fault}`))
  }
  return faults
}

test('each page has its title, no fault that axe finds, and at no width anything cut off or on top of something', async () => {
  const page = await console_.open('/')
  const faults: Record<string, string[]> = {}
  for (const [route, title] of Object.entries(pages())) {
    await go(page, route)
    expect(await page.title()).toBe(`${title} · Pubring`)
    const found = [...(await accessibilityViolations(page)), ...(await faultsAt(page, ...widths))]
    if (found.length > 0) faults[route] = found
  }
  expect(faults).toEqual({})
  await go(page, `/projects/${rotatingId}/keys`)
  await page.getByRole('button', { name: `Deactivate ${longLabel}` }).click()
  await page.getByRole('dialog').getByRole('group', { name: 'The key' }).waitFor()
  // The page is behind the dialog.
  const inDialog = (await faultsAt(page, 360, 900)).filter((fault) => !fault.includes(' overlaps '))
  expect(inDialog).toEqual([])
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

test('the buttons of a long form stay above what scrolls below them', async () => {
  const page = await console_.open('/access-rules', {
    ...phone,
    viewport: { width: 390, height: 700 },
  })
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByRole('dialog').getByLabel('Name').waitFor()
  const covering = await page.evaluate<string[]>(`{
    const bar = document.querySelector('.form-actions')
    const scrolled = bar.closest('.mantine-Modal-content')
    const found = new Set()
    for (let top = 0; top < scrolled.scrollHeight; top += 40) {
      scrolled.scrollTop = top
      const { left, right, top: start, bottom } = bar.getBoundingClientRect()
      for (let x = left + 1; x < right; x += 20) {
        for (let y = start + 1; y < Math.min(bottom, innerHeight); y += 10) {
          const element = document.elementFromPoint(x, y)
          if (!bar.contains(element)) found.add(element.className)
        }
      }
    }
    ;[...found]
  }`)
  expect(covering).toEqual([])
})

test('on a phone, the buttons of a form stay beside each other', async () => {
  const { client } = console_
  const { id } = await client.projects.create({ name: 'leaked' })
  const leaked = await console_.register(id, 'leaked')
  const expireTime = new Date(Date.now() + 86_400_000).toISOString()
  await client.keys.update(id, leaked, { expireTime, reason: 'compromised' })
  const page = await console_.open(`/projects/${id}/keys/${leaked}`, phone)
  await press('Replace and revoke now')(page)
  const buttons = ['Cancel', 'Replace and revoke now'].map((name) =>
    page.getByRole('dialog').getByRole('button', { name }),
  )
  const [cancel, replace] = await Promise.all(buttons.map((each) => each.boundingBox()))
  expect(replace?.y).toBe(cancel?.y)
})

test('on a card, the buttons of a long form hide what scrolls below them, and waiting fields are readable', async () => {
  const page = await console_.open(`/projects/${projectId}/rotate/${kid}`)
  await page.getByRole('button', { name: 'Register key' }).waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    const [bar, card, opacity] = await page.evaluate<string[]>(`{
      const look = (selector) => getComputedStyle(document.querySelector(selector))
      const parts = ['.form-actions', '.mantine-Card-root'].map((each) => look(each).backgroundColor)
      ;[...parts, look('input:disabled').opacity]
    }`)
    expect([bar, opacity]).toEqual([card, '1'])
  }
})

test('a tooltip is not wider than the window', async () => {
  const page = await console_.open(`/projects/${projectId}/keys`)
  await page.setViewportSize({ width: 320, height: 800 })
  await page.locator('main time').first().hover()
  await page.getByRole('tooltip').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
})

test('axe finds no fault in lists of a phone, without warnings', async () => {
  const page = await console_.open('/no-such-page', phone)
  await page.route('**/v1/warnings*', (route) => route.fulfill({ json: [] }))
  await page.reload()
  for (const route of ['/', `/projects/${rotatingId}/keys`, '/api-keys']) {
    await go(page, route)
    expect(await accessibilityViolations(page), route).toEqual([])
  }
  await page.getByRole('button', { name: 'No warnings' }).click()
  await page.locator('[role=menu]').waitFor()
  expect(await accessibilityViolations(page, '[role=menu]')).toEqual([])
  const item = "document.querySelector('[role=menuitem]:disabled')"
  expect(await page.evaluate(`getComputedStyle(${item}).opacity`)).toBe('1')
})

test('the controls of keys with one label have names of their own', async () => {
  const page = await console_.open(`/projects/${rotatingId}/keys`)
  await page.locator('tr[data-id]').first().waitFor()
  const names = await page.evaluate<string[]>(
    `[...document.querySelectorAll('tr[data-id] :is(a, button, input)[aria-label]')].map((each) => each.ariaLabel)`,
  )
  expect(names.length).toBeGreaterThan(9)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('on a slow network the page says that it is loading before its code has come', async () => {
  const page = await console_.open('/')
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  const speed = { downloadThroughput: 50_000, uploadThroughput: 50_000, latency: 400 }
  await session.send('Network.emulateNetworkConditions', { offline: false, ...speed })
  await page.reload({ waitUntil: 'commit' })
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' })
  const shown = await page.evaluate<string[]>(`[
    ...performance.getEntriesByName('first-contentful-paint').map(({ startTime }) => [startTime, 'text']),
    ...performance.getEntriesByType('resource').map(({ name, responseEnd }) => [
      responseEnd, /(?:index|base|render)-.*.(js|css)$/.exec(name)?.[1],
    ]),
  ].filter(([, what]) => what).sort(([a], [b]) => a - b).map(([, what]) => what)`)
  expect(shown[0]).toBe('text')
  expect([...new Set(shown)].sort()).toEqual(['css', 'js', 'text'])
})

test('with forced colors, states and selections are seen', async () => {
  const options = { forcedColors: 'active' } as const
  const page = await console_.open(`/projects/${projectId}/timeline`, options)
  await page.locator('.chart-span').first().waitFor()
  const unseen: string[] = []
  const expectSeen = async (selector: string, change: string) => {
    if (!(await looksDifferent(page, selector, change))) unseen.push(`${selector} ${change}`)
  }
  const hide = (each: string) => `element.querySelector('${each}').style.visibility = 'hidden'`
  const unselect = (attribute: string) => `element.removeAttribute('${attribute}')`
  for (const each of ['.chart-event', '.chart-now', '.chart-span']) {
    await expectSeen('.chart-track', hide(each))
  }
  const colors = await page.evaluate<string[]>(`{
    const rules = [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules])
    const names = rules.flatMap(({ style = [] }) => [...style]).filter((name) => name.startsWith('--span-'))
    const look = getComputedStyle(document.documentElement)
    ;[...new Set(names)].filter((name) => !/^Canvas(Text)?$/.test(look.getPropertyValue(name).trim()))
  }`)
  expect(colors).toEqual([])
  for (const state of spanStates) {
    await expectSeen(`[role=listitem]:has(.span-${state})`, hide(`.span-${state}`))
  }
  await expectSeen('.mantine-SegmentedControl-label[data-active]', unselect('data-active'))
  await expectSeen('[role=tab][aria-selected=true]', unselect('aria-selected'))
  await go(page, `/projects/${projectId}/keys`)
  await page.getByRole('checkbox', { name: 'Select all' }).click()
  await expectSeen('.mantine-Checkbox-inner', hide('.mantine-Checkbox-icon'))
  await expectSeen('tr[data-selected]', unselect('data-selected'))
  await expectSeen('[aria-pressed=true]', unselect('aria-pressed'))
  await expectSeen('[aria-current=page]', unselect('aria-current'))
  await go(page, '/?view=calendar')
  await expectSeen('.calendar button', `element.style.setProperty('--share', 0)`)
  await page.keyboard.press('Control+k')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox').fill('orders')
  await dialog.getByRole('option').first().waitFor()
  await expectSeen('[role=dialog] [role=option][aria-selected=true]', unselect('aria-selected'))
  expect(unseen).toEqual([])
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
  const sizes = Object.values(await loadedScripts(page))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  expect(total).toBeGreaterThan(50_000)
  expect(total).toBeLessThanOrEqual(200_000)
})
