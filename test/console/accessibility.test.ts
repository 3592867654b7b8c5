import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  accessibilityViolations,
  openConsole,
  phone,
  type TestConsole,
} from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'

const pair = keyFor('ES256')
let console_: TestConsole
let projectId: string
let kid: string

beforeAll(async () => {
  console_ = await openConsole()
  const { client } = console_
  projectId = (await client.projects.get('default')).id
  const kids: string[] = []
  for (const name of ['orders, spring', 'orders, autumn']) {
    const { publicKeyPem } = name === 'orders, autumn' ? pair : keyFor('ES256')
    kids.push((await client.keys.create(projectId, { name, algorithm: 'ES256', publicKeyPem })).kid)
  }
  const [inactive = '', active = ''] = kids
  kid = active
  await client.keys.update(projectId, inactive, { active: false })
  const { id } = await client.apiKeys.create({ name: 'revoked', role: 'reader' })
  await client.apiKeys.update(id, { active: false })
})
afterAll(() => console_.close())

const routes = () => [
  '/',
  `/projects/${projectId}/keys`,
  `/projects/${projectId}/connect`,
  `/projects/${projectId}/verify`,
  `/projects/${projectId}/history`,
  `/projects/${projectId}/rotate/${kid}`,
  '/api-keys',
  '/ledger',
  '/no-such-page',
]

async function go(page: Page, route: string): Promise<void> {
  await page.goto(`${console_.server.url}/console/#${route}`)
  await page.waitForTimeout(150)
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
}

async function faultsOf(page: Page, paths: string[]): Promise<Record<string, string[]>> {
  const faults: Record<string, string[]> = {}
  for (const route of paths) {
    await go(page, route)
    const found = await accessibilityViolations(page)
    if (found.length > 0) faults[route] = found
  }
  return faults
}

describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
  test('axe finds no fault on any page', { timeout: 90_000 }, async () => {
    const page = await console_.open('/', { colorScheme })
    expect(await faultsOf(page, routes())).toEqual({})
  })

  test.each([
    ['valid', () => pair.privateKey],
    ['invalid', () => keyFor('ES256').privateKey],
  ])('axe finds no fault in the report of a token (%s)', async (_name, signer) => {
    const page = await console_.open(`/projects/${projectId}/verify`, { colorScheme })
    const token = signToken(signer(), { alg: 'ES256', kid }, { iat: 1 })
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByRole('button', { name: 'Check token' }).click()
    await page.locator('[data-step]').first().waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
  })

  test.each([
    ['New API key', () => '/api-keys'],
    ['Register a key', () => `/projects/${projectId}/keys`],
  ])('axe finds no fault in the dialog “%s”', async (name, route) => {
    const page = await console_.open(route(), { colorScheme })
    await page.getByRole('button', { name }).first().click()
    await page.getByRole('dialog').waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
  })
})

test('no page is wider than a phone', { timeout: 60_000 }, async () => {
  const page = await console_.open('/', phone)
  for (const route of routes()) {
    await go(page, route)
    const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(wide, route).toBeLessThanOrEqual(0)
  }
})
