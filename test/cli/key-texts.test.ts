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

/** The result of reading a text: the key to register, or the message. */
interface Reading {
  spki?: string
  algorithm?: string
  active?: boolean
  expireTime?: string
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
    found[name] = key === undefined ? reading : { ...reading, ...key, spki: key.publicKeyPem }
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

const base64Of = (text: string) => text.replaceAll(/-----.*?-----|\s/g, '')
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

const transit = (...pems: string[]) => {
  const keys = Object.fromEntries(pems.map((public_key, at) => [at + 9, { public_key }]))
  return JSON.stringify({ data: { keys, supports_signing: true } })
}
const azureKid = 'https://acme.vault.azure.net/keys/orders/0123'

describe('the JSON of a key management service is taken by all', () => {
  test.each<[string, (key: TestKey) => string]>([
    ['AWS', (key) => JSON.stringify({ KeyId: 'a', PublicKey: base64Of(key.publicKeyPem) })],
    [
      'Google',
      (key) => JSON.stringify({ pem: key.publicKeyPem, algorithm: 'EC_SIGN_P256_SHA256' }),
    ],
    ['Azure', (key) => JSON.stringify({ key: jwkOf(key, { kid: azureKid, d: null }) })],
    ['transit', (key) => transit(key.publicKeyPem)],
  ])('%s', async (_name, write) => {
    const key = ecKey()
    const text = write(key)
    expect(await check(text)).toMatchObject({ accepted: true, publicKeyPem: key.publicKeyPem })
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, `${reader}: ${said}`).toBe(key.publicKeyPem)
    }
  })

  test('the algorithm of a key of Google, and the kid of one of Azure', async () => {
    const pss = { pem: rsaKey().publicKeyPem, algorithm: 'RSA_SIGN_PSS_2048_SHA256' }
    for (const { algorithm } of Object.values(await readings(JSON.stringify(pss)))) {
      expect(algorithm).toBe('PS256')
    }
    const key = jwkOf(ecKey(), { kid: azureKid })
    const { add, import: imported } = await readings(JSON.stringify({ key }))
    expect(add?.said).toContain(`with the kid ${azureKid} in the header`)
    expect(imported?.said).toContain(`\t${azureKid}\t`)
  })

