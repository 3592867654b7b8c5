import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { testClock } from '../support/app/clock.ts'
import {
  accessibilityViolations,
  loadedScripts,
  openConsole,
  openStranger,
  phone,
  readableTexts,
} from '../support/console/console.ts'
import {
  checkToken,
  createLink,
  keyField,
  registerKey,
} from '../support/console/registration-links.ts'
import { run, snippetFolder } from '../support/console/snippets.ts'
import { ecKey, rsaKey } from '../support/keys/pem.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'
import { rememberPrivateKey, rememberSecret } from '../support/secrets.ts'

const returnUrl = 'https://platform.example.com/integrations'
const clock = testClock()
const settings = { PUBRING_RETURN_ORIGINS: 'https://platform.example.com' }
const console_ = await openConsole(settings, clock)
const { id: projectId } = await console_.client.projects.get('default')

/** How a stranger makes a key pair and signs with it. */
interface Try {
  /** Returns the public key to paste. */
  make(page: Page, folder: string): Promise<string>
  sign(page: Page, folder: string): Promise<string>
  newKeys: 'active' | 'inactive'
}

const tries: Record<string, Try> = {
  'OpenSSL, as the page says, and signed by its program for Node': {
    async make(page, folder) {
      const name = 'command that makes a key pair'
      const command = (await page.getByLabel(name, { exact: true }).textContent()) ?? ''
      const printed = await run(['sh', '-ec', command], folder)
      rememberPrivateKey(readFileSync(join(folder, 'private.pem'), 'utf8'))
      return printed
    },
    async sign(page, folder) {
      const program = await page.getByLabel('program for Node', { exact: true }).textContent()
      writeFileSync(join(folder, 'sign.js'), program ?? '')
      return (await run([process.execPath, 'sign.js'], folder)).trim()
    },
    newKeys: 'active',
  },
  'the browser': {
    make: (page) =>
      page.evaluate<string>(`(async () => {
        const { subtle } = crypto
        globalThis.pair = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
        return JSON.stringify(await subtle.exportKey('jwk', pair.publicKey))
      })()`),
    async sign(page) {
      const { issuer } = await console_.client.jwks.discovery(projectId)
      return page.evaluate<string>(`(async () => {
        const now = Math.floor(Date.now() / 1000)
        const encode = (value) => btoa(value).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
        const kid = document.querySelector('.large-kid').textContent
        const header = { alg: 'ES256', kid }
        const claims = { iss: '${issuer}', iat: now, exp: now + 300 }
        const input = [header, claims].map((each) => encode(JSON.stringify(each))).join('.')
        const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
        const signed = await crypto.subtle.sign(algorithm, pair.privateKey, new TextEncoder().encode(input))
        return input + '.' + encode(String.fromCharCode(...new Uint8Array(signed)))
      })()`)
    },
    newKeys: 'inactive',
  },
}

/** What the page says at the end, if keys are active at once and if they wait. */
const endings = {
  active: [/^This token is valid/, /verifiers/],
  inactive: [
    /^The token is right, and valid once the key is active/,
    /you this link approve the key/,
  ],
} as const

