import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import {
  accessibilityViolations,
  openConsole,
  openStranger,
  readableTexts,
  signIn,
} from '../support/console/console.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { rememberSecret } from '../support/secrets.ts'

const console_ = await openConsole()

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
  const plain = await fetch(`${url}/console/${script}`, {
    headers: { 'Accept-Encoding': 'identity' },
  })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(plain.headers.get('content-type')).toBe(headers.get('content-type'))
  expect(plain.headers.get('vary')).toBe('Accept-Encoding')
  const other = await fetch(`${url}/console/${script}`, { headers: { 'If-Match': '"other"' } })
  expect(other.status).toBe(404)
})

describe('signing in', () => {
  test('fails for an API key that does not exist, with the reason, and keeps nothing', async () => {
    const page = await openStranger(console_)
    await page.goto(`${console_.server.url}/console/`)
    const field = page.getByLabel('API key', { exact: true })
    await field.waitFor()
    expect(await page.title()).toBe('Sign in · Pubring')
    expect(await accessibilityViolations(page)).toEqual([])
    const typed = newApiKeySecret()
    await field.fill(typed)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('invalid_api_key', { exact: true }).waitFor()
    expect(await field.inputValue()).toBe('')
    expect(await readableTexts(page)).not.toContain(typed)
  })

  test('sends no text that is no API key, and keeps it for correction', async () => {
    const page = await openStranger(console_)
    await page.goto(`${console_.server.url}/console/`)
    const field = page.getByLabel('API key', { exact: true })
    const sent: string[] = []
    await field.waitFor()
    page.on('request', (request) => sent.push(request.url()))
    await field.fill('pubring_ab cd')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('invalid_api_key_text', { exact: true }).waitFor()
    await expect.poll(() => field.inputValue()).toBe('pubring_ab cd')
    expect(sent).toEqual([])
  })

  test('sends the secret once, and leaves it nowhere that a script can read', async () => {
    const page = await openStranger(console_)
    const sent: string[] = []
    page.on('request', (request) => {
      const apiKey = request.headers()['x-api-key']
      if (apiKey !== undefined) sent.push(apiKey)
    })
    // It is taken from a pasted line of a script.
    const pasted = `export PUBRING_API_KEY="${console_.apiKey}"`
    await signIn(page, console_.server.url, pasted, '/api-keys')
    await page.locator('tr[data-id]').first().waitFor()
    expect(sent.filter((each) => each !== 'session')).toEqual([console_.apiKey])
    expect(sent.length).toBeGreaterThan(2)
    const texts = await readableTexts(page)
    // The search finds what is there.
    expect(texts).toContain('first admin')
    expect(texts).not.toContain(console_.apiKey.slice(8, 40))
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax' })
    expect(texts).not.toContain(cookie?.value)
  })

  test('ends when the user signs out, in every tab, and going back shows nothing', async () => {
    const page = await console_.open('/')
    const other = await page.context().newPage()
    await other.goto(`${console_.server.url}/console/#/history`)
    await other.getByRole('heading', { name: 'History' }).waitFor()
    await page.getByRole('link', { name: 'default', exact: true }).click()
    await page.getByRole('tab', { name: 'Keys' }).waitFor()
    await page.getByRole('button', { name: /^Signed in as/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('API key', { exact: true }).waitFor()
    expect(await page.context().cookies()).toEqual([])
    await page.goBack()
    await page.getByRole('navigation').first().waitFor({ state: 'detached' })
    await page.reload()
    await page.getByLabel('API key', { exact: true }).waitFor()
    await other.getByRole('heading', { name: 'Your session has ended' }).waitFor()
  })

  test('says so when signing out fails, because the session goes on', async () => {
    const page = await console_.open('/')
    await page.route('**/v1/sessions/self', (route) => route.abort())
    await page.getByRole('button', { name: /^Signed in as/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are still signed in' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByLabel('API key', { exact: true }).waitFor()
  })

  test('is asked for again when the session has ended, and nothing typed is lost', async () => {
    await console_.client.projects.create({ name: 'busy' })
    const { apiKey } = await createApiKey('writer')
    const page = await console_.open('/projects/busy', { apiKey })
    await page.getByRole('button', { name: 'Register a key' }).click()
    await page.getByLabel('Label').fill('half done')
    for (const { id, name } of await console_.client.sessions.list()) {
      if (name === 'a writer') await console_.client.sessions.end(id)
    }
    // An event ends the stream of the session, which is how the page learns of it.
    await console_.register('busy', 'by another')
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
    await page.getByLabel('API key', { exact: true }).fill(apiKey)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    const ended = page.getByRole('heading', { name: 'Your session has ended' })
    await ended.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByLabel('Label').inputValue()).toBe('half done')
  })

  test('is not asked for again by who signs out of the ended session', async () => {
    const { id, apiKey } = await createApiKey('writer')
    const page = await console_.open('/projects/default', { apiKey })
    await page.getByRole('tab', { name: 'Keys' }).waitFor()
    await console_.client.apiKeys.update(id, { active: false })
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.getByRole('button', { name: 'Sign out' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByLabel('API key', { exact: true }).waitFor()
    await page.getByRole('tab').first().waitFor({ state: 'detached' })
  })

  test('as another person in place of an ended session drops what the first one typed', async () => {
    const { id, apiKey } = await createApiKey('writer')
    const page = await console_.open('/projects/default', { apiKey })
    await page.getByRole('button', { name: 'Register a key' }).click()
    await page.getByLabel('Label').fill('of the first user')
    await console_.client.apiKeys.update(id, { active: false })
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await page.getByLabel('API key', { exact: true }).fill(console_.apiKey)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: /^Signed in as .*first admin/ }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await readableTexts(page)).not.toContain('of the first user')
  })
})

test.each([
  ['a reader', 'reader', undefined, 'Projects'],
  ['an admin of one project', 'admin', 'default', 'Project'],
] as const)('the console offers %s only what the role allows', async (...row) => {
  const [, role, project, projects] = row
  await console_.client.projects.create({ name: `unseen-by-${role}` })
  const { apiKey } = await createApiKey(role, project)
  const page = await console_.open('/projects/default', { apiKey })
  await page.getByText('No keys yet').waitFor()
  expect(await page.getByRole('button', { name: 'Project actions' }).count()).toBe(0)
  const register = page.getByRole('button', { name: /^Register/ })
  await expect.poll(() => register.count()).toBe(project ? 2 : 0)
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
  await expect.poll(() => links.allTextContents()).toEqual([projects, 'Sessions'])
  await console_.go('/history')
  await page.getByText('Only an admin or auditor of all projects can see this page.').waitFor()
  if (project === undefined) return
  await console_.go('/')
  await page.getByRole('heading', { name: 'default' }).waitFor()
  await console_.go(`/projects/unseen-by-${role}`)
  await page.getByText('Project not found').waitFor()
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
    const page = await openStranger(console_)
    await page.goto(`${proxy.url}/keys/console`)
    await signIn(page, `${proxy.url}/keys`, console_.apiKey, '/projects/default')
    await page.getByText('No keys yet').waitFor()
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
