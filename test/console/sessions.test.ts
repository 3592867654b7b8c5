import { hash, randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { rememberSecret } from '../support/secrets.ts'

const console_ = await openConsole({
  PUBRING_OIDC_ISSUER: 'https://id.example.com',
  PUBRING_OIDC_CLIENT_ID: 'pubring',
})

/** Signs in on the command line, as `pubring login` does with the approval of the page. */
async function logIn(page: Page, client: string): Promise<void> {
  const { url } = console_.server
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
  const { client } = console_
  await client.sessions.create()
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
  expect(await page.getByText('unknown', { exact: true }).count()).toBe(1)
  expect(await accessibilityViolations(page)).toEqual([])
  await commandLine.getByRole('button').click()
  await page.getByRole('menuitem', { name: 'End session', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('ada@laptop').waitFor()
  await dialog.getByRole('button', { name: 'End session' }).click()
  await commandLine.waitFor({ state: 'detached' })
})
