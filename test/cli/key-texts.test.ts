import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixture, rejected } from '../support/keys/intake.ts'
import { ecKey, edKey, privatePem, rsaKey, type TestKey } from '../support/keys/pem.ts'
import { startShell } from './support.ts'

/*
 * Texts that people paste. `key add`, `import` and `apply` take the same ones for the same keys, and refuse the
 * others with the words of the intake.
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

async function expectTaken(text: string, publicKeyPem: string): Promise<void> {
  for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
    expect(spki, `${reader}: ${said}`).toBe(publicKeyPem)
  }
}

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
test.each(Object.entries(layouts))('every reader takes the layout %s', async (_layout, write) => {
  const { publicKeyPem } = ecKey()
  await expectTaken(write(publicKeyPem), publicKeyPem)
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

const transit = (...pems: string[]) => {
  const keys = Object.fromEntries(pems.map((public_key, at) => [at + 9, { public_key }]))
  return JSON.stringify({ data: { keys, supports_signing: true } })
}
const azureKid = 'https://acme.vault.azure.net/keys/orders/0123'

describe('every reader takes', () => {
  test.each<[string, (key: TestKey) => string]>([
    ['a JWK', (key) => JSON.stringify(jwkOf(key))],
    ['a JWKS', (key) => JSON.stringify({ keys: [jwkOf(key)] })],
    ['a JWK with nulls', (key) => JSON.stringify(jwkOf(key, { use: null, alg: null, exp: null }))],
    ['an SSH key', sshOf],
    ['JSON of AWS', (key) => JSON.stringify({ KeyId: 'a', PublicKey: base64Of(key.publicKeyPem) })],
    ['JSON of transit', (key) => transit(key.publicKeyPem)],
  ])('%s', async (_name, write) => {
    const key = ecKey()
    await expectTaken(write(key), key.publicKeyPem)
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

const pem = ecKey().publicKeyPem
const hex = (text = '') => Buffer.from(text, 'base64url').toString('hex')
const rsa: Record<string, unknown> = jwkOf(rsaKey())
const ec: Record<string, unknown> = jwkOf(ecKey())
const ed: Record<string, unknown> = jwkOf(edKey())
const manifest = (kind: string, text: string) =>
  `apiVersion: v1\nkind: ${kind}\ndata:\n  key.pem: |\n${text.replaceAll(/^/gm, '    ')}\n`

test('a member that is null is absent', () => {
  const none = { use: null, alg: null, kid: null, key_ops: null, exp: null, x5c: null, d: null }
  const { detail } = rejected(JSON.stringify({ ...ec, ...none })).faults[0]
  expect(detail).toMatch(/^This is a JWK\. Convert it: /)
})

/** Faults of JWKs. */
test.each<[object, RegExp]>([
  [{ ...rsa, n: hex(String(rsa.n)) }, /member n is in hexadecimal/],
  [{ ...rsa, n: `0x${hex(String(rsa.n))}` }, /member n is in hexadecimal/],
  [{ ...rsa, n: '1'.repeat(600) }, /member n is a decimal number/],
  [{ ...rsa, e: '65537' }, /member e is not .*65537 is AQAB/],
  [{ ...ec, y: undefined }, /member y is missing/],
  [{ ...ec, x: 5 }, /member x is not a text/],
  [{ ...ed, x: 'AAAA' }, /member x has 3 bytes instead of 32/],
  [{ ...ec, kty: undefined }, /member kty is missing/],
  [{ ...rsa, kty: 'rsa' }, /kty is not RSA.*: write RSA/],
  [{ ...rsa, kty: 'RSA-HSM' }, /: write RSA/],
  [{ ...ec, crv: 'P256' }, /member crv is not written like P-256/],
  [{ ...ec, crv: 'prime256v1' }, /member crv is not written like P-256/],
  [{ ...ec, crv: 'secp256k1' }, /crv is not P-256, P-384/],
  [{ ...ec, crv: 'Ed25519' }, /which needs the kty OKP/],
  [{ ...ec, crv: 'P-384' }, /crv must be P-256/],
  [{ ...ec, x: ec.y, y: ec.x }, /other’s place/],
  [{ ...ec, y: ed.x }, /x and y are no point on P-256/],
  [{ kty: 'EC', x5c: ['MIIB'] }, /only in a certificate/],
  [{ kty: 'EC', x5u: 'https://a' }, /only at an address/],
  [{ ...rsa, alg: 'rs256' }, /alg must be .* Write RS256/],
  [{ ...rsa, alg: 'RSA-OAEP' }, /alg must be one of/],
  [{ ...ec, key_ops: ['sign'] }, /key_ops have no/],
  [{ ...ec, exp: '2030-01-01' }, /exp and nbf must be numbers/],
  [{ ...ec, exp: '1893456000' }, /exp and nbf must be numbers/],
  [{ ...ec, nbf: 17e11 }, /1970, not milliseconds/],
  [{ ...ec, exp: 86400 }, /exp and nbf must be times after 1979/],
])('%j is a JWK with a fault', (jwk, words) => {
  expect(rejected(JSON.stringify(jwk)).faults[0].detail).toMatch(words)
})

