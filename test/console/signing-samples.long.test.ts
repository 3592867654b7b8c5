import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openConsole, openStranger } from '../support/console/console.ts'
import {
  checkToken,
  createLink,
  programOf,
  registerKey,
} from '../support/console/registration-links.ts'
import { run, snippetFolder } from '../support/console/snippets.ts'
import { privatePem } from '../support/keys/pem.ts'
import { keyFor } from '../support/keys/tokens.ts'
import { rememberPrivateKey, rememberSecret } from '../support/secrets.ts'

/**
 * The programs that the page of a registration link shows, but for the one in C#. That one was run by hand, with
 * keys that .NET 8 made for all algorithms that it signs with.
 */
const console_ = await openConsole()
const folder = snippetFolder()

execFileSync('python3', ['-m', 'venv', 'venv'], { cwd: folder })
const requirements = ['-r', join(process.cwd(), 'examples/verifiers/python-pyjwt/requirements.txt')]
execFileSync(join(folder, 'venv/bin/pip'), ['install', '-q', ...requirements])
for (const name of ['go.mod', 'go.sum']) {
  copyFileSync(join('examples/verifiers/go-golang-jwt', name), join(folder, name))
}

const node = { language: 'Node', file: 'sign.js', command: [process.execPath, 'sign.js'] }
const java = { language: 'Java', file: 'Sign.java', command: ['java', 'Sign.java'] }
const python = {
  language: 'Python',
  file: 'sign.py',
  command: [join(folder, 'venv/bin/python'), 'sign.py'],
}
const go = { language: 'Go', file: 'main.go', command: ['go', 'run', 'main.go'] }
const all = [node, python, java, go]

/** Signs with the private key in the folder by the program of the page, which finds the token valid. */
async function expectValidToken(page: Page, { language, file, command }: typeof node) {
  writeFileSync(join(folder, file), await programOf(page, language))
  const printed = await run(command, folder, { HOME: process.env.HOME ?? folder })
  const token = rememberSecret('a token', printed.trim())
  expect(await checkToken(page, token), language).toMatch(/^This token is valid/)
  expect(await page.locator('[data-step=failed], [data-step=warning]').count()).toBe(0)
}

test.each([
  ...(['RS256', 'RS512', 'PS256', 'PS384', 'ES256', 'ES384', 'ES512'] as const).map(
    (alg) => [alg, [...all.map(({ language }) => language), '.NET'], all] as const,
  ),
  ['EdDSA', ['Node', 'Python', 'Java', 'Go'], all] as const,
  // Java has ML-DSA from 24 on.
  ['ML-DSA-65', ['Node', 'Java'], [node]] as const,
])('each language signs with %s, and its token is valid', async (alg, languages, programs) => {
  const page = await openStranger(console_)
  await page.goto(await createLink(console_, { algorithms: [alg], newKeys: 'active' }))
  const key = keyFor(alg)
  writeFileSync(join(folder, 'private.pem'), privatePem(key))
  await registerKey(page, key.publicKeyPem)
  await expect.poll(() => page.getByRole('tab').allTextContents()).toEqual(languages)
  for (const program of programs) await expectValidToken(page, program)
})

test('a key of keytool is registered by its certificate, and Java signs with it', async () => {
  const script = `export STORE='-keystore store.p12 -storetype PKCS12 -storepass changeit -alias orders'
    keytool -genkeypair $STORE -keyalg EC -groupname secp256r1 -dname CN=orders
    openssl pkcs12 -in store.p12 -passin pass:changeit -nodes -nocerts | openssl pkcs8 -topk8 -nocrypt -out private.pem
    keytool -exportcert -rfc $STORE`
  const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore']
  const certificate = execFileSync('sh', ['-ec', script], { cwd: folder, encoding: 'utf8', stdio })
  rememberPrivateKey(readFileSync(join(folder, 'private.pem'), 'utf8'))
  const page = await openStranger(console_)
  await page.goto(await createLink(console_, { newKeys: 'active' }))
  await registerKey(page, certificate)
  await expectValidToken(page, java)
})