describe('a stranger gets from the link to a valid token, by the keyboard alone, on a phone', () => {
  test.each(Object.entries(tries))(
    'with a key made by %s',
    async (name, { make, sign, newKeys }) => {
      const note = `ACME Corp, key of ${name}`
      const page = await openStranger(console_, phone)
      await page.goto(await createLink(console_, { note, newKeys, returnUrl }))
      await page.getByText(note).first().waitFor()
      const folder = snippetFolder()
      const press = async (control: string) => {
        await tabTo(page, control)
        await page.keyboard.press('Enter')
      }
      await tabTo(page, 'Public key')
      await page.keyboard.insertText(await make(page, folder))
      const extract = page.getByRole('button', { name: 'Extract public key' })
      const accepted = page.getByText('Valid key')
      await extract.or(accepted).waitFor()
      if (await extract.isVisible()) await press('Extract public key')
      await accepted.waitFor()
      await press('Register key')
      await page.getByRole('heading', { name: 'Your key is registered' }).waitFor()
      expect(await focusedName(page)).toBe('Your key is registered')
      const token = rememberSecret('a token', await sign(page, folder))
      await tabTo(page, 'Token')
      await page.keyboard.insertText(token)
      await press('Check token')
      const verdict = page.locator('[data-verdict]')
      await verdict.waitFor()
      const [title, next] = endings[newKeys]
      await expect.poll(() => verdict.textContent()).toMatch(title)
      expect(await page.locator('[data-step=failed]').count()).toBe(0)
      const warnings = newKeys === 'active' ? 0 : 1
      await expect.poll(() => page.locator('[data-step=warning]').count()).toBe(warnings)
      const region = page.getByRole('region', { name: 'What happens next' })
      await expect.poll(() => region.textContent()).toMatch(next)
      expect(await accessibilityViolations(page)).toEqual([])
      for (const width of [phone.viewport?.width ?? 0, 1_280]) {
        await page.setViewportSize({ width, height: 844 })
        expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
      }
      const kid = (await page.locator('.large-kid').textContent()) ?? ''
      const key = await console_.client.keys.get('default', kid)
      expect(key).toMatchObject({ active: newKeys === 'active' })
      await tabTo(page, 'Back to platform.example.com')
      expect(await page.evaluate('document.activeElement.href')).toBe(returnUrl)
    },
  )
})

/** The accessible name of what has the focus, as far as these pages need it. */
const focusedName = (page: Page) =>
  page.evaluate<string>(`{
    const { activeElement: it } = document
    it.getAttribute('aria-label') ?? it.labels?.[0]?.textContent ?? it.textContent
  }`)

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    if ((await focusedName(page)) === name) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`The Tab key does not lead to ${name}.`)
}

const newestLink = async () => {
  const [link] = await console_.client.registrationLinks.list('default')
  if (link === undefined) throw new Error('The project has no link.')
  return link
}

describe('the link', () => {
  test('is not spent by a program that previews it, and its page is framed and cached nowhere, and loads at most 190 kB of JavaScript', async () => {
    const url = await createLink(console_)
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(url, {
        method,
        headers: { 'user-agent': 'Slackbot-LinkExpanding 1.0' },
      })
      expect(response.status).toBe(200)
      const { headers } = response
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
      )
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe('no-cache')
    }
    const page = await openStranger(console_)
    await page.goto(url)
    await keyField(page).waitFor()
    const sizes = await loadedScripts(page)
    expect(Object.keys(sizes).filter((name) => /gate|panel|history|app/.test(name))).toEqual([])
    const total = Object.values(sizes).reduce((sum, size) => sum + size, 0)
    expect(total).toBeGreaterThan(50_000)
    expect(total).toBeLessThanOrEqual(190_000)
  })

  test('leaves its secret neither in the address, nor in the history, nor in the page', async () => {
    const page = await openStranger(console_)
    const url = await createLink(console_)
    const requests: string[] = []
    page.on('request', (request) =>
      requests.push(`${request.url()} ${JSON.stringify(request.headers())}`),
    )
    await page.goto(url)
    await keyField(page).waitFor()
    const { id } = await newestLink()
    expect(page.url()).toBe(`${console_.server.url}/register#${id}`)
    const [, secret = ''] = url.split('#')
    expect(await readableTexts(page)).not.toContain(secret)
    expect(requests.join('\n')).not.toContain(secret)
    await page.goto('about:blank')
    await page.goBack()
    // The cookie goes on with the session.
    await keyField(page).waitFor()
    expect(page.url()).toBe(`${console_.server.url}/register#${id}`)
  })

  test('works beside another one in the same browser, and in the same tab', async () => {
    const page = await openStranger(console_)
    await page.goto(await createLink(console_, { note: 'the first link' }))
    await page.getByText('the first link').waitFor()
    const first = page.url()
    await page.goto(await createLink(console_, { note: 'the second link' }))
    await page.getByText('the second link').waitFor()
    const second = await registerKey(page, keyFor('ES256').publicKeyPem)
    await page.goto(first)
    await page.getByText('the first link').waitFor()
    const kid = await registerKey(page, ecKey().publicKeyPem)
    expect((await newestLink()).keys).toEqual([second])
    await page.reload()
    await page.getByText(kid).first().waitFor()
  })

  test('works in one browser, until it is revoked', async () => {
    const url = await createLink(console_, { note: 'to be revoked' })
    const [page, other] = [await openStranger(console_), await openStranger(console_, phone)]
    await page.goto(url)
    await keyField(page).waitFor()
    await other.goto(url)
    await other.getByRole('heading', { name: 'This link does not work' }).waitFor()
    expect(await accessibilityViolations(other)).toEqual([])
    const links = await console_.client.registrationLinks.list('default')
    const { id = '' } = links.find(({ note }) => note === 'to be revoked') ?? {}
    await console_.client.registrationLinks.delete('default', id)
    await page.reload()
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  })
})

