import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, edKey, privatePem, rsaKey, type TestKey } from '../support/keys/pem.ts'
import { startShell } from './support.ts'

/*
 * The same texts go through the API, `key add`, `import` and `apply`, which take the same ones for the
 * same keys, and refuse the others with the same words.
 */

const shell = await startShell()

/** What the readers make of a text: the key that they register, or what they say. */
interface Reading {
  spki?: string
  said: string
}

let projects = 0

/** Registers the text as each reader takes it, in a project of its own. */
async function readings(text: string): Promise<Record<string, Reading>> {
  const file = shell.file('text', text)
  const declare = (project: string) =>
    shell.file('keys.json', JSON.stringify({ project, keys: [{ label: 'k', publicKeyPem: text }] }))
  const declareFile = (project: string) =>
    shell.file('files.json', JSON.stringify({ project, keys: [{ label: 'k', file: 'text' }] }))
  const readers: Record<string, (project: string) => Promise<{ said: string }>> = {
    add: async (project) => said(['key', 'add', file, '--label', 'k', '--project', project]),
    import: async (project) => said(['import', file, '--project', project]),
    apply: async (project) => said(['apply', declare(project)]),
    'apply of a file': async (project) => said(['apply', declareFile(project)]),
  }
  async function said(args: string[]) {
    const { stdout, stderr } = await shell.pubring(args)
    return { said: stdout + stderr }
  }
  const found: Record<string, Reading> = {}
  for (const [name, read] of Object.entries(readers)) {
    projects += 1
    const project = `p${projects}`
    await shell.test.send('POST', '/v1/projects', { body: { name: project } })
    const reading = await read(project)
    const [key] = (await shell.test.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
    found[name] = key === undefined ? reading : { ...reading, spki: key.publicKeyPem }
  }
  return found
}

/** The verdict of the API on the text. */
const check = async (text: string) =>
  (await shell.test.send('POST', '/v1/key-checks', { body: { publicKeyPem: text } })).json()

const lines = (pem: string) => pem.trim().split('\n')
const folded = (pem: string) => `${lines(pem).join(' ')}\n`
const layouts: Record<string, (pem: string) => string> = {
  canonical: (pem) => pem,
  CRLF: (pem) => pem.replaceAll('\n', '\r\n'),
  'CR alone': (pem) => pem.replaceAll('\n', '\r'),
  'no final line break': (pem) => pem.trim(),
  'a byte order mark': (pem) => `\uFEFF${pem}`,
  indented: (pem) => pem.replaceAll(/^(?=.)/gm, '    '),
  'blank lines': (pem) => pem.replaceAll('\n', '\n\n'),
  quotes: (pem) => `"${pem.trim()}"`,
  'literal \\n': (pem) => `${lines(pem).join('\\n')}\\n`,
  'literal \\r\\n': (pem) => lines(pem).join('\\r\\n'),
  'literal \\n in quotes': (pem) => JSON.stringify(pem),
  'one line with spaces': folded,
  'one line': (pem) => lines(pem).join(''),
  'another width': (pem) => pem.replace(/(?<=-----\n)[^-]+/, (body) => body.replaceAll('\n', '')),
}
const kinds: Record<string, () => TestKey> = { EC: ecKey, RSA: rsaKey, Ed25519: edKey }

describe('every layout of a key is taken by all', () => {
  // A layout is repaired before the kind of the key is known; the intake has tests of those of RSA.
  const rows = Object.entries(kinds).flatMap(([kind, make]) =>
    Object.entries(layouts)
      .filter(([layout]) => kind === 'EC' || ['canonical', 'another width'].includes(layout))
      .map(([layout, write]) => [kind, layout, make, write] as const),
  )
  test.each(rows)('%s, %s', async (_kind, _layout, make, write) => {
    const { publicKeyPem } = make()
    const text = write(publicKeyPem)
    expect(await check(text)).toMatchObject({ accepted: true, publicKeyPem })
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, `${reader}: ${said}`).toBe(publicKeyPem)
    }
  })
})

const jwkOf = (key: TestKey, more: object = {}) => ({
  ...createPublicKey(key.publicKeyPem).export({ format: 'jwk' }),
  ...more,
})

function sshOf({ publicKeyPem }: TestKey): string {
  const file = shell.file('for-ssh.pem', publicKeyPem)
  return execFileSync('ssh-keygen', ['-i', '-m', 'PKCS8', '-f', file]).toString()
}

describe('other formats are converted on this machine by all, and the API says how', () => {
  test.each<[string, (key: TestKey) => string, RegExp]>([
    ['a JWK', (key) => JSON.stringify(jwkOf(key)), /This is a JWK\. Convert it: /],
    ['a JWKS', (key) => JSON.stringify({ keys: [jwkOf(key)] }), /with one key\. To convert it: /],
    ['an SSH key', sshOf, /This is an SSH key\. Convert it: /],
  ])('%s', async (_name, write, advice) => {
    const key = ecKey()
    const text = write(key)
    expect((await check(text)).faults[0].detail).toMatch(advice)
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, `${reader}: ${said}`).toBe(key.publicKeyPem)
    }
  })
})

