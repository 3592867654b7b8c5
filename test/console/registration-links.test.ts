import { execFileSync } from 'node:child_process'
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
  phone,
  readableTexts,
} from '../support/console/console.ts'
import {
  checkToken,
  createLink,
  keyField,
  openStranger,
  registerKey,
} from '../support/console/registration-links.ts'
import { run, snippetFolder } from '../support/console/snippets.ts'
import { ecKey, privatePem, rsaKey } from '../support/keys/pem.ts'
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
  make(page: Page, folder: string): Promise<string> | string
  sign(page: Page, folder: string): Promise<string>
  newKeys: 'active' | 'inactive'
}

/** A tool that makes private.pem and prints what is pasted; the program of the page for Node signs. */
const tool = (line: string, paste = (printed: string) => printed): Try => ({
  make(_page, folder) {
    const printed = execFileSync('sh', ['-ec', line], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    rememberPrivateKey(readFileSync(join(folder, 'private.pem'), 'utf8'))
    return paste(printed)
  },
  async sign(page, folder) {
    const program = await page.getByLabel('program for Node', { exact: true }).textContent()
    writeFileSync(join(folder, 'sign.js'), program ?? '')
    return (await run([process.execPath, 'sign.js'], folder)).trim()
  },
  newKeys: 'active',
})

const tries: Record<string, Try> = {
  'OpenSSL, as the page says': tool(
    'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out private.pem; openssl pkey -in private.pem -pubout',
  ),
  'ssh-keygen': tool(
    `ssh-keygen -q -t rsa -b 3072 -m PKCS8 -N '' -f private.pem; cat private.pem.pub`,
  ),
  // RSA.ExportSubjectPublicKeyInfoPem prints no line break at the end, on Windows CRLF between lines.
  '.NET': tool(
    'openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem; openssl pkey -in private.pem -pubout',
    (printed) => printed.trim().replaceAll('\n', '\r\n'),
  ),
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
      expect(await verdict.textContent()).toMatch(title)
      expect(await page.locator('[data-step=failed]').count()).toBe(0)
      const warnings = newKeys === 'active' ? 0 : 1
      expect(await page.locator('[data-step=warning]').count()).toBe(warnings)
      const region = page.getByRole('region', { name: 'What happens next' })
      expect(await region.textContent()).toMatch(next)
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
      await page.context().close()
    },
  )
})

test('the advice about a token of another issuer names nothing that the page does not have', async () => {
  const page = await openStranger(console_)
  await page.goto(await createLink(console_))
  const { publicKeyPem, privateKey } = keyFor('ES256')
  const kid = await registerKey(page, publicKeyPem)
  const token = signToken(privateKey, { alg: 'ES256', kid }, { iss: 'https://other.example.com' })
  const verdict = await checkToken(page, token)
  expect(verdict).toContain('set iss to exactly the expected issuer')
  expect(verdict).not.toContain('above')
  await page.context().close()
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
  test('is not spent by a program that previews it, and its page is framed and cached nowhere', async () => {
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
    await page.context().close()
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
    await page.context().close()
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
    await page.context().close()
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
    await Promise.all([page, other].map((each) => each.context().close()))
  })
})

const hourMs = 3_600_000

describe.each([
  ['is revoked', (id: string) => console_.client.registrationLinks.delete('default', id)],
  ['expires', async () => clock.advance(2 * hourMs)],
])('a link that %s while its page is open', (_how, end) => {
  async function open(): Promise<Page> {
    const page = await openStranger(console_)
    await page.clock.install()
    const expireTime = new Date(clock.now() + hourMs).toISOString()
    await page.goto(await createLink(console_, { expireTime }))
    return page
  }
  const notice = (page: Page) => page.getByRole('alert').filter({ hasText: 'This link has ended' })

  test('leaves the key that was entered, and a new link in the tab goes on with it', async () => {
    const page = await open()
    const { publicKeyPem } = ecKey()
    await keyField(page).fill(publicKeyPem)
    await page.getByText('Valid key').waitFor()
    const label = page.getByLabel('Label')
    await label.fill('orders, second key')
    const { id } = await newestLink()
    await end(id)
    await page.getByRole('button', { name: 'Register key' }).click()
    await notice(page).waitFor()
    expect(await notice(page).textContent()).toMatch(/for a new one, and open it in this tab/)
    const entered = async () => [await keyField(page).inputValue(), await label.inputValue()]
    expect(await entered()).toEqual([publicKeyPem, 'orders, second key'])
    expect(await accessibilityViolations(page)).toEqual([])
    await page.goto(await createLink(console_))
    await page.getByText('Valid key').waitFor()
    expect(await notice(page).count()).toBe(0)
    expect(await entered()).toEqual([publicKeyPem, 'orders, second key'])
    await page.context().close()
  })

  test('leaves the token that was pasted, also when the page reads its key again', async () => {
    const page = await open()
    const { publicKeyPem, privateKey } = keyFor('ES256')
    await registerKey(page, publicKeyPem)
    const token = page.getByLabel('Token', { exact: true })
    const text = signToken(privateKey, { alg: 'ES256' })
    await token.fill(text)
    const { id } = await newestLink()
    await end(id)
    await page.getByRole('button', { name: 'Check token' }).click()
    await notice(page).waitFor()
    // A tab that is shown again reads what it has read some seconds ago.
    await page.clock.fastForward(10_000)
    const read = page.waitForResponse(
      (response) => /jwt-keys/.test(response.url()) && response.status() === 401,
    )
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
    await read
    expect(await token.inputValue()).toBe(text)
    await page.context().close()
  })
})

