import { globSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { createBlocklist } from '../../packages/intake/src/blocklists/blocklist.ts'
import { examineKey } from '../../packages/intake/src/examine.ts'
import { pem } from '../support/keys/intake.ts'
import { kindNames, privateKeyForms } from '../support/keys/key-pairs.ts'
import { expectNoSecret, findSecret, rememberSecret } from '../support/secrets.ts'
import { outputsAndDatabases, startServer, temporaryFolder } from '../support/server/process.ts'

const fixtures = join(import.meta.dirname, '../fixtures')

/** All fixtures with a private key, and all formats that node:crypto writes. */
function privateTexts(): Record<string, string> {
  const files = globSync(join(fixtures, '{keys,material}/**/*.*'))
  const read = files.map((file) => [relative(fixtures, file), readFileSync(file, 'utf8')] as const)
  const fresh = kindNames.flatMap((kind) =>
    privateKeyForms(kind).map(
      ({ form, der, label }) => [`${kind} ${form}`, pem(der, label)] as const,
    ),
  )
  return Object.fromEntries([...read.filter(([, text]) => isPrivate(text)), ...fresh])
}

function isPrivate(text: string): boolean {
  const verdict = examineKey(text, undefined, createBlocklist())
  return !verdict.ok && verdict.faults[0].code === 'private_key_submitted'
}

const texts = privateTexts()

/** The base64 of the text, and its bytes in other encodings. */
function remember(name: string, text: string): void {
  for (const [, body = ''] of blocksOf(text)) {
    rememberSecret(name, body)
    const octets = Buffer.from(body.replace(/\s/g, ''), 'base64')
    rememberSecret(`${name} in hexadecimal`, octets.toString('hex'))
    rememberSecret(`${name} in decimal`, octets.join(','))
    for (const shift of [1, 2]) {
      const shifted = Buffer.concat([Buffer.alloc(shift), octets]).toString('base64')
      rememberSecret(`${name} in base64 again`, shifted.slice(4, -4))
    }
  }
}

/** The private blocks of a PEM text; other texts as a whole. */
function blocksOf(text: string): string[][] {
  const blocks = [...text.matchAll(/-----BEGIN ([^-]+)-----(.*?)(?=-----|$)/gs)]
  const bodies = blocks.filter(([, label]) => blocks.length === 1 || label?.includes('PRIVATE'))
  if (bodies.length === 0) return [['', text]]
  return bodies.map(([, , body = '']) => ['', body.replace(/^.*: .*$/gm, '')])
}

const { folder } = temporaryFolder()
const responses: Record<string, string> = {}

const server = await startServer(folder, { PUBRING_LOG_LEVEL: 'trace' })
for (const [name, text] of Object.entries(texts)) remember(name, text)

async function post(path: string, body: string): Promise<Response> {
  const headers = { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' }
  return fetch(`${server.url}${path}`, { method: 'POST', headers, body })
}

const create = '/v1/projects/default/jwt-keys'

/** Places in a request where a user may paste it. */
const places: Record<string, (text: string) => [path: string, body: string]> = {
  publicKeyPem: (text) => [
    create,
    JSON.stringify({ name: 'pasted', algorithm: 'RSA', publicKeyPem: text }),
  ],
  'a check': (text) => ['/v1/key-checks', JSON.stringify({ publicKeyPem: text })],
  algorithm: (text) => [
    create,
    JSON.stringify({ name: 'pasted', algorithm: text, publicKeyPem: 'x' }),
  ],
  'an unknown field': (text) => [
    '/v1/key-checks',
    JSON.stringify({ publicKeyPem: 'x', [text]: 1 }),
  ],
  'a body that is no JSON': (text) => [create, `{"publicKeyPem": "${text}"}`],
}

test(`${Object.keys(texts).length} private keys are in the search, which are more than 40`, () => {
  const names = Object.keys(texts).map((name) => basename(name))
  expect(names.length).toBeGreaterThan(40)
  for (const [name, text] of Object.entries(texts)) expect(findSecret(text), name).toBeDefined()
})

test.each(Object.keys(places))('%s: rejected, and not repeated in the response', async (place) => {
  for (const [name, text] of Object.entries(texts)) {
    const response = await post(...(places[place]?.(text) ?? ['', '']))
    const body = await response.text()
    if (place === 'publicKeyPem') expect(JSON.parse(body).code, name).toBe('private_key_submitted')
    else if (place === 'a check') expect(JSON.parse(body).problem).toBe('private_key_submitted')
    else expect(response.status, name).toBe(400)
    responses[`the response to ${name} as ${place}`] = body
  }
  expectNoSecret(responses)
})

test('no 24 characters of any private key are in the database, its log or the server output', async () => {
  const running = outputsAndDatabases(folder)
  expect(Object.keys(running).some((file) => file.endsWith('-wal'))).toBe(true)
  expectNoSecret(running)
  expect(running['output 0']).toMatch(/"route":"\/v1\/key-checks"/)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  expectNoSecret(outputsAndDatabases(folder))
})
