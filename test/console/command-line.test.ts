import { expect, test } from 'vitest'
import { openShell } from '../cli/support.ts'
import { startApp } from '../support/app/app.ts'
import { launchBrowser } from '../support/console/console.ts'
import { freePort } from '../support/server/process.ts'

const port = await freePort()
const url = `http://127.0.0.1:${port}`
const oidc = { issuer: 'https://id.test', clientId: 'c', scopes: 'openid' }
const server = await startApp({ config: { oidc, publicUrl: url }, http: { publicUrl: url } })
await server.app.listen({ host: '127.0.0.1', port })
const shell = openShell(() => ({ USER: 'ada' }))
const browser = await launchBrowser()

test('pubring login is approved by a click, on a page that the browser runs as it is meant', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(error.message))
  await context.request.post(`${url}/v1/sessions`, { headers: { 'x-api-key': server.admin } })
  const { promise: printed, resolve } = Promise.withResolvers<string>()
  const login = shell.pubring(['login', '--url', url, '--no-browser'], {
    onStderr: (text) => resolve(/http:\S+/.exec(text.slice(text.indexOf('browser:')))?.[0] ?? ''),
  })
  const address = await printed
  await page.goto(address)
  await page.getByText('ada@').waitFor()
  // A session of the browser, but none of the command line yet.
  expect((await server.send('GET', '/v1/sessions')).json()).toHaveLength(1)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('You can close this page').waitFor()
  expect((await login).stderr).toContain('“a admin” (admin)')
  expect((await shell.pubring(['whoami'])).stdout).toBe('a admin (admin)\n')
  // Says why it cannot be approved.
  await page.goto(address)
  await server.send('DELETE', '/v1/sessions/self', {
    headers: { 'x-api-key': 'session', cookie: await cookieOf(context) },
  })
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Sign in again.').waitFor()
  expect(errors.filter((text) => !/401/.test(text))).toEqual([])
  await context.close()
})

async function cookieOf(context: { cookies(): Promise<{ name: string; value: string }[]> }) {
  return (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
}
