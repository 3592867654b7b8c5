import { execFileSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readPublicKeyFile } from '../../packages/cli/src/keys/files.ts'
import { processTerminal } from '../../packages/cli/src/terminal/terminal.ts'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, edKey, privatePem, rsaKey, type TestKey } from '../support/keys/pem.ts'
import { documentOf, listen, startShell } from './support.ts'

const shell = await startShell()

/** The key in the file, as `key add`, `key rotate` and `key check` read it. */
const read = (content: string | Buffer) =>
  readPublicKeyFile(shell.file('submitted', content), processTerminal())

const der = (key: KeyObject) => key.export({ type: 'spki', format: 'der' })
const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
const pkcs8 = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicOf = ({ publicKeyPem }: TestKey) => createPublicKey(publicKeyPem)

/** The SSH form of a public key, by ssh-keygen. */
function sshOf({ publicKeyPem }: TestKey): string {
  const file = shell.file('for-ssh.pem', publicKeyPem)
  return execFileSync('ssh-keygen', ['-i', '-m', 'PKCS8', '-f', file]).toString()
}

/** An Ed25519 line (RFC 8709), which ssh-keygen does not make of PEM. */
function sshEdOf(key: TestKey): string {
  const string = (octets: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, octets.length]), octets])
  const blob = [string(Buffer.from('ssh-ed25519')), string(der(publicOf(key)).subarray(-32))]
  return `ssh-ed25519 ${Buffer.concat(blob).toString('base64')} alice@laptop\n`
}

function certificateOf(key: TestKey): string {
  const file = shell.file('signer.pem', privatePem(key))
  const make = `req -x509 -key ${file} -days 2 -subj /CN=signer`
  return execFileSync('openssl', make.split(' '), { stdio: 'pipe' }).toString()
}

const rsa = rsaKey()
const ec = ecKey()
const chain = certificateOf(ec) + certificateOf(ecKey())
const certificateDer = Buffer.from(certificateOf(ec).replace(/-----.*?-----|\s/g, ''), 'base64')

const x509 = (args: string) =>
  execFileSync('openssl', `x509 ${args}`.split(' '), { input: certificateOf(ec), stdio: 'pipe' })
const trusted = x509('-trustout -addtrust serverAuth')
const request = x509(`-x509toreq -signkey ${shell.file('v1.pem', privatePem(ec))}`)
const firstVersion = execFileSync(
  'openssl',
  `x509 -req -signkey ${join(shell.folder, 'v1.pem')}`.split(' '),
  { input: request, stdio: 'pipe' },
)

test.each<[string, TestKey, (key: TestKey) => string | Buffer, string]>([
  ['an SSH key: RSA', rsa, sshOf, 'is an SSH key; converted to PEM.'],
  ['an SSH key: P-256', ec, sshOf, 'is an SSH key; converted to PEM.'],
  ['an SSH key: P-521', ecKey('P-521'), sshOf, 'is an SSH key; converted to PEM.'],
  ['an SSH key: Ed25519', edKey(), sshEdOf, 'is an SSH key; converted to PEM.'],
  ['one over two lines', rsa, (key) => `\uFEFF${sshOf(key).replace(/.{99}/g, '$&\n')}`, 'SSH key;'],
  ['a certificate', ec, certificateOf, 'is a certificate; took its public key.'],
  ['one in quotes', ec, (key) => JSON.stringify(certificateOf(key)), 'is a certificate;'],
  ['the first of a chain', ec, () => chain, 'is a certificate chain of 2;'],
  ['a JWK: RSA', rsa, (key) => JSON.stringify(jwk(publicOf(key))), 'is a JWK; converted to PEM.'],
  ['a JWK: Ed25519', edKey(), (key) => JSON.stringify(jwk(publicOf(key))), 'is a JWK;'],
  ['DER', rsa, (key) => der(publicOf(key)), 'is DER; converted to PEM.'],
  ['a certificate in DER', ec, () => certificateDer, 'is a certificate;'],
  ['a certificate of version 1', ec, () => firstVersion, 'is a certificate;'],
  ['a trusted certificate', ec, () => trusted, 'is a certificate;'],
])('%s is converted to PEM, with a notice', async (_name, key, write, notice) => {
  const { publicKeyPem, converted } = await read(write(key))
  expect(publicKeyPem).toBe(key.publicKeyPem)
  expect(converted).toContain(notice)
})

