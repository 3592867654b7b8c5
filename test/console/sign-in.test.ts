import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  accessibilityViolations,
  openConsole,
  openStranger,
  readableTexts,
  type TestConsole,
} from '../support/console/console.ts'
import { rememberSecret } from '../support/secrets.ts'
import { freePort } from '../support/server/process.ts'
import {
  clientId,
  clientSecret,
  startProvider,
  type TestProvider,
} from '../support/sign-in/provider.ts'

const buttonText = 'Sign in with SSO'
let console_: TestConsole
let provider: TestProvider
let url: string
let folder: string
/** Gives the group “platform” the role admin. */
let platformRule: string

beforeAll(async () => {
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  provider = await startProvider(`${url}/sign-in/callback`, {}, undefined, 'localhost')
  folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  writeFileSync(join(folder, 'ca.pem'), provider.server.ca)
  console_ = await openConsole({
    PUBRING_PORT: String(port),
    PUBRING_PUBLIC_URL: url,
    PUBRING_OIDC_ISSUER: provider.issuer,
    PUBRING_OIDC_CLIENT_ID: clientId,
    PUBRING_OIDC_CLIENT_SECRET: clientSecret,
    PUBRING_OIDC_SCOPES: 'openid profile email groups',
    PUBRING_OUTBOUND_ALLOW: 'localhost',
    PUBRING_OUTBOUND_CA_FILE: join(folder, 'ca.pem'),
  })
  const { client } = console_
  const platform = { for: 'people', name: 'platform', role: 'admin', allProjects: true } as const
  const conditions = { groups: 'platform' }
  platformRule = (await client.accessRules.create({ ...platform, conditions })).id
  await client.accessRules.create({
    for: 'people',
    name: 'payments',
    conditions: { groups: 'payments' },
    role: 'writer',
    project: 'default',
  })
})
afterAll(async () => {
  await console_.close()
  await provider.close()
  rmSync(folder, { recursive: true })
})

/** Signs the person in through the provider, in a new browser. */
async function open(route: string, subject: string, groups: string[]): Promise<Page> {
  const claims = { name: `${subject} of Example`, email: `${subject}@example.com`, groups }
  provider.person = { subject, claims }
  const page = await openStranger(console_, { ignoreHTTPSErrors: true })
  await page.goto(`${url}/console/#${route}`)
  await page.getByRole('link', { name: buttonText }).click()
  return page
}

/** Sends a request, without a click: the page may have noticed already, and ask to sign in again. */
const visitSessions = (page: Page) => page.evaluate("location.hash = '#/sessions'")

/** The window that opens when the page asks to sign in again. */
async function signInAgain(page: Page): Promise<Page> {
  const [popup] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('dialog').getByRole('button', { name: buttonText }).click(),
  ])
  return popup
}

test('a person signs in, and the ledger names them', async () => {
  const page = await open('/api-keys', 'ada', ['platform'])
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('made by Ada')
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  await signInAgain(page)
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const events = await console_.client.events.list({ limit: 200 })
  const created = events.findLast(({ type }) => type === 'api_key.created')
  const user = { issuer: provider.issuer, subject: 'ada', sessionId: expect.any(String) }
  expect(created?.actor).toEqual({ name: 'ada of Example', user })
  const entry = page.locator(`[data-revision="${created?.revision}"]`)
  await page.getByRole('link', { name: 'History' }).click()
  await entry.getByText('person', { exact: true }).waitFor()
  await entry.getByRole('button').first().click()
  await entry.getByText(provider.issuer, { exact: true }).waitFor()
  await page.getByRole('button', { name: /^Signed in as Person/ }).click()
  const menu = page.getByRole('menu')
  await menu.getByText('admin of all projects').waitFor()
  await menu.getByText('ada@example.com').waitFor()
  const [cookie] = await page.context().cookies(url)
  expect(await readableTexts(page)).not.toContain(cookie?.value)
})

