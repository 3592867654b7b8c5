import { execFileSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ecKey, edKey, privatePem, rsaKey, type TestKey } from '../support/keys/pem.ts'
import { documentOf, listen, startShell } from './support.ts'

const material = join(import.meta.dirname, '../fixtures/material')

const shell = await startShell()

/** Adds the file, which a check accepts as well; returns the key and the notice on stderr. */
async function add(content: string | Buffer): Promise<{ pem: string; notice: string }> {
  const file = shell.file('submitted', content)
  const ran = await shell.pubring(['key', 'add', file, '--label', 'converted'])
  expect(ran.code, ran.stderr).toBe(0)
  const kid = ran.stdout.trim()
  const { stdout: pem } = await shell.pubring(['key', 'show', kid, '--pem'])
  const checked = await shell.pubring(['key', 'check', file])
  const notices = ran.stderr.split(/(?<=\n)/).filter((line) => line.startsWith(file))
  expect(checked).toMatchObject({ code: 0, stderr: notices.join('') })
  const report = documentOf(await shell.pubring(['key', 'check', file, '--json']))
  expect(report).toMatchObject({ accepted: true, publicKeyPem: pem })
  await shell.pubring(['key', 'deactivate', kid, '--yes'])
  await shell.pubring(['key', 'delete', kid])
  return { pem, notice: ran.stderr }
}

const der = (key: KeyObject) => key.export({ type: 'spki', format: 'der' })
const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
const publicOf = ({ publicKeyPem }: TestKey) => createPublicKey(publicKeyPem)

/** The SSH form of a public key, by ssh-keygen. */
function sshOf({ publicKeyPem }: TestKey): string {
  const file = shell.file('for-ssh.pem', publicKeyPem)
  return execFileSync('ssh-keygen', ['-i', '-m', 'PKCS8', '-f', file]).toString()
}

/** An Ed25519 line (RFC 8709), which ssh-keygen does not make of PEM. */
function sshEdOf(key: TestKey): string {
  const string = (octets: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(octets.length)
    return Buffer.concat([length, octets])
  }
  const blob = [string(Buffer.from('ssh-ed25519')), string(der(publicOf(key)).subarray(-32))]
  return `ssh-ed25519 ${Buffer.concat(blob).toString('base64')} alice@laptop\n`
}

function certificateOf(key: TestKey): string {
  const file = shell.file('signer.pem', privatePem(key))
  const make = `req -x509 -key ${file} -days 2 -subj /CN=signer`
  return execFileSync('openssl', make.split(' '), { stdio: 'pipe' }).toString()
}

