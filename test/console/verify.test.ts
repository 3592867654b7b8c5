import { describe, expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'

const pair = keyFor('ES256')
const label = 'orders <b>spring</b> {{7*7}}'

const console_ = await openConsole()
const project = await console_.client.projects.get('default')
const issuer = (await console_.client.jwks.discovery(project.id)).issuer
const kid = await console_.register(project.id, label, { publicKeyPem: pair.publicKeyPem })

const seconds = (offset: number) => Math.floor(Date.now() / 1_000) + offset
const tokenWith = (claims: object, header: object = { kid }) =>
  signToken(pair.privateKey, { alg: 'ES256', ...header }, { iss: issuer, sub: 'alice', ...claims })

async function checked(token: string, expected: { audience?: string; issuer?: string } = {}) {
  const page = await console_.show(`/projects/${project.id}/verify`)
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByLabel('Expected audience').fill(expected.audience ?? '')
  await page.getByLabel('Expected issuer').fill(expected.issuer ?? '')
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.locator('[data-step]').first().waitFor()
  return page
}

const countOf = (page: Awaited<ReturnType<typeof checked>>, step: string) =>
  page.locator(`[data-step="${step}"]`).count()

describe('a valid token', () => {
  test('passes every step, and shows its key, claims and times', async () => {
    const page = await checked(tokenWith({ aud: 'orders', iat: seconds(0), exp: seconds(3_590) }), {
      audience: 'orders',
    })
    await page.getByText('This token is valid').waitFor()
    await expect.poll(() => page.locator('[data-verdict]').getAttribute('style')).toMatch(/teal/)
    expect(await countOf(page, 'failed')).toBe(0)
    await expect.poll(() => countOf(page, 'passed')).toBe(9)
    await expect
      .poll(() => page.getByRole('link', { name: label }).getAttribute('href'))
      .toContain(project.id)
    await expect
      .poll(() => page.getByLabel('Claims', { exact: true }).textContent())
      .toContain('"sub": "alice"')
    const times = page.getByRole('table', { name: 'Times of the token' })
    await expect.poll(() => times.textContent()).toMatch(/in 5\d minutes/)
  })

  test('shows what was not compared as such, and warnings, not in green', async () => {
    const page = await checked(tokenWith({ aud: 'orders', iat: seconds(3_600) }))
    const verdict = page.locator('[data-verdict]')
    await expect
      .poll(() => verdict.textContent())
      .toMatch(
        /not everything was compared.*warnings \(exp, nbf\)\. Not compared: aud\. Enter the audience/,
      )
    expect(await verdict.getAttribute('style')).not.toMatch(/teal|green/)
    const colors = async (step: string) => {
      const icons = await page.locator(`[data-step="${step}"] [role="img"]`).all()
      return Promise.all(icons.map((icon) => icon.getAttribute('style')))
    }
    const [passed = ''] = await colors('passed')
    expect(passed).toMatch(/teal/)
    const others = [...(await colors('not compared')), ...(await colors('warning'))]
    expect(others).toHaveLength(3)
    for (const style of others) expect(style).not.toMatch(/teal|green/)
  })

  test('is expected to have the issuer of the project, or the one that is entered', async () => {
    const token = tokenWith({ iss: 'https://orders.example.com' })
    const page = await checked(token)
    await page.getByText('issuer_mismatch', { exact: true }).waitFor()
    await page.getByLabel('Expected issuer').fill('https://orders.example.com')
    await page.getByRole('button', { name: 'Check token' }).click()
    await page.getByText('not everything was compared').waitFor()
    await page.getByText('This token is valid').waitFor({ state: 'detached' })
    // The fields survive a change of the tab; a reload keeps what is no secret.
    await page.getByRole('tab', { name: 'Keys' }).click()
    await page.getByRole('tab', { name: 'Check a token' }).click()
    await expect.poll(() => page.getByLabel('Token', { exact: true }).inputValue()).toBe(token)
    await page.reload()
    await page.getByText('Still needed: a token.').waitFor()
    await expect.poll(() => page.getByLabel('Expected issuer').inputValue()).toMatch(/orders/)
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain(token)
  })

  test('is sent only to the host of the console', () => {
    expect(console_.requestedHosts()).toEqual([new URL(console_.server.url).host])
  })
})

describe('an invalid token', () => {
  test.each([
    ['expired', () => tokenWith({ exp: seconds(-60) }), 'token_expired', 'The token has expired'],
    [
      'of an unknown key',
      () => tokenWith({}, { kid: '01900000-0000-7000-8000-000000000000' }),
      'kid_unknown',
      'This project has no key with this kid',
    ],
    ['cut short', () => 'eyJhbGciOi', 'malformed_token', 'This is not a complete JWT'],
  ])('(%s) shows the reason and what it means', async (_name, token, reason, title) => {
    const page = await checked(token(), {})
    await page.getByText(reason, { exact: true }).waitFor()
    await page.getByText(title).waitFor()
    await expect.poll(() => countOf(page, 'failed')).toBe(1)
  })

  test('shows the failed step, the reason and what to do, and its claims as text', async () => {
    const name = '<img src=x onerror=document.title=1>'
    const page = await checked(tokenWith({ aud: 'cats', name }), { audience: 'dogs' })
    await page.getByText('audience_mismatch', { exact: true }).waitFor()
    await page.getByText('The token is for another audience').waitFor()
    await expect.poll(() => countOf(page, 'failed')).toBe(1)
    await expect
      .poll(() => page.getByLabel('Claims', { exact: true }).textContent())
      .toContain(name)
    expect(await page.title()).not.toBe('1')
  })

  test('of a deactivated key is rejected with advice', async () => {
    await console_.client.keys.update(project.id, kid, { active: false })
    const page = await checked(tokenWith({}))
    await page.getByText('The key is inactive or has expired').waitFor()
    await page.getByText('ES256, inactive').waitFor()
    await expect.poll(() => countOf(page, 'not reached')).toBeGreaterThan(0)
    await console_.client.keys.update(project.id, kid, { active: true })
  })
})

test('a token is decoded, and the error shown, while offline', async () => {
  const page = await console_.show(`/projects/${project.id}/verify`)
  await page.getByLabel('Token', { exact: true }).fill(tokenWith({ tenant: 'acme', exp: 'soon' }))
  await page.context().setOffline(true)
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.getByText('The service cannot be reached').first().waitFor()
  await expect
    .poll(() => page.getByLabel('Claims', { exact: true }).textContent())
    .toContain('"tenant": "acme"')
  await page.context().setOffline(false)
})

test('a token is checked as of an earlier time, and is not in the curl command', async () => {
  const page = await console_.show(`/projects/${project.id}/verify`)
  const token = tokenWith({})
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Show curl command' }).click()
  const command = (await page.getByLabel('curl command').first().textContent()) ?? ''
  expect(command).toContain('X-Api-Key: $PUBRING_API_KEY')
  expect(command).not.toContain(token)
  await page.getByLabel('At (your local time)').fill('2020-01-01T00:00')
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.getByText('The key was not active at 2020-01-01T').waitFor()
  await page.getByLabel('At (your local time)').fill('2199-01-01T00:00')
  await page.getByRole('button', { name: 'Check token' }).click()
  await page.getByText('at must not lie in the future').waitFor()
})
