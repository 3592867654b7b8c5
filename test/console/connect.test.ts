import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clouds } from '../../console/src/pages/connect/snippets/clouds.ts'
import { gateways } from '../../console/src/pages/connect/snippets/gateways.ts'
import { languages } from '../../console/src/pages/connect/snippets/languages.ts'
import { node } from '../../console/src/pages/connect/snippets/node.ts'
import type { Addresses } from '../../console/src/pages/connect/snippets/types.ts'
import { openConsole, phone, type TestConsole } from '../support/console/console.ts'
import { keyFor, signToken } from '../support/keys/tokens.ts'

const publicUrl = 'https://keys.example.com/base'
const snippets = [...node, ...languages, ...gateways, ...clouds]
let console_: TestConsole
let projectId: string

beforeAll(async () => {
  console_ = await openConsole({ PUBRING_PUBLIC_URL: publicUrl })
  projectId = (await console_.client.projects.get('default')).id
  const { publicKeyPem } = keyFor('ES256')
  await console_.client.keys.create(projectId, { name: 'a', algorithm: 'ES256', publicKeyPem })
})
afterAll(() => console_.close())

const addresses = (algorithms = ['RS256', 'ES384']): Addresses => ({
  issuer: 'https://keys.example.com/v1/projects/p',
  jwksUri: 'https://keys.example.com/v1/projects/p/.well-known/jwks.json',
  algorithms,
})

test('every setup has the public addresses, whatever address the browser uses', async () => {
  const page = await console_.open(`/projects/${projectId}/connect`)
  const issuer = `${publicUrl}/v1/projects/${projectId}`
  await page.getByLabel('Audience of your service').fill('orders')
  for (const { title } of snippets) {
    await page.getByRole('tab', { name: title, exact: true }).click()
    const text = (await page.getByLabel(`setup for ${title}`, { exact: true }).textContent()) ?? ''
    expect(text, title).toContain(issuer)
    expect(text, title).toContain('orders')
    expect(text, title).not.toMatch(/AUDIENCE|127\.0\.0\.1|undefined/)
    expect(await page.getByText('Trusts a deactivated key').isVisible()).toBe(true)
  }
  expect(await page.getByText('reachable only from this machine').count()).toBe(0)
})

test('the algorithms of the active keys are pinned', async () => {
  const page = await console_.open(`/projects/${projectId}/connect`)
  const text = await page.getByLabel('setup for Node, live', { exact: true }).textContent()
  expect(text).toContain("algorithms: ['ES256']")
})

test('a setup can be chosen and read on a phone', async () => {
  const page = await console_.open(`/projects/${projectId}/connect`, phone)
  await page.getByLabel('Verifier', { exact: true }).selectOption('Python, PyJWT')
  expect(await page.getByLabel('setup for Python, PyJWT', { exact: true }).textContent()).toContain(
    'PyJWKClient',
  )
  const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
  expect(wide).toBe(false)
})

test('a loopback address is reported', async () => {
  const local = await openConsole()
  const { id } = await local.client.projects.get('default')
  const page = await local.open(`/projects/${id}/connect`)
  await page.getByText('reachable only from this machine').waitFor()
  await local.close()
})

test.each(snippets)(
  '$title: the placeholders are filled, and HS256 and none do not occur',
  (snippet) => {
    const text = snippet.text(addresses())
    expect(text).toContain(addresses().issuer)
    expect(text).not.toMatch(/HS256|['"]none['"]|undefined|\[object/)
    expect(snippet.trust).not.toBe('')
  },
)

test.each([...node, ...languages].filter(({ id }) => id !== 'node-aws'))(
  '$title: pins the algorithms',
  ({ text }) => {
    const names = text(addresses())
    for (const name of ['RS256', 'ES384']) expect(names).toContain(name)
  },
)

test('the jose setup accepts a valid token and rejects others', async () => {
  const pair = keyFor('ES256')
  const { publicKeyPem } = pair
  const key = { name: 'signer', algorithm: 'ES256' as const, publicKeyPem }
  const { kid } = await console_.client.keys.create(projectId, key)
  const { issuer } = await console_.client.jwks.discovery(projectId)
  const verify = await joseSetup(issuer)
  const claims = { iss: issuer, aud: 'orders', exp: Math.floor(Date.now() / 1_000) + 60 }
  const sign = (changed: object) =>
    signToken(pair.privateKey, { alg: 'ES256', kid }, { ...claims, ...changed })
  await expect(verify(sign({}))).resolves.toMatchObject({ aud: 'orders' })
  for (const changed of [
    { aud: 'cats' },
    { iss: 'https://else.example.com' },
    { exp: undefined },
  ]) {
    await expect(verify(sign(changed))).rejects.toThrow(/claim/)
  }
})

/** The verify function of the jose setup, with the key set of the test server. */
async function joseSetup(issuer: string): Promise<(token: string) => Promise<object>> {
  const keys = createLocalJWKSet(await console_.client.jwks.get(projectId))
  const jose = node.find(({ id }) => id === 'node-jose')
  const text = jose?.text({ issuer, jwksUri: `${issuer}/jwks`, algorithms: ['ES256'] }) ?? ''
  const body = text
    .replace(/^import .*$/m, '')
    .replaceAll('AUDIENCE', 'orders')
    .replace('export async function', 'return async function')
    .replace('token: string', 'token')
  const make = new Function('createRemoteJWKSet', 'jwtVerify', body)
  return make(() => keys, jwtVerify)
}
