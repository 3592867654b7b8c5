import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { freshPair } from '../support/keys/key-pairs.ts'
import { ecKey, edKey, privatePem, rsaKey } from '../support/keys/pem.ts'

const console_ = await openConsole()

const fixture = (name: string) => readFileSync(`test/fixtures/material/${name}`, 'utf8')
const field = (page: Page) => page.getByRole('textbox', { name: 'Public key' })

async function openForm(show = console_.show): Promise<Page> {
  const page = await show('/projects/default')
  await page.getByRole('button', { name: 'Register a key' }).click()
  await field(page).waitFor()
  return page
}

/** Drops a file on the field. */
async function drop(page: Page, bytes: Buffer, name: string): Promise<void> {
  const transfer = await page.evaluateHandle(`{
    const transfer = new DataTransfer()
    const content = Uint8Array.from(atob('${bytes.toString('base64')}'), (each) => each.charCodeAt(0))
    transfer.items.add(new File([content], '${name}'))
    transfer
  }`)
  await field(page).dispatchEvent('drop', { dataTransfer: transfer })
}

/** Registers the key in the field and returns it as listed by the service. */
async function register(page: Page, label: string) {
  await page.getByText('Valid key').waitFor()
  await page.getByLabel('Label').fill(label)
  await page.getByRole('button', { name: 'Register key' }).click()
  return registered(page, label)
}

async function registered(page: Page, label: string) {
  await page.getByText('verifiers are still loading the key').waitFor()
  const keys = await console_.client.keys.list('default')
  const key = keys.find((each) => each.label === label)
  await expect.poll(() => page.getByRole('dialog').textContent()).toContain(key?.id)
  return key
}

/** The requests that the page sends from now on. */
function recordRequests(page: Page): string[] {
  const bodies: string[] = []
  page.on('request', (request) => bodies.push(`${request.url()} ${request.postData() ?? ''}`))
  return bodies
}

const storages = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'

describe('a key is registered', () => {
  test('from a chosen file with a certificate, converted in the browser', async () => {
    const page = await openForm()
    const buffer = Buffer.from(fixture('cert_valid.pem'))
    const file = { name: 'cert.pem', mimeType: 'text/plain', buffer }
    await page.locator('input[type=file]').setInputFiles(file)
    await page.getByText('This is a certificate').waitFor()
    await page.getByRole('button', { name: 'Extract public key' }).click()
    expect(await register(page, 'from a certificate')).toMatchObject({ active: true })
  })

  test('from pasted text with CRLF and leading spaces, in canonical form', async () => {
    const page = await openForm()
    const { publicKeyPem } = rsaKey()
    await field(page).fill(`   ${publicKeyPem.replaceAll('\n', '\r\n')}`)
    await page.getByText('RSA, 2048 bits').waitFor()
    const key = await register(page, 'pasted')
    expect(key).toMatchObject({ publicKeyPem, active: true })
  })

  test('from a dropped DER file, with a matching algorithm, by the keyboard', async () => {
    const page = await console_.show('/projects/default')
    await page.getByRole('button', { name: 'Register a key' }).focus()
    await page.keyboard.press('Enter')
    await field(page).waitFor()
    const { publicKey } = freshPair('P-384')
    await drop(page, publicKey.export({ type: 'spki', format: 'der' }), 'key.der')
    await page.getByText('Valid key').waitFor()
    await page.getByLabel('Label').focus()
    await page.keyboard.type('dropped')
    await page.keyboard.press('Enter')
    const key = await registered(page, 'dropped')
    const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' })
    expect(key).toMatchObject({ algorithm: 'ES384', publicKeyPem })
  })

  test('with the kid of the JWK that was chosen in a JWKS, and the name in an OpenSSH key', async () => {
    const page = await openForm()
    const keys = ['a', 'b'].map((kid) => ({
      ...freshPair('P-256').publicKey.export({ format: 'jwk' }),
      kid: `orders-${kid}`,
    }))
    await field(page).fill(JSON.stringify({ keys }))
    await page.getByLabel('Key to extract').selectOption('orders-b')
    await page.getByText('“orders-b”, becomes the published kid').waitFor()
    await page.getByRole('button', { name: 'Extract public key' }).click()
    await page.getByText('Valid key').waitFor()
    const kid = page.getByLabel('Published kid')
    await expect.poll(() => kid.inputValue()).toBe('orders-b')
    await field(page).fill(sshKey())
    await page.getByText('The label will be “alice@example.com”').waitFor()
    await page.getByRole('button', { name: 'Extract public key' }).click()
    await page.getByText('Valid key').waitFor()
    await expect.poll(() => page.getByLabel('Label').inputValue()).toBe('alice@example.com')
    // It was that of another key.
    expect(await kid.inputValue()).toBe('')
    await page.getByRole('button', { name: '90 days' }).click()
    const key = await register(page, 'alice@example.com')
    const days = (Date.parse(key?.expireTime ?? '') - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(90)
  })
})

test('a version of a key of transit is chosen; a key of AWS is registered as it is', async () => {
  const page = await openForm()
  const [old, next] = [ecKey().publicKeyPem, ecKey().publicKeyPem]
  const keys = { 1: { public_key: old }, 2: { public_key: next } }
  await field(page).fill(JSON.stringify({ data: { keys, supports_signing: true } }))
  await page.getByText('Vault or OpenBao: choose a version').waitFor()
  await page.getByLabel('Key to extract').selectOption('Version 1')
  await page.getByRole('button', { name: 'Extract public key' }).click()
  expect((await register(page, 'from transit'))?.publicKeyPem).toBe(old)
  const other = await openForm()
  const PublicKey = next.replaceAll(/-----.*?-----|\s/g, '')
  await field(other).fill(JSON.stringify({ KeyId: 'a', PublicKey, KeyUsage: 'SIGN_VERIFY' }))
  expect((await register(other, 'from AWS'))?.publicKeyPem).toBe(next)
})

/** An Ed25519 key as in a .pub file: each part after its length (RFC 8709 section 4). */
function sshKey(): string {
  const { x = '' } = edKey().privateKey.export({ format: 'jwk' })
  const parts = [Buffer.from('ssh-ed25519'), Buffer.from(x, 'base64url')]
  const lengthOf = (part: Buffer) => Buffer.from([0, 0, 0, part.length])
  const blob = Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]))
  return `ssh-ed25519 ${blob.toString('base64')} alice@example.com`
}