describe('other formats are converted to PEM, with a notice', () => {
  test.each([
    ['RSA', () => rsaKey()],
    ['P-256', () => ecKey()],
    ['P-384', () => ecKey('P-384')],
    ['P-521', () => ecKey('P-521')],
  ])('an SSH key: %s', async (_name, make) => {
    const key = make()
    const { pem, notice } = await add(sshOf(key))
    expect(pem).toBe(key.publicKeyPem)
    expect(notice).toMatch(/is an SSH key; converted to PEM/)
  })

  test('an SSH key: Ed25519', async () => {
    const key = edKey()
    expect((await add(sshEdOf(key))).pem).toBe(key.publicKeyPem)
  })

  test('an SSH key in a block (RFC 4716)', async () => {
    const { pem } = await add(readFileSync(join(material, 'ssh2_rfc4716.pub')))
    expect(pem).toMatch(/^-----BEGIN PUBLIC KEY-----/)
  })

  test.each([
    ['RSA', () => rsaKey()],
    ['P-256', () => ecKey()],
    ['Ed25519', () => edKey()],
  ])('a certificate: %s', async (_name, make) => {
    const key = make()
    const { pem, notice } = await add(certificateOf(key))
    expect(pem).toBe(key.publicKeyPem)
    expect(notice).toMatch(/is a certificate; took its public key/)
  })

  test('a certificate with escaped line breaks, in quotes', async () => {
    const key = ecKey()
    expect((await add(JSON.stringify(certificateOf(key)))).pem).toBe(key.publicKeyPem)
  })

  test('the first of a chain of certificates', async () => {
    const [first, second] = [ecKey(), ecKey()]
    const { pem, notice } = await add(certificateOf(first) + certificateOf(second))
    expect(pem).toBe(first.publicKeyPem)
    expect(notice).toMatch(/chain of 2/)
  })

  test.each([
    ['RSA', () => rsaKey()],
    ['P-521', () => ecKey('P-521')],
    ['Ed25519', () => edKey()],
  ])('a JWK: %s', async (_name, make) => {
    const key = make()
    expect((await add(JSON.stringify(jwk(publicOf(key))))).pem).toBe(key.publicKeyPem)
  })

  test('the only key of a key set, with its alg', async () => {
    const key = rsaKey()
    const entry = { ...jwk(publicOf(key)), alg: 'PS256', use: 'sig', kid: 'x' }
    const file = shell.file('set.json', JSON.stringify({ keys: [entry] }))
    const ran = await shell.pubring(['key', 'add', file, '--label', 'of a set', '--json'])
    expect(documentOf(ran)).toMatchObject({ algorithm: 'PS256', publicKeyPem: key.publicKeyPem })
    const wrong = shell.file('wrong.json', JSON.stringify({ ...entry, alg: 'ES256' }))
    const checked = await shell.pubring(['key', 'check', wrong])
    expect(checked).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('algorithm_mismatch'),
    })
  })

  test('the kid of a JWK, which its tokens carry, stays, unless another one is named or none', async () => {
    const addWithKid = async (kid: string, ...args: string[]) => {
      const file = shell.file('kid.json', JSON.stringify({ ...jwk(publicOf(edKey())), kid }))
      const ran = await shell.pubring(['key', 'add', file, '--label', 'k', '--json', ...args])
      return Object(documentOf(ran)).details.publishedKid
    }
    expect(await addWithKid('signer-1')).toBe('signer-1')
    expect(await addWithKid('signer-2', '--published-kid', 'signer-3')).toBe('signer-3')
    expect(await addWithKid('signer-4', '--no-published-kid')).toBeUndefined()
    const unusual = shell.file('kid.json', JSON.stringify({ ...jwk(publicOf(edKey())), kid: 'ä' }))
    const ran = await shell.pubring(['key', 'add', unusual, '--label', 'k'])
    expect(ran.stderr).toContain('The kid of the JWK has characters that no published kid has')
    const kept = shell.file('kid.json', JSON.stringify({ ...jwk(publicOf(edKey())), kid: 'old' }))
    const { stderr } = await shell.pubring(['key', 'add', kept, '--label', 'k'])
    expect(stderr).toMatch(/keeps the kid of its JWK[\s\S]*with the kid old in the header/)
  })

  test.each([
    ['a key', (key: TestKey) => der(publicOf(key))],
    ['a PKCS#1 RSA key', (key: TestKey) => publicOf(key).export({ type: 'pkcs1', format: 'der' })],
    [
      'a certificate',
      (key: TestKey) => Buffer.from(certificateOf(key).replace(/-----.*?-----|\s/g, ''), 'base64'),
    ],
  ])('DER: %s', async (_name, form) => {
    const key = rsaKey()
    expect((await add(form(key))).pem).toBe(key.publicKeyPem)
  })
})

describe('rejected as unusable', () => {
  test.each([
    ['a key set with two keys', () => JSON.stringify({ keys: [{}, {}] }), 66, /set of 2 keys/],
    [
      'a JWK for encryption',
      () => JSON.stringify({ ...jwk(publicOf(ecKey())), use: 'enc' }),
      3,
      /not “sig”/,
    ],
    ['a JWK without its numbers', () => '{"kty": "RSA"}', 3, /member e is missing/],
    ['a truncated SSH key', () => sshEdOf(edKey()).slice(0, 60), 3, /looks like an SSH key/],
    [
      'a DSA SSH key',
      () => `ssh-dss ${Buffer.from('\0\0\0\x07ssh-dss').toString('base64')}`,
      3,
      /cannot sign/,
    ],
  ])('%s', async (_name, make, code, message) => {
    const file = shell.file('none', make())
    const ran = await shell.pubring(['key', 'add', file, '--label', 'x', '--algorithm', 'RS256'])
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
    const checked = await shell.pubring(['key', 'check', file])
    expect(checked.code).toBe(code === 3 ? 1 : code)
    expect(checked.stdout + checked.stderr).toMatch(message)
  })
})