describe('the page of a link', () => {
  test('sends no private key, and gives the command that prints the public one', async () => {
    const page = await openStranger(console_)
    const bodies: string[] = []
    page.on('request', (request) => bodies.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.goto(await createLink(console_))
    const pem = privatePem(ecKey())
    await keyField(page).fill(pem)
    await page.getByText('This looks like a private key. It was not sent.').waitFor()
    expect(await page.locator('[data-command]').textContent()).toMatch(/^openssl .*-pubout/)
    expect(await page.getByRole('button', { name: 'Register key' }).isDisabled()).toBe(true)
    const body = pem.replace(/-----[^-]*-----|\s/g, '')
    expect(bodies.some((each) => each.includes(body.slice(40, 80)))).toBe(false)
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain(
      body.slice(40, 80),
    )
    await page.context().close()
  })

  test('says which algorithms the link accepts, and of a key that the project has not which it is', async () => {
    const { publicKeyPem } = rsaKey()
    const { kid } = await console_.client.keys.create('default', {
      name: 'own',
      algorithm: 'RS256',
      publicKeyPem,
    })
    const page = await openStranger(console_)
    await page.goto(await createLink(console_, { algorithms: ['ES256', 'EdDSA'] }))
    await keyField(page).fill(publicKeyPem)
    await page.getByText('Still needed: a key for ES256 or EdDSA.').waitFor()
    await page.context().close()
    const twin = await openStranger(console_)
    await twin.goto(await createLink(console_))
    await keyField(twin).fill(publicKeyPem)
    await twin.getByText('Valid key').waitFor()
    await twin.getByRole('button', { name: 'Register key' }).click()
    await twin.getByText('The project already has this key.').waitFor()
    expect(await readableTexts(twin)).not.toContain(kid)
    await twin.context().close()
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
    expect(await accessibilityViolations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
    await page.context().close()
  })

  test('loads at most 190 kB of JavaScript, and none of the console', async () => {
    const page = await openStranger(console_)
    await page.goto(await createLink(console_))
    await keyField(page).waitFor()
    const sizes = await loadedScripts(page)
    expect(Object.keys(sizes).filter((name) => /gate|panel|history|app/.test(name))).toEqual([])
    const total = Object.values(sizes).reduce((sum, size) => sum + size, 0)
    expect(total).toBeGreaterThan(50_000)
    expect(total).toBeLessThanOrEqual(190_000)
    await page.context().close()
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
    expect(await accessibilityViolations(page, '[role=dialog]')).toEqual([])
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
    expect(await waiting.textContent()).toContain(
      'through the registration link “Initech, key of payroll”',
    )
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
    await stranger.context().close()
    const keyPage = await console_.show(`/projects/${projectId}/keys/${kid}`)
    const details = keyPage.getByRole('region', { name: 'Details' })
    const link = details.getByRole('link', { name: 'Initech, key of payroll' })
    expect(await link.getAttribute('href')).toBe(`#/projects/${projectId}/keys`)
  })

  test('a menu stays open when new keys push its row out of view', async () => {
    const { id } = await console_.client.projects.create({ name: 'pushed' })
    const url = await createLink(console_, { note: 'pushed away' }, id)
    const page = await console_.open(`/projects/${id}/keys`)
    const actions = page.getByRole('button', { name: 'Actions for the link pushed away' })
    await actions.click()
    const item = page.getByRole('menuitem', { name: 'Revoke' })
    await item.waitFor()
    const stranger = await openStranger(console_)
    await stranger.goto(url)
    for (let count = 0; count < 3; count += 1) {
      await registerKey(stranger, ecKey().publicKeyPem)
      await stranger.getByRole('button', { name: 'Register another key' }).click()
    }
    await stranger.context().close()
    await expect.poll(async () => (await actions.boundingBox())?.y).toBeGreaterThan(800)
    expect(await item.isVisible()).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Revoke “pushed away”?' }).waitFor()
  })
})
