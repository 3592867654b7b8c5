import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { openConsole, phone } from '../support/console/console.ts'
import {
  audience,
  expected,
  makeTokens,
  nodeHarness,
  run,
  snippetFolder,
  snippets,
} from '../support/console/snippets.ts'
import { startTlsProxy } from '../support/network/tls-proxy.ts'

const folder = snippetFolder()
/** The text of each snippet as the page shows it, by its title. */
const shown = new Map<string, string>()

const proxy = await startTlsProxy()
const console_ = await openConsole({ PUBRING_PUBLIC_URL: proxy.url, PUBRING_JWKS_MAX_AGE: '1' })
proxy.forwardTo(console_.server.url)
const made = await makeTokens(console_.server.url, console_.apiKey)
const { id } = await console_.client.projects.get('default')
const page = await console_.open(`/projects/${id}/connect`, phone)
await page.getByLabel('Audience of your service').fill(audience)
for (const { title } of snippets) {
  await page.getByRole('tab', { name: title, exact: true }).click()
  const block = page.getByLabel(`setup for ${title}`, { exact: true })
  shown.set(title, (await block.textContent()) ?? '')
  await page.getByText('Trusts a deactivated key').waitFor()
}
writeFileSync(join(folder, 'ca.pem'), proxy.cert)
writeFileSync(join(folder, 'harness.js'), nodeHarness)

test('the page shows exactly the snippets that tests run, here and in snippets.long.test.ts', () => {
  const { issuer } = made
  const jwksUri = `${issuer}/.well-known/jwks.json`
  const verifier = { issuer, jwksUri, algorithms: ['ES256'], audience }
  for (const { title, text } of snippets) {
    expect(shown.get(title), title).toBe(text(verifier))
  }
  expect(shown.size).toBe(7)
})

test.each(snippets.filter(({ id }) => id.startsWith('node')))(
  '$title: accepts a valid token and rejects others',
  async ({ title }) => {
    writeFileSync(join(folder, 'verify.js'), shown.get(title) ?? '')
    const command = [process.execPath, 'harness.js', ...made.tokens]
    const printed = await run(command, folder, { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') })
    expect(JSON.parse(printed)).toEqual(expected)
  },
)

test('curl: prints the discovery document, the key set and its keys as PEM', async () => {
  const ca = { CURL_CA_BUNDLE: join(folder, 'ca.pem') }
  const printed = await run(['sh', '-ec', shown.get('curl') ?? ''], folder, ca)
  expect(printed).toContain(`"issuer":"${made.issuer}"`)
  expect(printed).toContain(`"kid":"${made.kid}"`)
  expect(printed).toContain('-----BEGIN PUBLIC KEY-----')
})

test('a setup can be read on a phone, and its choice survives a reload', async () => {
  await page.getByRole('tab', { name: 'Python, PyJWT' }).click()
  expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
  await page.reload()
  const setup = page.getByLabel('setup for Python, PyJWT', { exact: true })
  // It has the algorithms of the keys once they are read.
  await expect.poll(() => setup.textContent()).toBe(shown.get('Python, PyJWT'))
})