test('what needs a recent sign-in is done after it, with nothing typed again', async () => {
  const page = await open('/api-keys', 'ada', ['platform'])
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('an admin')
  await dialog.getByText('Admin', { exact: true }).click()
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  const again = page.getByRole('dialog', { name: 'Sign in again' })
  await again.getByText('Create an API key', { exact: true }).waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  await signInAgain(page)
  await page.getByRole('heading', { name: 'API key created' }).waitFor()
  expect((await console_.client.apiKeys.list()).filter(({ name }) => name === 'an admin')).toEqual([
    expect.objectContaining({ role: 'admin' }),
  ])
})

test('the request to sign in again says what it is for, and goes with the page', async () => {
  const page = await open('/access-rules', 'ada', ['platform'])
  await page.getByRole('button', { name: 'Actions for payments' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete permanently' }).click()
  const again = page.getByRole('dialog', { name: 'Sign in again' })
  await again.getByText('Delete “payments”', { exact: true }).waitFor()
  await visitSessions(page)
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await again.waitFor({ state: 'detached' })
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const rules = await console_.client.accessRules.list()
  expect(rules.map(({ name }) => name)).toContain('payments')
})

test('a change of a rule says who loses access, and asks when it is oneself', async () => {
  for (const [person, group] of Object.entries({ edsger: 'platform', grace: 'payments' })) {
    const page = await open('/', person, [group])
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
  }
  const page = await open('/access-rules', 'ada', ['platform'])
  await page.getByRole('button', { name: 'Edit platform' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Value 1').fill('payments')
  await dialog.getByText('Lose access: you (ada of Example) and edsger of Example').waitFor()
  await dialog.getByText('Gain access: grace of Example').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await signInAgain(page)
  const consent = dialog.getByLabel('I lose this access')
  await consent.check()
  // Consent is to this change, not to the next one.
  await dialog.getByLabel('Value 1').fill('visitors')
  await consent.waitFor({ state: 'detached' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Actions for platform' }).click()
  await page.getByRole('menuitem', { name: 'Deactivate' }).click()
  await dialog.getByText('Lose access: you').waitFor()
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await dialog.getByText('Still needed: your consent.').waitFor()
  expect(await accessibilityViolations(page, '[role=dialog]')).toEqual([])
  expect(await console_.client.accessRules.get(platformRule)).toMatchObject({ active: true })
  await consent.check()
  await dialog.getByRole('button', { name: 'Show curl command' }).click()
  await dialog.getByText('?confirm=self').waitFor()
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
  await console_.client.accessRules.update(platformRule, { active: true })
})

test('without a rule there is no entry, and the page shows the claims', async () => {
  const page = await open('/', 'mallory', ['visitors'])
  await page.getByRole('heading', { name: 'No access' }).waitFor()
  await page.getByText('["visitors"]').waitFor()
})

test('a change of a rule takes the access with the next request, and typed text stays', async () => {
  const page = await open('/', 'ada', ['platform'])
  await page.getByRole('button', { name: 'New project' }).click()
  const name = page.getByRole('dialog').getByLabel('Name')
  await name.fill('half-done')
  await console_.client.accessRules.update(platformRule, { active: false })
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
  const refused = await signInAgain(page)
  await refused.getByText('["platform"]').waitFor()
  await refused.close()
  await console_.client.accessRules.update(platformRule, { active: true })
  await signInAgain(page)
  // The action was repeated, and opened the new project.
  await page.getByRole('heading', { name: 'half-done' }).waitFor()
})

test('signing out ends the session at the provider too', async () => {
  const page = await open('/', 'ada', ['platform'])
  await page.getByRole('button', { name: /^Signed in as/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL(`${provider.issuer}/**`)
  await page.getByRole('button', { name: /sign me out/i }).click()
  await page.getByRole('link', { name: buttonText }).waitFor()
  expect(await page.context().cookies(url)).toEqual([])
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}')
})

test('an API key is behind the button of the provider', async () => {
  const page = await openStranger(console_)
  await page.goto(`${url}/console/`)
  await page.getByRole('button', { name: 'Use an API key' }).click()
  await page.getByLabel('API key', { exact: true }).fill(console_.apiKey)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Projects' }).waitFor()
})

test('the actions of a person are found from the list of people, by a whole name', async () => {
  const page = await console_.open('/people')
  await page.getByRole('button', { name: 'History ada of Example' }).click()
  await page.getByText('Created API key “made by Ada”').waitFor()
  await page.getByText('Saw person for the first time').waitFor()
  const person = page.getByRole('combobox', { name: 'Person' })
  await person.fill('ada')
  await page.getByText(/^\d+ matching entries/).waitFor()
  await person.fill('ada of')
  await page.getByText('Names, emails and ids have to be whole').waitFor()
  await page.getByRole('option', { name: 'ada of Example' }).click()
  await page.getByText('Created API key “made by Ada”').waitFor()
})

test('an admin ends sessions, and erases a person', async () => {
  const grace = await open('/', 'grace', ['payments'])
  await grace.getByRole('heading', { name: 'default' }).waitFor()
  const page = await console_.open('/people')
  const actions = page.getByRole('button', { name: 'Actions for grace of Example' })
  await actions.click()
  await page.getByRole('menuitem', { name: 'End all sessions' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'End all sessions' }).click()
  await dialog.waitFor({ state: 'detached' })
  await visitSessions(grace)
  await grace.getByRole('heading', { name: 'Your session has ended' }).waitFor()
  await actions.click()
  await page.getByRole('menuitem', { name: 'Erase' }).click()
  expect(await accessibilityViolations(page, '[role=dialog]')).toEqual([])
  await dialog.getByRole('button', { name: 'Erase person' }).click()
  await page.getByText('grace of Example').first().waitFor({ state: 'detached' })
  expect((await console_.client.people.list()).map(({ subject }) => subject)).not.toContain('grace')
})

/** Signs in on the command line, as `pubring login` does with the approval of the page. */
async function logIn(page: Page, client: string): Promise<void> {
  const port = 50_123
  const codeVerifier = randomBytes(32).toString('base64url')
  const login = {
    port: String(port),
    code_challenge: hash('sha256', codeVerifier, 'base64url'),
    state: randomBytes(16).toString('base64url'),
    client,
  }
  const headers = { 'x-api-key': 'session' }
  const approval = await page.request.post(`${url}/sign-in/cli`, { headers, data: login })
  const code = new URL((await approval.json()).url).searchParams.get('code') ?? ''
  rememberSecret('a code', code.split('.')[0] ?? '')
  const data = { code, codeVerifier, port }
  const issued = await (await page.request.post(`${url}/v1/session-keys`, { data })).json()
  rememberSecret('an API key', issued.apiKey)
  rememberSecret('a renewal secret', issued.renewalSecret)
}

test('sessions are told apart by browser, address and command line', async () => {
  await console_.client.sessions.create()
  const page = await console_.open('/sessions')
  await logIn(page, 'ada@laptop')
  await page.reload()
  const here = page.getByRole('row').filter({ hasText: 'this browser' })
  await here.getByText('Chrome on Linux').waitFor()
  await here.getByText('127.0.0.1').waitFor()
  const commandLine = page.getByRole('row').filter({ hasText: 'ada@laptop' })
  await commandLine
    .getByText('command line, 127.0.0.1, approved in Chrome on Linux at 127.0.0.1')
    .waitFor()
  await page.getByText('unknown', { exact: true }).first().waitFor()
  await commandLine.getByRole('button').click()
  await page.getByRole('menuitem', { name: 'End session', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('ada@laptop').waitFor()
  await dialog.getByRole('button', { name: 'End session' }).click()
  await commandLine.waitFor({ state: 'detached' })
})
