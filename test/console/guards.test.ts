import { execFileSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { convert } from '../../console/src/keys/conversion.ts'
import { adviseOn } from '../../console/src/keys/secret-text.ts'
import {
  accessibilityViolations,
  openConsole,
  openStranger,
  plainHost,
} from '../support/console/console.ts'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'
import { freePort } from '../support/server/process.ts'

const port = await freePort()
/** An address that is neither https nor loopback. */
const plainUrl = `http://${plainHost}:${port}`
const console_ = await openConsole({ PUBRING_PORT: String(port), PUBRING_PUBLIC_URL: plainUrl })
const { client } = console_
const projectId = (await client.projects.get('default')).id

/** A place with each kind of text field: its route, what opens it, and its fields. */
const places = [
  { route: '/', button: undefined, fields: ['Search projects'] },
  { route: '/api-keys', button: 'New API key', fields: ['Name', 'Project'] },
  { route: `/projects/${projectId}/verify`, button: undefined, fields: ['Token'] },
]

test('a private key in any kind of field is neither sent nor stored', async () => {
  const secret = privatePem(ecKey())
  const body = secret.replace(/-----.*-----|\s/g, '')
  const hex = Buffer.from(body, 'base64').toString('hex')
  const page = await console_.open('/')
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  for (const { route, button, fields } of places) {
    await console_.go(route)
    if (button !== undefined) await page.getByRole('button', { name: button }).click()
    const scope = button === undefined ? page : page.getByRole('dialog')
    for (const name of fields) {
      const field = scope.getByRole('textbox', { name }).or(scope.getByRole('combobox', { name }))
      for (const text of [secret, hex]) {
        await field.fill(text)
        await page.getByText('It was not sent.').waitFor()
        await field.press('Enter')
      }
      await page.getByRole('button', { name: 'Clear the field' }).click()
      expect(await field.inputValue()).toBe('')
    }
    if (button !== undefined) await page.getByRole('button', { name: 'Cancel' }).click()
  }
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...sessionStorage }, { ...localStorage }])',
  )
  for (const part of [body.slice(10, 50), hex.slice(20, 60)]) {
    expect(sent.filter((each) => each.includes(part))).toEqual([])
    expect(stored).not.toContain(part)
  }
})

test('a private key that is pasted in place of an API key is not sent', async () => {
  const page = await openStranger(console_)
  await page.goto(`${console_.server.url}/console/`)
  await page.getByLabel('API key', { exact: true }).waitFor()
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  const secret = privatePem(ecKey()).replace(/-----.*-----|\s/g, '')
  await page.getByLabel('API key', { exact: true }).fill(secret)
  await page.getByText('It was not sent.').waitFor()
  await page.keyboard.press('Enter')
  expect(sent).toEqual([])
})

test('the sign-in at another address than the public URL leads to the page there', async () => {
  const page = await openStranger(console_)
  await page.goto(`${console_.server.url}/console/#/projects/${projectId}`)
  await page.getByText('This is not the address of the console').waitFor()
  await page.getByRole('link', { name: `${plainUrl}/console/` }).click()
  await page.waitForURL(`${plainUrl}/console/#/projects/${projectId}`)
  await page.getByLabel('API key', { exact: true }).waitFor()
  await page.getByText('This is not the address of the console').waitFor({ state: 'detached' })
})

test('pages have no text fields but the guarded ones', () => {
  const unguarded =
    /\b(TextInput|Textarea|PasswordInput|Autocomplete|TagsInput|JsonInput|PillsInput|searchable|<input|<textarea)\b/
  const files = globSync('console/src/**/*.tsx').filter((file) => !file.includes('/forms/'))
  // The text of this one is selected for copying, and cannot be changed.
  const found = files.filter((file) => unguarded.test(readFileSync(file, 'utf8')))
  expect(found).toEqual(['console/src/components/copy.tsx'])
})

const pemOf = (key: KeyObject) =>
  createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
const mlDsa = generateKeyPairSync('ml-dsa-44').privateKey
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ed = generateKeyPairSync('ed25519').privateKey
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey

/** Runs the command that the console recommends for a private key, beside a file with the key. */
function publicHalf(secret: string): string {
  const { command = '' } = adviseOn(rememberSecret('a private key', secret))
  expect(command).not.toBe('')
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  try {
    writeFileSync(join(folder, 'private.key'), secret, { mode: 0o600 })
    return execFileSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function openSsh(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const options = ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'id')]
  try {
    execFileSync('ssh-keygen', options)
    return readFileSync(join(folder, 'id'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test.each([
  ['PKCS #1', () => rsa.export({ type: 'pkcs1', format: 'pem' }).toString()],
  ['SEC 1', () => p521.export({ type: 'sec1', format: 'pem' }).toString()],
  ['an ML-DSA JWK', () => JSON.stringify(mlDsa.export({ format: 'jwk' }))],
  ['a JWKS', () => JSON.stringify({ keys: [ed.export({ format: 'jwk' })] })],
  ['OpenSSH', openSsh],
])(
  'the advice for a private key in %s prints a public key that the console takes',
  async (_form, make) => {
    const printed = publicHalf(make())
    const publicKeyPem = convert(printed)[0]?.pem ?? printed
    expect(await client.keys.check({ publicKeyPem })).toMatchObject({ accepted: true })
  },
)

test.each([
  ['EC, P-521, whose coordinates begin with a short byte', p521],
  ['RSA', rsa],
  ['Ed25519', ed],
  ['ML-DSA', mlDsa],
])('a public JWK is converted as Node does it: %s', (_kind, key) => {
  const jwk = createPublicKey(key).export({ format: 'jwk' })
  expect(convert(JSON.stringify(jwk))[0]?.pem).toBe(pemOf(key))
})

test('on plain http nothing is copied in silence, and the secret is not lost', async () => {
  const page = await console_.open('/api-keys', { url: plainUrl })
  expect(await page.evaluate('isSecureContext')).toBe(false)
  await page.getByRole('button', { name: 'New API key' }).click()
  await page.getByLabel('Name').fill('by hand')
  await page.getByRole('button', { name: 'Create API key' }).click()
  const dialog = page.getByRole('dialog', { name: 'API key created' })
  const secret = (await dialog.getByText(/^pubring_/).textContent()) ?? ''
  rememberSecret('an API key', secret)
  await page.keyboard.press('Escape')
  await dialog.getByText('Not copied yet').waitFor()
  await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  expect(await dialog.isVisible()).toBe(true)
  await dialog.getByRole('button', { name: 'Copy API key' }).click()
  await page.getByText('because it is not https').waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  expect(
    await page.evaluate(
      'String(document.activeElement.value).slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)',
    ),
  ).toBe(secret)
  await page.keyboard.press('Control+c')
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  // A JWK is converted without the cryptography that browsers reserve for https.
  await page.goto(`${plainUrl}/console/#/projects/${projectId}`)
  await page.getByRole('button', { name: 'Register a key' }).click()
  const jwk = createPublicKey(ecKey().publicKeyPem).export({ format: 'jwk' })
  await page.getByRole('textbox', { name: 'Public key' }).fill(JSON.stringify(jwk))
  await page.getByRole('button', { name: 'Extract public key' }).click()
  await page.getByText('Valid key').waitFor()
  // A history can be verified only with it.
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.goto(`${plainUrl}/console/#/projects/${projectId}/history`)
  await page.getByRole('button', { name: 'Verify this history' }).click()
  await page.getByRole('alert').getByText('only on https pages').waitFor()
})