describe('a private key never leaves the machine', () => {
  const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const forms: [string, () => string | Buffer][] = [
    ['PKCS#8', () => pair().export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['PKCS#1', () => pair().export({ type: 'pkcs1', format: 'pem' }).toString()],
    [
      'encrypted',
      () =>
        pair()
          .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
          .toString(),
    ],
    ['DER', () => pair().export({ type: 'pkcs8', format: 'der' })],
    ['a JWK', () => JSON.stringify(pair().export({ format: 'jwk' }))],
    ['a JWK in a key set', () => JSON.stringify({ keys: [pair().export({ format: 'jwk' })] })],
    ['base64 of PEM', () => Buffer.from(String(forms[0]?.[1]())).toString('base64')],
    ['behind its certificate', () => `${certificateOf(rsaKey())}${forms[0]?.[1]()}`],
    [
      'OpenSSH',
      () => {
        const file = join(shell.folder, 'id')
        execFileSync('sh', ['-c', `yes | ssh-keygen -q -t ed25519 -N "" -f ${file}`], {
          stdio: 'pipe',
        })
        return readFileSync(file)
      },
    ],
  ]

  test.each(forms)('%s', async (_name, make) => {
    const reached: string[] = []
    const { url, server, close } = await listen()
    server.on('connection', () => reached.push('connection'))
    const env = { PUBRING_URL: url }
    const content = make()
    const file = shell.file('private key', content)
    for (const args of [
      ['key', 'add', file, '--label', 'x'],
      ['key', 'rotate', file, '--label', 'x', '--token-lifetime', '1h'],
    ]) {
      const ran = await shell.pubring(args, { env })
      expect(ran).toMatchObject({ code: 3, stdout: '' })
      expect(ran.stderr).toMatch(/holds a private key\. It was not sent[\s\S]*hint: Use its public/)
      const body = content.toString('latin1').replace(/\s|-----.*?-----/g, '')
      expect(ran.stderr).not.toContain(body.slice(100, 124))
    }
    const checked = await shell.pubring(['key', 'check', file], { env })
    expect(checked).toMatchObject({ code: 1, stderr: '' })
    expect(checked.stdout).toMatch(
      /^rejected\n {2}private_key: .* holds a private key\. .*has not left this machine\. Use its/,
    )
    expect(checked.stdout).not.toMatch(/compromised|stored/)
    const report = documentOf(await shell.pubring(['key', 'check', file, '--json'], { env }))
    expect(report).toMatchObject({ accepted: false, problem: 'private_key_submitted' })
    expect(reached).toEqual([])
    close()
  })

  const pemOf = (key: KeyObject) =>
    createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  const mlDsa = generateKeyPairSync('ml-dsa-44').privateKey
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const pkcs8 = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const rsa = pair()
  const halves: [string, () => string | Buffer, KeyObject][] = [
    ['PKCS#8', () => pkcs8(rsa), rsa],
    ['DER', () => ec.export({ type: 'pkcs8', format: 'der' }), ec],
    ['a key behind its certificate', () => certificateOf(rsaKey()) + pkcs8(ec), ec],
    ['an RSA JWK', () => JSON.stringify(jwk(rsa)), rsa],
    ['an AKP JWK', () => JSON.stringify(jwk(mlDsa)), mlDsa],
    ['a JWK in a set', () => JSON.stringify({ keys: [jwk(ec)] }), ec],
  ]

  /** Runs the suggested command and registers what it writes. Returns the registered key. */
  async function addSuggested(content: string | Buffer, output: string): Promise<string> {
    const file = shell.file('my key.pem', content)
    execFileSync('chmod', ['600', file])
    const { stderr } = await shell.pubring(['key', 'add', file, '--label', 'x'])
    const [, command = ''] = /public half: (.*)/.exec(stderr) ?? []
    execFileSync('sh', ['-c', command], { cwd: shell.folder, stdio: 'pipe' })
    return (await add(readFileSync(join(shell.folder, output)))).pem
  }

  test.each(halves)('the suggested command writes the public half of %s', async (_n, make, key) => {
    expect(await addSuggested(make(), 'public.pem')).toBe(pemOf(key))
  })

  test.each(['rsa', 'ecdsa', 'ed25519'])('… and of an OpenSSH key: %s', async (type) => {
    const file = join(shell.folder, `id_${type}`)
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', file])
    const { pem } = await add(readFileSync(`${file}.pub`))
    expect(await addSuggested(readFileSync(file), 'key.pub')).toBe(pem)
  })

  test.each([
    ['PuTTY', 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n'],
    ['base64 of PEM', Buffer.from(privatePem(ecKey())).toString('base64')],
    ['a damaged JWK', JSON.stringify(pair().export({ format: 'jwk' })).slice(0, -1)],
  ])('no command is suggested for %s', async (_name, content) => {
    const file = shell.file('other', content)
    const { stderr } = await shell.pubring(['key', 'add', file, '--label', 'x'])
    expect(stderr).toContain('public half: export it with the tool that made the key.')
  })
})
