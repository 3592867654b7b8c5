import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { openConsole } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { rememberSecret } from '../support/secrets.ts'

const console_ = await openConsole({
  PUBRING_OIDC_ISSUER: 'https://id.example.com',
  PUBRING_OIDC_CLIENT_ID: 'pubring',
})
const { client } = console_
const project = (await client.projects.get('default')).id
const pair = keyFor('ES256')
const [off = '', old = '', next = '', finished = '', last = ''] = await Promise.all(
  ['off', 'old', 'next', 'finished', 'last'].map((name) => console_.register(project, name)),
)
await client.keys.update(project, off, { active: false })
await client.rotations.start(project, { from: old, to: next, tokenLifetime: 60 })
await client.rotations.start(project, { from: finished, to: last, tokenLifetime: 60 })
await client.keys.update(project, finished, { active: false })
const kid = await console_.register(project, 'signer', { publicKeyPem: pair.publicKeyPem })
const { id: empty } = await client.projects.create({ name: 'empty' })
const rule = await client.accessRules.create({
  for: 'people',
  name: 'platform',
  conditions: { groups: 'platform' },
  role: 'writer',
  project,
})
const apiKeyOf = async (role: 'auditor' | 'reader') =>
  rememberSecret('an API key', (await client.apiKeys.create({ name: role, role })).apiKey)
await createClient({ url: client.url, apiKey: await apiKeyOf('reader') }).sessions.create()
const apiKey = await apiKeyOf('auditor')

/** The addresses of each route of the console. */
const addresses: Record<string, string[]> = {
  '/': ['/'],
  '/projects/:project/rotate/:kid': [old, finished, off].map(
    (each) => `/projects/${project}/rotate/${each}`,
  ),
  '/projects/:project/keys/:kid': [old, next, off, finished, project].map(
    (each) => `/projects/${project}/keys/${each}`,
  ),
  '/projects/:project/:tab?': [
    ...['keys', 'timeline', 'connect', 'verify', 'history'].map(
      (tab) => `/projects/${project}/${tab}`,
    ),
    `/projects/${empty}/keys`,
  ],
  '/api-keys': ['/api-keys'],
  '/access-rules': ['/access-rules'],
  '/people': ['/people'],
  '/sessions': ['/sessions'],
  '/history': ['/history'],
  '/status': ['/status'],
}

/** The first words of buttons and menu items that change something, or begin to. */
const changing =
  /^(New|Register|Edit|Rename|Rotate|Continue|Start|Finish|Abandon|Deactivate|Activate|Reactivate|Revoke|Delete|Set|Extend|End|Erase|Select|Project actions)\b/

test('every page opens for an auditor, without a refused request and what would change something', async () => {
  const app = readFileSync('console/src/app.tsx', 'utf8')
  const routes = app.matchAll(/<Route path="([^"]+)"|\bpath: '(\/[^']+)',/gm)
  const paths = [...routes].map(([, path, ofAuditors]) => path ?? ofAuditors)
  expect(Object.keys(addresses).sort()).toEqual(paths.sort())
  const page = await console_.open('/', { apiKey })
  const refused: string[] = []
  page.on('response', (response) => {
    if (response.status() === 403) refused.push(response.url())
  })
  const found: string[] = []
  for (const address of Object.values(addresses).flat()) {
    await console_.go(address)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page
      .getByRole('status', { name: 'Loading', exact: true })
      .first()
      .waitFor({ state: 'detached' })
    expect(await page.getByRole('alert').getByText('request ').count(), address).toBe(0)
    const names = await page
      .locator('main :is(button, a, input):not(.mantine-Stepper-step)')
      .evaluateAll((all) => all.map((each) => each.getAttribute('aria-label') ?? each.textContent))
    const menus = page.getByRole('button', { name: /^(Actions for|Project actions)/ })
    for (const menu of await menus.all()) {
      await menu.click()
      await page.getByRole('menu').waitFor()
      names.push(...(await page.getByRole('menuitem').allTextContents()))
      await page.keyboard.press('Escape')
      await page.getByRole('menu').waitFor({ state: 'detached' })
    }
    found.push(...names.filter((name) => changing.test(name)).map((name) => `${address}: ${name}`))
  }
  expect(found).toEqual([])
  expect(refused).toEqual([])
})

test('an auditor checks a token and the effect of an access rule', async () => {
  const page = await console_.open(`/projects/${project}/verify`, { apiKey })
  const token = signToken(pair.privateKey, { alg: 'ES256', kid }, { iat: 1 })
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.locator('[data-step]').first().waitFor()
  await console_.show('/access-rules')
  await page.getByRole('button', { name: `Check ${rule.name}` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('{"groups": "platform"}')
  await dialog.getByRole('button', { name: 'Check', exact: true }).click()
  await dialog.getByText('The claims meet the conditions').waitFor()
})