  test('of several versions the newest, and all by an import', async () => {
    const [old, next] = [ecKey().publicKeyPem, ecKey().publicKeyPem]
    const { add, import: imported } = await readings(transit(old, next))
    expect(add?.spki).toBe(next)
    expect(add?.said).toMatch(/2 versions; took the newest, 10\. .*pubring import/)
    expect(imported?.said).toMatch(/created\t\S+\ttext 10[\s\S]*created\t\S+\ttext 9/)
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
  const ed: Record<string, unknown> = jwkOf(edKey())
  const aws = (KeyUsage: string) => ({ KeyId: 'a', PublicKey: base64Of(pem), KeyUsage })
  const symmetric = { data: { keys: { 1: 1796048369 }, supports_signing: false } }
  const manifest = (kind: string, text: string) =>
    `apiVersion: v1\nkind: ${kind}\ndata:\n  key.pem: |\n${text.replaceAll(/^/gm, '    ')}\n`
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
    ['a JWK whose e is digits', JSON.stringify({ ...rsa, e: '65537' }), /e is not .*65537 is AQAB/],
    ['n in hex with 0x', JSON.stringify({ ...rsa, n: `0x${hex(String(rsa.n))}` }), /n is in hexad/],
    ['n in decimal', JSON.stringify({ ...rsa, n: '1'.repeat(600) }), /n is a decimal number/],
    ['a JWK without y', JSON.stringify({ ...ec, y: undefined }), /member y is missing/],
    ['a JWK whose x is a number', JSON.stringify({ ...ec, x: 5 }), /member x is not a text/],
    ['a JWK with a short x', JSON.stringify({ ...ed, x: 'AAAA' }), /x has 3 bytes instead of 32/],
    ['a JWK without kty', JSON.stringify({ ...ec, kty: undefined }), /member kty is missing/],
    ['kty in lower case', JSON.stringify({ ...rsa, kty: 'rsa' }), /kty is not RSA.*: write RSA/],
    ['kty of a key in hardware', JSON.stringify({ ...rsa, kty: 'RSA-HSM' }), /: write RSA/],
    [
      'crv prime256v1',
      JSON.stringify({ ...ec, crv: 'prime256v1' }),
      /crv is not written like P-256/,
    ],
    ['crv secp256k1', JSON.stringify({ ...ec, crv: 'secp256k1' }), /crv is not P-256, P-384/],
    ['crv of another kty', JSON.stringify({ ...ec, crv: 'Ed25519' }), /which needs the kty OKP/],
    ['crv of another point', JSON.stringify({ ...ec, crv: 'P-384' }), /crv must be P-256/],
    ['swapped coordinates', JSON.stringify({ ...ec, x: ec.y, y: ec.x }), /other’s place/],
    ['a point off the curve', JSON.stringify({ ...ec, y: ed.x }), /x and y are no point on P-256/],
    ['only a certificate', JSON.stringify({ kty: 'EC', x5c: ['MIIB'] }), /only in a certificate/],
    ['only an address', JSON.stringify({ kty: 'EC', x5u: 'https://a' }), /only at an address/],
    [
      'an alg in lower case',
      JSON.stringify({ ...rsa, alg: 'rs256' }),
      /alg must be .* Write RS256/,
    ],
    ['an alg for encryption', JSON.stringify({ ...rsa, alg: 'RSA-OAEP' }), /alg must be one of/],
    ['key_ops without verify', JSON.stringify({ ...ec, key_ops: ['sign'] }), /key_ops have no/],
    ['exp as a date', JSON.stringify({ ...ec, exp: '2030-01-01' }), /exp and nbf must be numbers/],
    ['exp as digits', JSON.stringify({ ...ec, exp: '1893456000' }), /exp and nbf must be numbers/],
    ['nbf in milliseconds', JSON.stringify({ ...ec, nbf: 17e11 }), /1970, not milliseconds/],
    [
      'exp as a duration',
      JSON.stringify({ ...ec, exp: 86400 }),
      /exp and nbf must be times after 1979/,
    ],
    ['exp at the start of 1970', JSON.stringify({ ...ec, exp: 0 }), /must be times after 1979/],
    ['a PGP key', fixture('keys/wrongtype/pgp-public.asc'), /PGP key/],
    ['parameters', pem.replaceAll('PUBLIC KEY', 'DH PARAMETERS'), /holds no public key/],
    ['PKCS#7 in base64', base64Of(fixture('formats/n30-pkcs7.pem')), /base64 of a PKCS#7 bundle/],
    ['a key store', `0\ufffd\x0a\x02\x01\x030\ufffd`, /key store \(PKCS#12\).* openssl pkcs12/],
    ['a key store of Java', `${'\ufffd'.repeat(4)}\0\0\0\x02`, /\(JKS\).* keytool/],
    ['a discovery document', JSON.stringify({ jwks_uri: 'https://a' }), /discovery document/],
    ['a Secret', manifest('Secret', btoa(pem)), /Secret of Kubernetes.* kubectl get secret/],
    ['a Secret in JSON', JSON.stringify({ apiVersion: 'v1', kind: 'Secret' }), /This is a Secret/],
    [
      'a declaration',
      'project: a\nkeys:\n- label: a\n  file: a.pem\n',
      /declaration.* pubring apply/,
    ],
    [
      'an LFS pointer',
      'version https://git-lfs.github.com/spec/v1\noid sha256:0\n',
      /git lfs pull/,
    ],
    ['a DID', 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK', /This is a DID/],
    ['minisign', `untrusted comment: a\nRWQf6LRC`, /minisign/],
    ['a raw key in base64', `${ed.x}=`, /32 bytes, such as a raw Ed25519 key/],
    ['a raw key in hexadecimal', hex(String(ed.x)), /32 bytes, such as a raw Ed25519 key/],
    ['a fingerprint', `SHA256:${'A'.repeat(43)}`, /fingerprint/],
    ['a key of AWS that encrypts', JSON.stringify(aws('ENCRYPT_DECRYPT')), /is ENCRYPT_DECRYPT\./],
    ['a symmetric key of transit', JSON.stringify(symmetric), /whose type signs nothing\./],
    ['single quotes', `'${pem.trim()}'`, /single quotes around the block/],
    ['an assignment', `KEY="${pem.trim()}"`, /assignment of the key/],
  ])('%s', async (_name, text, words) => {
    const { accepted, faults } = await check(text)
    expect(accepted).toBe(false)
    expect(faults[0].detail).toMatch(words)
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, reader).toBeUndefined()
      expect(said.replaceAll(/\s+/g, ' '), reader).toMatch(words)
    }
  })

  test('a ConfigMap, except by an import, which takes all keys of a text', async () => {
    const text = manifest('ConfigMap', pem)
    const words = /ConfigMap of Kubernetes.* kubectl get configmap/
    expect((await check(text)).faults[0].detail).toMatch(words)
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, reader).toBe(reader === 'import' ? pem : undefined)
      const labelled = /^1 created \S+ text /
      const expected = reader === 'import' ? labelled : words
      expect(said.replaceAll(/\s+/g, ' '), reader).toMatch(expected)
    }
  })

