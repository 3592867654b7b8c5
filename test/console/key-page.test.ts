import { createHash, createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { formsOf } from '../../console/src/keys/forms.ts'
import type { Algorithm, JwtKeyCreate } from '../../packages/client/src/index.ts'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { keyFor } from '../support/keys/tokens.ts'

const console_ = await openConsole()
const { client } = console_
const projectId = (await client.projects.get('default')).id
const page = await console_.open('/')

const register = async (name: string, members: Partial<JwtKeyCreate> = {}) =>
  client.keys.get(projectId, await console_.register(projectId, name, members))
const openKey = async (kid: string) => {
  await console_.go(`/projects/${projectId}/keys/${kid}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
}
const section = (name: string) => page.getByRole('region', { name })

test.each<Algorithm>(['RSA', 'ES512', 'EdDSA', 'ML-DSA-44'])(
  'the forms of a key for %s are those of other programs',
  async (algorithm) => {
    const { publicKeyPem } = keyFor(algorithm)
    const key = await register(`forms of ${algorithm}`, { algorithm, publicKeyPem })
    const forms = new Map(formsOf(key).map(({ name, text }) => [name, text]))
    const exported = createPublicKey(key.publicKeyPem)
    const jwk = JSON.parse(forms.get('JWK') ?? '')
    const published = (await client.jwks.get(projectId)).keys
    expect(jwk).toEqual(published.find(({ kid }) => kid === key.id))
    expect(createPublicKey({ key: jwk, format: 'jwk' }).equals(exported)).toBe(true)
    const der = Buffer.from(forms.get('DER') ?? '', 'base64')
    expect(createHash('sha256').update(der).digest('hex')).toBe(key.details.spkiSha256)
    expect(forms.get('PEM')).toBe(key.publicKeyPem)
  },
)

test('the page of a key says what it is, who registered it and what depends on it', async () => {
  const key = await register('orders')
  await openKey(key.id)
  expect(await page.title()).toBe('orders · default · Pubring')
  await page.getByText('spreading').first().waitFor()
  for (const value of [key.id, key.details.thumbprint, key.details.spkiSha256]) {
    await section('Public key').getByText(value, { exact: true }).waitFor()
  }
  await section('Public key').getByText('JWK', { exact: true }).click()
  await section('Public key').getByText(`"kid": "${key.id}"`).waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download JWK' }).click()
  const saved = await saving
  expect(saved.suggestedFilename()).toBe(`${key.id}.jwk.json`)
  expect(JSON.parse(readFileSync(await saved.path(), 'utf8'))).toMatchObject({ kid: key.id })
  await section('Details').getByText('first admin').waitFor()
  // With seconds and the time zone.
  await expect.poll(() => section('Details').textContent()).toMatch(/\d:\d\d:\d\d.*(UTC|GMT)/)
  await section('History').getByText('Registered key “orders”').waitFor()
  const impact = section('If you deactivate it')
  await impact.getByText('after a minute by default').waitFor()
})

test('it can be renamed, deactivated and deleted there, and the ledger tells what became of it', async () => {
  const { id } = await register('brief')
  await openKey(id)
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('dialog').getByLabel('Label').fill('short')
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: 'short', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await section('Who rejects it, and by when').getByText('Within a second').waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete “short”?' })
  await expect
    .poll(() => dialog.getByRole('group', { name: 'The key' }).textContent())
    .toContain(id)
  await dialog.getByRole('button', { name: 'Delete permanently' }).click()
  await page.getByRole('heading', { name: '“short”, deleted' }).waitFor()
  expect(await page.title()).toBe('Deleted key · default · Pubring')
  const known = section('What the ledger knows')
  await known.getByText(id).waitFor()
  await known.getByText('Deleted by first admin').waitFor()
  await expect
    .poll(() => known.textContent())
    .toMatch(/Deleted by first admin.*Registered by first admin/)
  await section('History').getByText('Deactivated key').waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
})

test('a rotation is on the pages of both its keys', async () => {
  const [old, fresh] = [await register('old'), await register('new')]
  const { id } = await client.rotations.start(projectId, {
    from: old.id,
    to: fresh.id,
    tokenLifetime: 60,
  })
  await openKey(fresh.id)
  await section('Rotation').getByText('verifiers are still loading the new key').waitFor()
  await section('Rotation').getByRole('link', { name: 'old', exact: true }).click()
  await page.getByRole('heading', { name: 'old', exact: true }).waitFor()
  await section('Rotation').getByText('Replaced by').waitFor()
  await section('Rotation').getByText('Started by first admin').waitFor()
  await client.rotations.abandon(projectId, id)
  await section('Rotation').getByText('abandoned on').waitFor()
  await section('Rotation').getByRole('link', { name: 'Continue' }).waitFor({ state: 'detached' })
  expect(await client.keys.get(projectId, old.id)).toMatchObject({ active: true })
})

test('a published kid leads to its key, and that to the key that vouched for it', async () => {
  const { id: kid } = await register('known', { publishedKid: 'a/b+c' })
  await page.route('**/jwt-keys/a%2Fb%2Bc', async (route) => {
    const response = await route.fetch()
    const key = await response.json()
    await route.fulfill({ json: { ...key, details: { ...key.details, introducedBy: projectId } } })
  })
  await openKey(encodeURIComponent('a/b+c'))
  await page.getByRole('heading', { name: 'known', exact: true }).waitFor()
  await section('Public key').getByText(kid, { exact: true }).waitFor()
  await section('Public key').getByText('a/b+c', { exact: true }).waitFor()
  const voucher = section('Details').getByRole('link', { name: projectId })
  await expect
    .poll(() => voucher.getAttribute('href'))
    .toBe(`#/projects/${projectId}/keys/${projectId}`)
})