test.each(['material/ssh2_rfc4716.pub', 'formats/n28-ssh-blob-in-block.pem'])(
  'an SSH key in a block is converted: %s',
  async (file) => {
    expect((await read(fixture(file))).publicKeyPem).toMatch(/^-----BEGIN PUBLIC KEY-----/)
  },
)

/** DER of 256 bytes or more, with the length of the outer structure in one byte more than it needs. */
function inBer(der: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x30, 0x83, 0]), der.subarray(2)])
}

function certificateStore(): Buffer {
  const args = ['-export', '-nokeys', '-in', shell.file('c.pem', certificateOf(ec))]
  return execFileSync('openssl', ['pkcs12', ...args, '-passout', 'pass:x'])
}

test.each<[string, string | Buffer, string, RegExp]>([
  ['a key set with two keys', JSON.stringify({ keys: [{}, {}] }), 'file', /set of 2 keys/],
  [
    'a JWK for encryption',
    JSON.stringify({ ...jwk(publicOf(ec)), use: 'enc' }),
    'refused',
    /“sig”/,
  ],
  ['a truncated SSH key', sshEdOf(edKey()).slice(0, 60), 'refused', /is cut off or damaged/],
  ['a text of 1 MiB', 'QUJD'.repeat(262_145), 'file', /is too large/],
  ['a certificate in BER', inBer(certificateDer), 'refused', /looks like a certificate/],
  ['a cut certificate', certificateDer.subarray(0, 99), 'refused', /looks like a certificate/],
  [
    'a certificate that lost a character',
    certificateOf(ec).replace(/(?<=\n[^\n]{9})[^\n]/, ''),
    'refused',
    /looks like a certificate/,
  ],
  ['a store of certificates', certificateStore(), 'refused', /a PKCS#12 store of certificates/],
])('%s is refused', async (_name, text, kind, message) => {
  await expect(read(text)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) })
})

const pkcs1 = publicOf(rsa).export({ type: 'pkcs1', format: 'der' })
test.each<[string, Buffer, number, string]>([
  ['PKCS#1', pkcs1, 0, 'repaired    pkcs1'],
  ['a byte behind a key', Buffer.concat([pkcs1, Buffer.from('\n')]), 1, 'spki_trailing_data'],
  ['a key that is cut off', der(publicOf(rsa)).subarray(0, 200), 1, 'spki_der_invalid'],
])('DER is judged like PEM: %s', async (_name, bytes, code, words) => {
  const ran = await shell.pubring(['key', 'check', shell.file('key.der', bytes)])
  expect(ran).toMatchObject({ code, stdout: expect.stringContaining(words) })
})

test('key add and key check say what they converted, and take the alg of the only key of a set', async () => {
  const entry = { ...jwk(publicOf(rsa)), alg: 'PS256', use: 'sig', kid: 'x' }
  const file = shell.file('set.json', JSON.stringify({ keys: [entry] }))
  const ran = await shell.pubring(['key', 'add', file, '--label', 'of a set'])
  expect(ran.stderr).toContain(`${file} is a JWK; converted to PEM.\n`)
  const shown = await shell.pubring(['key', 'show', ran.stdout.trim(), '--json'])
  expect(documentOf(shown)).toMatchObject({ algorithm: 'PS256', publicKeyPem: rsa.publicKeyPem })
  const wrong = shell.file('wrong.json', JSON.stringify({ ...entry, alg: 'ES256' }))
  const checked = await shell.pubring(['key', 'check', wrong])
  expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining('algorithm_mismatch') })
})