describe('a private key is rejected before anything is sent', () => {
  test.each([
    ['pasted', (page: Page, pem: string) => field(page).fill(pem)],
    ['dropped as DER', (page: Page, pem: string) => drop(page, derOf(pem), 'private.der')],
  ])('%s', async (_how, enter) => {
    const page = await openForm(console_.open)
    await page.clock.install()
    const bodies = recordRequests(page)
    const pem = privatePem(ecKey())
    await enter(page, pem)
    await page.getByText('It was not sent.').waitFor()
    await page.getByText('treat the key as compromised').waitFor()
    await expect
      .poll(() => page.locator('[data-command]').textContent())
      .toMatch(/^openssl .*-pubout/)
    await page.getByLabel('Label').fill('private')
    await page.clock.fastForward(5_000)
    expect(await page.getByRole('button', { name: 'Register key' }).isDisabled()).toBe(true)
    // The page loads code, and refreshes what it shows, by requests without a body.
    expect(bodies.filter((body) => !body.endsWith(' '))).toEqual([])
    expect(decodeURIComponent(bodies.join('\n'))).not.toContain(pem.slice(40, 80))
    expect(await page.evaluate(storages)).not.toContain(pem.slice(40, 80))
    await page.getByRole('button', { name: 'Clear the field' }).click()
    expect(await field(page).inputValue()).toBe('')
  })
})

function derOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----.*-----|\s/g, ''), 'base64')
}

describe('a key that cannot be registered', () => {
  test('because it is weak is reported while the user types', async () => {
    const page = await openForm()
    const publicKeyPem = fixture('rsa1024.pem')
    await field(page).fill(publicKeyPem)
    await page.getByRole('dialog').getByText('cannot be registered').waitFor()
    const { faults } = await console_.client.keys.check({ publicKeyPem })
    expect(faults).not.toEqual([])
    for (const { detail } of faults) await page.getByText(detail).waitFor()
    expect(await page.getByRole('button', { name: 'Register key' }).isDisabled()).toBe(true)
  })

  test('because it exists is reported before it is sent, and the input is kept', async () => {
    const { publicKeyPem } = ecKey()
    const kid = await console_.register('default', 'first', { publicKeyPem })
    const page = await openForm()
    await page.getByText('Still needed: a public key and a label.').waitFor()
    await field(page).fill(publicKeyPem)
    await page.getByLabel('Label').fill('second')
    await page.getByText('This key is already registered').waitFor()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.textContent()).toContain(kid)
    expect(await dialog.getByText('Valid key').count()).toBe(0)
    await page.getByText('Still needed: a key that is not registered yet.').waitFor()
    expect(await page.getByRole('button', { name: 'Register key' }).isDisabled()).toBe(true)
    await expect.poll(() => page.getByLabel('Label').inputValue()).toBe('second')
  })

  test('because the service is unreachable is registered later with the same input', async () => {
    const page = await openForm()
    await field(page).fill(ecKey().publicKeyPem)
    await page.getByText('Valid key').waitFor()
    await page.getByLabel('Label').fill('after a cut')
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Register key' }).click()
    await page.getByText('The service cannot be reached').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Register key' }).click()
    await registered(page, 'after a cut')
  })
})