/** Begins like an SSH certificate, whose fields are not all texts with their length. */
const certificateName = 'ssh-ed25519-cert-v01@openssh.com'
const certBlob = Buffer.concat([
  Buffer.from([0, 0, 0, certificateName.length]),
  Buffer.from(certificateName),
  Buffer.alloc(40, 7),
]).toString('base64')

describe('everything else is refused by all, with the same words', () => {
  const pem = ecKey().publicKeyPem
  const hex = (text = '') => Buffer.from(text, 'base64url').toString('hex')
  const rsa: Record<string, unknown> = jwkOf(rsaKey())
  const ec: Record<string, unknown> = jwkOf(ecKey())
  test.each<[string, string, RegExp]>([
    ['a weak key', fixture('keys/rsa/bits-1024.pem'), /has 1024 bits/],
    ['a certificate request', fixture('keys/wrongtype/csr.pem'), /certificate request/],
    ['PKCS#7', fixture('formats/n30-pkcs7.pem'), /PKCS#7 bundle.* openssl pkcs7 -print_certs/],
    ['UTF-16', Buffer.from(`\uFEFF${pem}`, 'utf16le').toString('utf8'), /This is UTF-16/],
    ['typographic dashes', pem.replaceAll('-----', '—————'), /typographic/],
    ['a web page', '<!DOCTYPE html><html>', /a web page/],
    ['a path', './keys/public.pem', /the name of a file/],
    ['an unset variable', 'undefined', /unset variable/],
    ['a cut-off block', lines(pem).slice(0, 2).join('\n'), /END line/],
    ['lost characters', pem.replace(/(?<=-----\n.{20})./, ' '), /spaces inside the base64/],
    ['an SSH certificate', `ssh-ed25519-cert-v01@openssh.com ${certBlob} a@b`, /without -cert/],
    ['a JWK without n', JSON.stringify({ ...rsa, n: undefined }), /member n is missing/],
    ['a JWK whose e is a number', JSON.stringify({ ...rsa, e: 65537 }), /member e is not a text/],
    ['n in hex', JSON.stringify({ ...rsa, n: hex(String(rsa.n)) }), /member n is in hexadecimal/],
    ['crv P256', JSON.stringify({ ...ec, crv: 'P256' }), /member crv is not written like P-256/],
    ['a PGP key', fixture('keys/wrongtype/pgp-public.asc'), /PGP key/],
  ])('%s', async (_name, text, words) => {
    const { accepted, faults } = await check(text)
    expect(accepted).toBe(false)
    expect(faults[0].detail).toMatch(words)
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, reader).toBeUndefined()
      expect(said.replaceAll(/\s+/g, ' '), reader).toMatch(words)
    }
  })

  test('a private key', async () => {
    for (const [reader, { spki, said }] of Object.entries(await readings(privatePem(ecKey())))) {
      expect(spki, reader).toBeUndefined()
      expect(said, reader).toMatch(/private key.*(?:not sent|[Nn]othing was sent)/)
    }
  })
})

test('an import names what is wrong with a JWK, and takes sets in an array or in a wrapper', async () => {
  const outcome = async (value: unknown) => {
    const file = shell.file('set.json', JSON.stringify(value))
    return (await shell.pubring(['import', file, '--dry-run'])).stdout
  }
  const { x, y, ...rest }: Record<string, unknown> = jwkOf(ecKey())
  expect(await outcome({ keys: [{ ...rest, x: y, y: x }] })).toMatch(/x and y .* other’s place/)
  const late = { ...jwkOf(ecKey()), exp: '2030-01-01T00:00:00Z' }
  expect(await outcome({ keys: [late] })).toMatch(/refused.*exp and nbf must be numbers/)
  expect(await outcome([jwkOf(ecKey(), { kid: 'a' })])).toMatch(/^1\tcreated\t\ta\t/)
  expect(await outcome({ data: { keys: [jwkOf(ecKey(), { kid: 'b' })] } })).toMatch(/\tcreated\t/)
})

test('text in another encoding than UTF-8 registers nothing', async () => {
  const bytes = Buffer.from(`# Schlüssel\n${ecKey().publicKeyPem}`, 'latin1')
  const imported = await shell.pubring(['import', shell.file('latin1.pem', bytes)])
  expect(imported.stdout).toMatch(/\trefused\t.*is not UTF-8/)
  const yaml = Buffer.from('keys:\n- label: Schlüssel\n  publicKeyPem: x\n', 'latin1')
  const applied = await shell.pubring(['apply', shell.file('latin1.yaml', yaml)])
  expect(applied).toMatchObject({ code: 66, stderr: expect.stringMatching(/is not UTF-8/) })
})