const hourMs = 3_600_000

describe('a link that ends while its page is open', () => {
  async function open(): Promise<Page> {
    const page = await openStranger(console_)
    await page.clock.install()
    const expireTime = new Date(clock.now() + hourMs).toISOString()
    await page.goto(await createLink(console_, { expireTime }))
    return page
  }
  const notice = (page: Page) => page.getByRole('alert').filter({ hasText: 'This link has ended' })

  test('revoked, leaves the key that was entered, and a new link in the tab goes on with it', async () => {
    const page = await open()
    const { publicKeyPem } = ecKey()
    await keyField(page).fill(publicKeyPem)
    await page.getByText('Valid key').waitFor()
    const label = page.getByLabel('Label')
    await label.fill('orders, second key')
    await console_.client.registrationLinks.delete('default', (await newestLink()).id)
    await page.getByRole('button', { name: 'Register key' }).click()
    await notice(page).waitFor()
    await expect
      .poll(() => notice(page).textContent())
      .toMatch(/for a new one, and open it in this tab/)
    const entered = async () => [await keyField(page).inputValue(), await label.inputValue()]
    expect(await entered()).toEqual([publicKeyPem, 'orders, second key'])
    expect(await accessibilityViolations(page)).toEqual([])
    await page.goto(await createLink(console_))
    await page.getByText('Valid key').waitFor()
    expect(await notice(page).count()).toBe(0)
    expect(await entered()).toEqual([publicKeyPem, 'orders, second key'])
  })

  test('expired, leaves the token that was pasted, also when the page reads its key again', async () => {
    const page = await open()
    const { publicKeyPem, privateKey } = keyFor('ES256')
    await registerKey(page, publicKeyPem)
    const token = page.getByLabel('Token', { exact: true })
    const text = signToken(privateKey, { alg: 'ES256' })
    await token.fill(text)
    clock.advance(2 * hourMs)
    await page.getByRole('button', { name: 'Check token' }).click()
    await notice(page).waitFor()
    // A tab that is shown again reads what it has read some seconds ago.
    await page.clock.fastForward(10_000)
    const read = page.waitForResponse(
      (response) => /jwt-keys/.test(response.url()) && response.status() === 401,
    )
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
    await read
    await expect.poll(() => token.inputValue()).toBe(text)
  })
})