test('the kid of a JWK, which its tokens carry, stays, unless another one is named or none', async () => {
  const add = async (kid: string, ...args: string[]) => {
    const file = shell.file('kid.json', JSON.stringify({ ...jwk(publicOf(edKey())), kid }))
    const ran = await shell.pubring(['key', 'add', file, '--label', 'k', ...args])
    const shown = documentOf(await shell.pubring(['key', 'show', ran.stdout.trim(), '--json']))
    return { kid: Object(shown.details).publishedKid, said: ran.stderr }
  }
  const kept = await add('signer-1')
  expect(kept.kid).toBe('signer-1')
  expect(kept.said).toMatch(/keeps the kid of its JWK[\s\S]*with the kid signer-1 in the header/)
  expect((await add('signer-2', '--published-kid', 'signer-3')).kid).toBe('signer-3')
  expect((await add('signer-4', '--no-published-kid')).kid).toBeUndefined()
  expect((await add('ä')).said).toContain('The kid of the JWK has a character other than')
  expect((await add('k'.repeat(256))).said).toContain('The kid of the JWK has 256 characters, more')
})

describe('a private key never leaves the machine', () => {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const encrypted = {
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  } as const
  const openSsh = () => {
    const file = join(shell.folder, 'id')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
    return readFileSync(file)
  }

  test.each<[string, () => string | Buffer]>([
    ['PKCS#8', () => pkcs8(pair)],
    ['PKCS#1', () => pair.export({ type: 'pkcs1', format: 'pem' }).toString()],
    ['encrypted', () => pair.export(encrypted).toString()],
    ['DER', () => pair.export({ type: 'pkcs8', format: 'der' })],
    ['a JWK in a key set', () => JSON.stringify({ keys: [jwk(pair)] })],
    ['base64 of PEM', () => Buffer.from(pkcs8(pair)).toString('base64')],
    ['behind its certificate', () => certificateOf(rsa) + pkcs8(pair)],
    ['OpenSSH', openSsh],
  ])('%s', async (_name, make) => {
    await expect(read(make())).rejects.toMatchObject({
      code: 'private_key',
      message: expect.stringMatching(/holds a private key\. It was not sent/),
      hints: [expect.stringMatching(/^Use its public half: /)],
    })
  })

  test('whichever command reads it; nothing of it is printed', async () => {
    const reached: string[] = []
    const { url, server, close } = await listen()
    server.on('connection', () => reached.push('connection'))
    const file = shell.file('private key', pkcs8(pair))
    const set = shell.file('private set', JSON.stringify({ keys: [jwk(pair)] }))
    const long = shell.file('long', '#'.repeat(16_384) + pkcs8(pair).replaceAll(/-----.*/g, ''))
    const printed: string[] = []
    for (const [args, code] of [
      [['key', 'add', file, '--label', 'x'], 3],
      [['key', 'rotate', file, '--label', 'x', '--token-lifetime', '1h'], 3],
      [['key', 'check', file], 1],
      [['key', 'check', file, '--json'], 1],
      [['token', 'check', file], 3],
      [['token', 'check', long], 66],
      [['access-rule', 'update', 'a', '--jwks-file', set], 3],
    ] as const) {
      const ran = await shell.pubring(args, { env: { PUBRING_URL: url } })
      expect(ran.code).toBe(code)
      printed.push(ran.stdout + ran.stderr)
    }
    expect(printed[2]).toMatch(
      /^rejected\n {2}private_key: .* holds a private key\. .*has not left this machine\. Use its/,
    )
    expect(printed[2]).not.toMatch(/compromised|stored/)
    expect(JSON.parse(printed[3] ?? '')).toMatchObject({ problem: 'private_key_submitted' })
    const [, body = ''] = pkcs8(pair).split('\n')
    expect(printed.join('')).not.toContain(body.slice(0, 24))
    expect(reached).toEqual([])
    close()
  })

  /** Runs the suggested command, and returns the key that it writes. */
  async function suggested(content: string | Buffer, output: string): Promise<string> {
    const file = shell.file('my key.pem', content)
    execFileSync('chmod', ['600', file])
    const refused = readPublicKeyFile(file, processTerminal())
    const { hints } = await refused.then(
      () => expect.fail('not refused'),
      (error) => error,
    )
    const [, command = ''] = /public half: (.*)/.exec(hints[0]) ?? []
    rmSync(join(shell.folder, output), { force: true })
    execFileSync('sh', ['-c', command], { cwd: shell.folder, stdio: 'pipe' })
    return (await read(readFileSync(join(shell.folder, output)))).publicKeyPem
  }

  const mlDsa = generateKeyPairSync('ml-dsa-44').privateKey
  const ecPrivate = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  test.each<[string, KeyObject, (key: KeyObject) => string | Buffer]>([
    ['PKCS#8', pair, pkcs8],
    ['DER', ecPrivate, (key) => key.export({ type: 'pkcs8', format: 'der' })],
    ['a key behind its certificate', ecPrivate, (key) => certificateOf(rsa) + pkcs8(key)],
    ['an RSA JWK', pair, (key) => JSON.stringify(jwk(key))],
    ['an AKP JWK', mlDsa, (key) => JSON.stringify(jwk(key))],
    ['a JWK in a set', ecPrivate, (key) => JSON.stringify({ keys: [jwk(key)] })],
    ['a service account', pair, (key) => JSON.stringify({ private_key: pkcs8(key) })],
    ['behind a byte order mark', ecPrivate, (key) => `\uFEFF${pkcs8(key)}`],
    ['in quotes', ecPrivate, (key) => `"${pkcs8(key).trim()}"`],
    ['with literal \\n', ecPrivate, (key) => pkcs8(key).replaceAll('\n', '\\n')],
    ['in one line', ecPrivate, (key) => pkcs8(key).replaceAll('\n', ' ')],
    ['with CRLF', ecPrivate, (key) => pkcs8(key).replaceAll('\n', '\r\n')],
    ['in YAML', pair, (key) => `key: |\n${pkcs8(key).replaceAll(/^/gm, '  ')}`],
    ['before a semicolon', pair, (key) => `${pkcs8(key).trim()};`],
  ])('the suggested command writes the public half of %s', async (_name, key, write) => {
    const written = createPublicKey(await suggested(write(key), 'public.pem'))
    expect(written.equals(createPublicKey(key))).toBe(true)
  })

  test.each(['rsa', 'ecdsa', 'ed25519'])('… and of an OpenSSH key: %s', async (type) => {
    const file = join(shell.folder, `id_${type}`)
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', file])
    const { publicKeyPem } = await read(readFileSync(`${file}.pub`))
    const crlf = readFileSync(file, 'utf8').trim().replaceAll('\n', '\r\n')
    for (const text of [readFileSync(file), crlf]) {
      expect(await suggested(text, 'key.pub')).toBe(publicKeyPem)
    }
  })

  test.each([
    ['PuTTY', 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n'],
    ['base64 of PEM', Buffer.from(privatePem(ecKey())).toString('base64')],
    ['a damaged JWK', JSON.stringify(jwk(pair)).slice(0, -1)],
    ['a symmetric key', JSON.stringify({ kty: 'oct', k: 'A'.repeat(43) })],
    ['one in a set', JSON.stringify({ keys: [{ kty: 'oct', k: 'A'.repeat(43) }] })],
  ])('no command is suggested for %s', async (_name, content) => {
    const hints = [expect.stringMatching(/made the key\. A symmetric key has none\.$/)]
    await expect(read(content)).rejects.toMatchObject({ hints })
  })
})
