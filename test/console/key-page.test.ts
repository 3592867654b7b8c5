import { execFileSync } from 'node:child_process'
import { createHash, createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { expect, test } from 'vitest'
import { convert } from '../../console/src/keys/conversion.ts'
import { formsOf } from '../../console/src/keys/forms.ts'
import {
  type Algorithm,
  createClient,
  type JwtKeyWithDetails,
} from '../../packages/client/src/index.ts'
import { accessibilityViolations, openConsole } from '../support/console/console.ts'
import { ecKey } from '../support/keys/pem.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'

/** By public key. */
const privateKeys = new Map<string, KeyObject>()

const console_ = await openConsole()
const projectId = (await console_.client.projects.get('default')).id
const page = await console_.open('/')

async function register(name: string, algorithm: Algorithm = 'ES256') {
  const { publicKeyPem, privateKey } = keyFor(algorithm)
  privateKeys.set(publicKeyPem, privateKey)
  const { kid } = await console_.client.keys.create(projectId, { name, algorithm, publicKeyPem })
  return console_.client.keys.get(projectId, kid)
}

const openKey = async (kid: string) => {
  await page.goto(`${console_.server.url}/console/#/projects/${projectId}/keys/${kid}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
}
const section = (name: string) => page.getByRole('region', { name })

test.each<Algorithm>(['RSA', 'ES256', 'ES384', 'ES512', 'EdDSA', 'ML-DSA-44'])(
  'the forms of a key for %s are those of other programs',
  async (algorithm) => {
    const key = await register(`forms of ${algorithm}`, algorithm)
    const forms = new Map(formsOf(key).map(({ name, text }) => [name, text]))
    const exported = createPublicKey(key.publicKeyPem)
    const jwk = JSON.parse(forms.get('JWK') ?? '')
    const published = (await console_.client.jwks.get(projectId)).keys
    expect(jwk).toEqual(published.find(({ kid }) => kid === key.id))
    expect(createPublicKey({ key: jwk, format: 'jwk' }).equals(exported)).toBe(true)
    const der = Buffer.from(forms.get('DER') ?? '', 'base64')
    expect(createHash('sha256').update(der).digest('hex')).toBe(key.details.spkiSha256)
    expect(forms.get('PEM')).toBe(key.publicKeyPem)
    const ssh = forms.get('OpenSSH')
    if (algorithm === 'ML-DSA-44') expect(ssh).toBeUndefined()
    else expect(readByOpenSsh(ssh ?? '').equals(exported)).toBe(true)
  },
)

function readByOpenSsh(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-forms-'))
  const file = join(folder, 'key.pub')
  writeFileSync(file, text)
  // It converts no Ed25519 key, but names only one that it can read.
  const isEd25519 = text.startsWith('ssh-ed25519')
  const args = isEd25519 ? ['-l', '-f', file] : ['-e', '-m', 'PKCS8', '-f', file]
  const printed = execFileSync('ssh-keygen', args, { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return createPublicKey(isEd25519 ? (convert(text)[0]?.pem ?? '') : printed)
}

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
  expect(await section('Details').textContent()).toMatch(/\d:\d\d:\d\d.*(UTC|GMT)/)
  await section('History').getByText('Registered key “orders”').waitFor()
  const impact = section('If you deactivate it')
  await impact.getByText('after a minute by default').waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
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
  expect(await dialog.getByRole('group', { name: 'The key' }).textContent()).toContain(id)
  await dialog.getByRole('button', { name: 'Delete permanently' }).click()
  await page.getByRole('heading', { name: '“short”, deleted' }).waitFor()
  expect(await page.title()).toBe('Deleted key · default · Pubring')
  const known = section('What the ledger knows')
  await known.getByText(id).waitFor()
  await known.getByText('Deleted by first admin').waitFor()
  expect(await known.textContent()).toMatch(/Deleted by first admin.*Registered by first admin/)
  await section('History').getByText('Deactivated key').waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
})

test('a rotation is on the pages of both its keys', async () => {
  const { rotations, keys } = console_.client
  const [old, fresh] = [await register('old'), await register('new')]
  const { id } = await rotations.start(projectId, {
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
  expect(await accessibilityViolations(page)).toEqual([])
  await rotations.abandon(projectId, id)
  await section('Rotation').getByText('abandoned on').waitFor()
  await section('Rotation').getByRole('link', { name: 'Continue' }).waitFor({ state: 'detached' })
  expect(await keys.get(projectId, old.id)).toMatchObject({ active: true })
})

test('a key that another one vouched for links to it, and stays when that is deactivated', async () => {
  const key = await register('voucher')
  const successor = await vouchedBy(key)
  await openKey(key.id)
  await page.getByRole('button', { name: 'Deactivate' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await console_.client.keys.get(projectId, successor)).toMatchObject({ active: true })
  await openKey(successor)
  await section('Details').getByRole('link', { name: key.id }).waitFor()
})

/** Lets a key vouch for a new one, and registers that; its kid. */
async function vouchedBy({ id, publicKeyPem }: JwtKeyWithDetails): Promise<string> {
  const { client, server } = console_
  const { issuer } = await client.jwks.discovery(projectId)
  await client.accessRules.create({
    for: 'workloads',
    name: 'keys rotate themselves',
    issuer,
    keySource: 'project',
    conditions: {},
    role: 'registrar',
    project: projectId,
  })
  const next = keyFor('ES256')
  const jwk = createPublicKey(next.publicKeyPem).export({ format: 'jwk' })
  const jkt = await calculateJwkThumbprint(jwk as JWK)
  const token = (kid: string | undefined, signer: KeyObject) =>
    signToken(
      signer,
      { alg: 'ES256', typ: 'pubring-rotation+jwt', ...(kid && { kid }) },
      {
        iss: issuer,
        aud: server.url,
        exp: Math.floor(Date.now() / 1_000) + 240,
        jti: randomUUID(),
        cnf: { jkt },
      },
    )
  const vouching = privateKeys.get(publicKeyPem)
  if (vouching === undefined) throw new Error('The key was not made here.')
  const service = createClient({ url: server.url, credentials: () => token(id, vouching) })
  const key = { name: 'vouched', algorithm: 'ES256', publicKeyPem: next.publicKeyPem } as const
  return (
    await service.keys.create(projectId, { ...key, proof: token(undefined, next.privateKey) })
  ).kid
}

test('a published kid leads to its key', async () => {
  const { publicKeyPem } = ecKey()
  const key = { name: 'known', algorithm: 'ES256', publicKeyPem, publishedKid: 'a/b+c' } as const
  const { kid } = await console_.client.keys.create(projectId, key)
  await openKey(encodeURIComponent('a/b+c'))
  await page.getByRole('heading', { name: 'known', exact: true }).waitFor()
  await section('Public key').getByText(kid, { exact: true }).waitFor()
  await section('Public key').getByText('a/b+c', { exact: true }).waitFor()
})