test.each<[string, string, RegExp]>([
  ['UTF-16', Buffer.from(`\uFEFF${pem}`, 'utf16le').toString('utf8'), /This is UTF-16/],
  ['lost characters', pem.replace(/(?<=-----\n.{20})./, ' '), /spaces inside the base64/],
  ['parameters', pem.replaceAll('PUBLIC KEY', 'DH PARAMETERS'), /holds no public key/],
  ['PKCS#7 in base64', base64Of(fixture('formats/n30-pkcs7.pem')), /base64 of a PKCS#7 bundle/],
  ['a key store of Java', `${'\ufffd'.repeat(4)}\0\0\0\x02`, /\(JKS\).* keytool/],
  ['a discovery document', JSON.stringify({ jwks_uri: 'https://a' }), /curl .* pubring import -$/],
  ['the header of a request', 'Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.AA', /This is a token/],
  ['the error of aws', '\nAn error occurred (NotFoundException) when', /error message of a comm/],
  ['the error of gcloud', 'ERROR: (gcloud.kms.keys) NOT_FOUND: a', /error message of a command/],
  [
    'the text of aws',
    `RSA_2048\tarn:aws:kms:a\tRSA_2048\nA\tB\n`,
    /get-public-key .* --output json/,
  ],
  ['the address of a key', 'https://a.vault.azure.net/keys/a/1', /name of a key of a cloud/],
  ['a key of Ruby', '#<OpenSSL::PKey::EC:0x000078 oid=id-ecPublicKey>', /unconverted object/],
  ['a key behind a word', `orders\t${base64Of(pem)}\n`, /contains the base64 of a public key/],
  ['escaped slashes', pem.replace('M', '\\/').replaceAll('\n', '\\n'), /and remove the others/],
  ['PEM in base64 in JSON', JSON.stringify({ data: btoa(pem) }), /base64 of a whole PEM file/],
  ['a key of another cloud', JSON.stringify({ KeyId: 'a', PublicKey: pem }), /that contains PEM/],
  [
    'the name of a key',
    '{"KeyMetadata": {"Arn": "arn:aws:kms:a"}}',
    /names a key .*get-public-key/,
  ],
  ['an LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n', /git lfs pull/],
  ['a DID', 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK', /This is a DID/],
  ['minisign', `untrusted comment: a\nRWQf6LRC`, /minisign/],
  ['a raw key in base64', `${ed.x}=`, /32 bytes, such as a raw Ed25519 key/],
  ['a raw key in hexadecimal', hex(String(ed.x)), /32 bytes, such as a raw Ed25519 key/],
  ['single quotes', `'${pem.trim()}'`, /single quotes around the block/],
  ['an assignment', `KEY="${pem.trim()}"`, /assignment of the key/],
])('the intake describes %s', (_name, text, words) => {
  expect(rejected(text).faults[0].detail).toMatch(words)
})

/** Begins like an SSH certificate, whose fields are not all texts with their length. */
const certificateName = 'ssh-ed25519-cert-v01@openssh.com'
const certBlob = Buffer.concat([
  Buffer.from([0, 0, 0, certificateName.length]),
  Buffer.from(certificateName),
  Buffer.alloc(40, 7),
]).toString('base64')

describe('every reader refuses with the words of the intake', () => {
  const aws = { KeyId: 'a', PublicKey: base64Of(pem), KeyUsage: 'ENCRYPT_DECRYPT' }
  test.each<[string, string, RegExp]>([
    ['a weak key', fixture('keys/rsa/bits-1024.pem'), /has 1024 bits/],
    ['PKCS#7', fixture('formats/n30-pkcs7.pem'), /PKCS#7 bundle.* openssl pkcs7 -print_certs/],
    ['typographic dashes', pem.replaceAll('-----', '—————'), /typographic/],
    ['a web page', '<!DOCTYPE html><html>', /a web page/],
    ['a cut-off block', lines(pem).slice(0, 2).join('\n'), /END line/],
    ['an SSH certificate', `${certificateName} ${certBlob} a@b`, /without -cert/],
    ['a JWK without n', JSON.stringify({ ...rsa, n: undefined }), /member n is missing/],
    [
      'a key store',
      `0\ufffd\x0a\x02\x01\x030\ufffd\x01\x0c\n\x01\x02`,
      /key store \(PKCS#12\).* openssl pkcs12/,
    ],
    ['a Secret', manifest('Secret', btoa(pem)), /Secret of Kubernetes.* kubectl get secret/],
    ['a Secret in JSON', JSON.stringify({ apiVersion: 'v1', kind: 'Secret' }), /This is a Secret/],
    ['a declaration', 'keys:\n- label: a\n  file: a.pem\n', /declaration.* pubring apply/],
    ['a key of AWS that encrypts', JSON.stringify(aws), /is ENCRYPT_DECRYPT\./],
  ])('%s', async (_name, text, words) => {
    expect(rejected(text).faults[0].detail).toMatch(words)
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, reader).toBeUndefined()
      expect(said.replaceAll(/\s+/g, ' '), reader).toMatch(words)
    }
  })

  test('a ConfigMap, except by an import, which takes all keys of a text', async () => {
    const text = manifest('ConfigMap', pem)
    const words = /ConfigMap of Kubernetes.* kubectl get configmap/
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
    ['one in base64 twice', btoa(btoa(privatePem(ecKey())))],
    ['a Secret with both keys', secret({ a: btoa(privatePem(ecKey())), b: btoa(pem) })],
  ])('%s', async (_name, text) => {
    for (const [reader, { spki, said }] of Object.entries(await readings(text))) {
      expect(spki, reader).toBeUndefined()
      expect(said, reader).toMatch(/private key.*(?:not sent|[Nn]othing was sent)/)
    }
  })
})

test('an import takes key sets in an array or in a wrapper', async () => {
  const key = (kid: string) => jwkOf(ecKey(), { kid })
  for (const set of [
    [key('a')],
    { data: { keys: [key('a')] } },
    { x: { y: { keys: [key('a')] } } },
  ]) {
    const file = shell.file('set.json', JSON.stringify(set))
    const { stdout } = await shell.pubring(['import', file, '--dry-run'])
    expect(stdout).toMatch(/^1\tcreated\t\ta\t/)
  }
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
  const source = ['KEY = """', 'key = `', 'public_key = <<EOT', "cat > a.pem <<'EOF'"]
  const certificate = ['subject=CN = a\nissuer=CN = a', '    0a:1b:2c:3d:4e:5f']
  for (const before of ['key: |', '- |', '```', ...source, ...certificate]) {
    expect(await labelOf(before)).toBe('before')
  }
  expect(await labelOf('friendlyName: a\nsubject=CN = a\nissuer=CN = a')).toBe('a')
})

test('a file that is no text is not sent', async () => {
  const file = shell.file('key.gpg', Buffer.from('9458044a1b2c', 'hex'))
  const env = { PUBRING_URL: 'http://127.0.0.1:1' }
  const ran = await shell.pubring(['key', 'add', file, '--label', 'k'], { env })
  expect(ran).toMatchObject({ code: 3, stderr: expect.stringMatching(/is binary data/) })
})

test('text in another encoding than UTF-8 registers nothing', async () => {
  const bytes = Buffer.from(`# Schlüssel\n${ecKey().publicKeyPem}`, 'latin1')
  const imported = await shell.pubring(['import', shell.file('latin1.pem', bytes)])
  expect(imported.stdout).toMatch(/\trefused\t.*is not UTF-8/)
  const yaml = Buffer.from('keys:\n- label: Schlüssel\n  publicKeyPem: x\n', 'latin1')
  const applied = await shell.pubring(['apply', shell.file('latin1.yaml', yaml)])
  expect(applied).toMatchObject({ code: 66, stderr: expect.stringMatching(/is not UTF-8/) })
})
