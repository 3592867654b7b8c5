import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../src/core/api-keys/secrets.ts'
import {
  accessibilityViolations,
  openConsole,
  signIn,
  type TestConsole,
} from '../support/console/console.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { rememberSecret } from '../support/secrets.ts'

let console_: TestConsole
beforeAll(async () => {
  console_ = await openConsole()
})
afterAll(() => console_.close())

async function createApiKey(role: 'reader' | 'writer' | 'admin', project?: string) {
  const { id, apiKey } = await console_.client.apiKeys.create({
    name: `a ${role}`,
    role,
    ...(project && { project }),
  })
  return { id, apiKey: rememberSecret('an API key', apiKey) }
}

test('the files of a page are compressed and cached for good', async () => {
  const { url } = console_.server
  const page = await (await fetch(`${url}/console/`)).text()
  const [script = ''] = /assets\/[\w-]+\.js/.exec(page) ?? []
  const { status, headers } = await fetch(`${url}/console/${script}`)
  expect([status, headers.get('content-encoding')]).toEqual([200, 'gzip'])
  expect(headers.get('cache-control')).toContain('immutable')
})

const storages = () =>
  'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'

test('axe finds no fault on the sign-in page', async () => {
  const page = await (await console_.browser.newContext()).newPage()
  await page.goto(`${console_.server.url}/console`)
  await page.getByLabel('API key', { exact: true }).waitFor()
  expect(await page.title()).toBe('Sign in · Pubring')
  expect(await accessibilityViolations(page)).toEqual([])
  await page.context().close()
})

describe('signing in', () => {
  test.each([
    ['that does not exist', () => newApiKeySecret(), 'invalid_api_key'],
    ['with a space inside', () => 'pubring_ab cd', 'invalid_api_key_text'],
  ])('fails for an API key %s, with the reason, and keeps the input', async (_what, text, code) => {
    const page = await (await console_.browser.newContext()).newPage()
    await page.goto(`${console_.server.url}/console/`)
    const field = page.getByLabel('API key', { exact: true })
    const typed = text()
    await field.fill(typed)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText(code, { exact: true }).waitFor()
    expect(await field.inputValue()).toBe(typed)
    expect(await page.evaluate(storages())).not.toContain(typed)
    await page.context().close()
  })

  test('lasts for the tab, and opens the requested page', async () => {
    const page = await console_.open('/ledger')
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.context().close()
  })

  test('ends when the user signs out, and going back shows nothing', async () => {
    const page = await console_.open('/')
    await page.getByRole('link', { name: 'default', exact: true }).click()
    await page.getByRole('tab', { name: 'Keys' }).waitFor()
    await page.getByRole('button', { name: /^Signed in with/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate(storages())).not.toContain(console_.apiKey.slice(0, 20))
    expect(await page.content()).not.toContain(console_.apiKey)
    await page.goBack()
    expect(await page.getByRole('navigation').count()).toBe(0)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.context().close()
  })

  test('ends when the API key is revoked, with the reason', async () => {
    const { id, apiKey } = await createApiKey('writer')
    const page = await console_.open('/projects/default', { apiKey })
    await page.getByRole('tab', { name: 'Keys' }).waitFor()
    await console_.client.apiKeys.update(id, { active: false })
    await page.getByText('Your API key was revoked or has expired.').waitFor()
    expect(await page.evaluate(storages())).not.toContain(apiKey)
    await page.context().close()
  })
})

describe('the console offers', () => {
  test('a reader no changes', async () => {
    const { apiKey } = await createApiKey('reader')
    const page = await console_.open('/projects/default', { apiKey })
    await page.getByText('No keys yet').waitFor()
    for (const name of [/Register/, /Project actions/]) {
      expect(await page.getByRole('button', { name }).count()).toBe(0)
    }
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0)
    await page.context().close()
  })

  test('a writer of one project only that project', async () => {
    await console_.client.projects.create({ name: 'unseen' })
    const { apiKey } = await createApiKey('writer', 'default')
    const page = await console_.open('/', { apiKey })
    await page.getByRole('heading', { name: 'default' }).waitFor()
    await page.getByRole('button', { name: 'Register a key' }).waitFor()
    await page.goto(`${console_.server.url}/console/#/projects/unseen`)
    await page.getByText('Project not found').waitFor()
    expect(await page.getByRole('link', { name: 'Ledger' }).count()).toBe(0)
    await page.context().close()
  })
})

describe('the URL', () => {
  test('may have the path prefix of a proxy', async () => {
    const proxy = await startHttpServer(async (incoming, outgoing) => {
      const path = (incoming.url ?? '').replace(/^\/keys/, '')
      const { method, headers } = incoming
      const passed = request(`${console_.server.url}${path}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      incoming.pipe(passed)
    })
    const page = await (await console_.browser.newContext()).newPage()
    await page.goto(`${proxy.url}/keys/console`)
    await signIn(page, `${proxy.url}/keys`, console_.apiKey, '/projects/default')
    await page.getByText('No keys yet').waitFor()
    await page.context().close()
    await proxy.close()
  })

  test('without the fragment opens the same page', async () => {
    const page = await console_.open('/')
    await page.goto(`${console_.server.url}/console/projects/default/keys`)
    await page.getByText('No keys yet').waitFor()
    expect(page.url()).toBe(`${console_.server.url}/console/#/projects/default/keys`)
    await page.context().close()
  })
})

test('the content security policy allows no inline scripts or styles, no framing and no other host', async () => {
  const answer = await fetch(`${console_.server.url}/console/`)
  const policy = answer.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|https?:|\*/)
  const [nonce] = /nonce-[^']+/.exec(policy) ?? []
  const again = await fetch(`${console_.server.url}/console/`)
  expect(again.headers.get('content-security-policy')).not.toContain(nonce)
  expect(console_.requestedHosts()).toEqual([new URL(console_.server.url).host])
})