  test('a declaration with PEM, whose keys may be inactive', async () => {
    const text = `keys:\n- label: a\n  active: false\n  publicKeyPem: |\n${pem.replaceAll(/^/gm, '    ')}`
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, reader).toBeUndefined()
      expect(said.replaceAll(/\s+/g, ' '), reader).toMatch(/declaration.* pubring apply/)
    }
  })

  const secret = (data: object) => JSON.stringify({ apiVersion: 'v1', kind: 'Secret', data })
  test.each([
    ['a private key', privatePem(ecKey())],
    ['a Secret with both keys', secret({ a: btoa(privatePem(ecKey())), b: btoa(pem) })],
  ])('%s', async (_name, text) => {
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
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
  const deep = { data: { jwks: { keys: [jwkOf(ecKey(), { kid: 'c' })] } } }
  expect(await outcome(deep)).toMatch(/\tcreated\t/)
  const late = { ...jwkOf(ecKey()), exp: '2030-01-01T00:00:00Z' }
  expect(await outcome({ keys: [late] })).toMatch(/refused.*exp and nbf must be numbers/)
  expect(await outcome([jwkOf(ecKey(), { kid: 'a' })])).toMatch(/^1\tcreated\t\ta\t/)
  expect(await outcome({ data: { keys: [jwkOf(ecKey(), { kid: 'b' })] } })).toMatch(/\tcreated\t/)
})

test('a key has the validity that its JWK states, whichever command reads it', async () => {
  const exp = Math.floor(Date.now() / 1000) + 3_600
  const expireTime = new Date(exp * 1000).toISOString()
  const registered = async (more: object) =>
    Object.entries(await readings(JSON.stringify(jwkOf(ecKey(), more)))).map(([, each]) => each)
  for (const { active, expireTime: end } of await registered({ exp })) {
    expect({ active, end }).toEqual({ active: true, end: expireTime })
  }
  for (const { active } of await registered({ exp: exp - 7_200 })) expect(active).toBe(false)
  for (const { active } of await registered({ revoked: true })) expect(active).toBe(false)
})

test('a line that is no comment is no label', async () => {
  const labelOf = async (before: string) => {
    const file = shell.file('before.pem', `${before}\n${ecKey().publicKeyPem}`)
    return (await shell.pubring(['import', file, '--dry-run'])).stdout.split('\t')[3]
  }
  for (const before of ['key: |', '```', 'subject=CN = a\nissuer=CN = a']) {
    expect(await labelOf(before)).toBe('before')
  }
  expect(await labelOf('friendlyName: a\nsubject=CN = a\nissuer=CN = a')).toBe('a')
})

test('text in another encoding than UTF-8 registers nothing', async () => {
  const bytes = Buffer.from(`# Schlüssel\n${ecKey().publicKeyPem}`, 'latin1')
  const imported = await shell.pubring(['import', shell.file('latin1.pem', bytes)])
  expect(imported.stdout).toMatch(/\trefused\t.*is not UTF-8/)
  const yaml = Buffer.from('keys:\n- label: Schlüssel\n  publicKeyPem: x\n', 'latin1')
  const applied = await shell.pubring(['apply', shell.file('latin1.yaml', yaml)])
  expect(applied).toMatchObject({ code: 66, stderr: expect.stringMatching(/is not UTF-8/) })
})