describe('the page of a link', () => {
  test('says which algorithms the link accepts, and of a key that the project has not which it is', async () => {
    const { publicKeyPem } = rsaKey()
    const own = { algorithm: 'RS256', publicKeyPem } as const
    const kid = await console_.register('default', 'own', own)
    const page = await openStranger(console_)
    await page.goto(await createLink(console_, { algorithms: ['ES256', 'EdDSA'] }))
    await keyField(page).fill(publicKeyPem)
    await page.getByText('Still needed: a key for ES256 or EdDSA.').waitFor()
    const twin = await openStranger(console_)
    await twin.goto(await createLink(console_))
    await keyField(twin).fill(publicKeyPem)
    await twin.getByText('Valid key').waitFor()
    await twin.getByRole('button', { name: 'Register key' }).click()
    await twin.getByText('The project already has this key.').waitFor()
    expect(await readableTexts(twin)).not.toContain(kid)
  })

  test('survives a reload, has no violation of WCAG, and fits a phone', async () => {
    const page = await openStranger(console_, phone)
    await page.goto(await createLink(console_, { returnUrl }))
    await keyField(page).waitFor()
    expect(await accessibilityViolations(page)).toEqual([])
    const { publicKeyPem, privateKey } = keyFor('ES256')
    await keyField(page).fill(publicKeyPem)
    await page.getByText('Valid key').waitFor()
    await page.reload()
    await page.getByText('Valid key').waitFor()
    const kid = await registerKey(page, publicKeyPem)
    await page.reload()
    await page.getByText(kid).first().waitFor()
    expect(await checkToken(page, signToken(privateKey, { alg: 'ES256' }))).toMatch(/no kid/)
    const other = signToken(privateKey, { alg: 'ES256', kid }, { iss: 'https://other.example.com' })
    const token = page.getByLabel('Token', { exact: true })
    await token.fill(other)
    await page.getByRole('button', { name: 'Check token' }).click()
    // The advice names nothing that this page does not have.
    const verdict = page.locator('[data-verdict]', { hasText: 'set iss to exactly the expected' })
    expect(await verdict.textContent()).not.toContain('above')
    expect(await accessibilityViolations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
  })
})

describe('in the console', () => {
  test('a link is created and shown once, its key activated, the link revoked, and named by the key', async () => {
    const page = await console_.open(`/projects/${projectId}/keys`)
    await page.getByRole('button', { name: 'Registration link' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Note').fill('Initech, key of payroll')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByText('Copy it now').waitFor()
    const url = (await dialog.locator('.mono').textContent()) ?? ''
    rememberSecret('the secret of a link', new URL(url).hash.slice(1))
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    const stranger = await openStranger(console_)
    await stranger.goto(url)
    const kid = await registerKey(stranger, keyFor('ES256').publicKeyPem)
    const waiting = page.getByRole('region', {
      name: '“Initech, key of payroll” waits for approval',
    })
    await waiting.getByText('Valid key: EC, P-256').waitFor()
    await expect
      .poll(() => waiting.textContent())
      .toContain('through the registration link “Initech, key of payroll”')
    expect(await accessibilityViolations(page)).toEqual([])
    await waiting.getByRole('button', { name: 'Activate' }).click()
    await waiting.waitFor({ state: 'detached' })
    expect(await console_.client.keys.get('default', kid)).toMatchObject({ active: true })
    await page.getByRole('button', { name: 'Actions for the link Initech' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    const row = page.getByRole('row').filter({ hasText: 'Initech, key of payroll' }).last()
    await row.getByText('revoked').waitFor()
    await stranger.reload()
    await stranger.getByRole('heading', { name: 'This link does not work' }).waitFor()
    const keyPage = await console_.show(`/projects/${projectId}/keys/${kid}`)
    const details = keyPage.getByRole('region', { name: 'Details' })
    const link = details.getByRole('link', { name: 'Initech, key of payroll' })
    await expect.poll(() => link.getAttribute('href')).toBe(`#/projects/${projectId}/keys`)
  })

  test('a menu stays open when new keys push its row out of view', async () => {
    const { id } = await console_.client.projects.create({ name: 'pushed' })
    await createLink(console_, { note: 'pushed away' }, id)
    const page = await console_.open(`/projects/${id}/keys`)
    const actions = page.getByRole('button', { name: 'Actions for the link pushed away' })
    await actions.click()
    const item = page.getByRole('menuitem', { name: 'Revoke' })
    await item.waitFor()
    for (let count = 0; count < 15; count += 1) await console_.register(id, `key ${count}`)
    await expect.poll(async () => (await actions.boundingBox())?.y).toBeGreaterThan(800)
    expect(await item.isVisible()).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Revoke “pushed away”?' }).waitFor()
  })
})
