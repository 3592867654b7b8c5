import { execFileSync, spawnSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { commands } from '../../packages/intake/src/commands.ts'
import { derOf, examine, fixture, pem, rejected } from '../support/keys/intake.ts'

/*
 * The details of faults recommend commands. Each is run here on the input that it is recommended for,
 * with the tools that it names.
 */

const folder = mkdtempSync(join(tmpdir(), 'pubring-advice-'))
afterAll(() => rmSync(folder, { recursive: true }))

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const
const privatePem = privateKey.export(pkcs8)

/** The command at the end of a detail. */
function commandIn(detail: string): string | undefined {
  return /: ((?:openssl|ssh-keygen|node|cat|grep|perl|jq|base64|\()[ a-z].*)$/.exec(detail)?.[1]
}

const inputFile = /\b(?:key|cert|certs|jwks|request)\.(?:pem|pub|hex|txt|json|der)\b/

/** Runs a recommended command with the text in the file that it names. Returns what it prints. */
function run(command: string, text: string | Buffer): string {
  const file = inputFile.exec(command)?.[0]
  if (file !== undefined) writeFileSync(join(folder, file), text, { mode: 0o600 })
  if (/(?:-in |')private\.pem/.test(command)) {
    writeFileSync(join(folder, 'private.pem'), privatePem)
  }
  const entered = command.replace('openssl pkcs12', '$& -passin pass:x')
  const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', entered], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(status, `${command}\n${stderr}`).toBe(0)
  return stdout
}

const spkiOf = (text: string) => createPublicKey(text).export({ type: 'spki', format: 'der' })

/** Checks that the recommended command makes the intended key of the input, and intake takes it. */
function expectKey(text: string, intended: Buffer, code?: string): void {
  const fault = rejected(text).faults[0]
  if (code !== undefined) expect(fault.code).toBe(code)
  const command = commandIn(fault.detail) ?? ''
  expect(inputFile.test(command), fault.detail).toBe(true)
  const verdict = examine(run(command, text))
  if (!verdict.ok) expect.fail(`${command}: ${verdict.faults[0].detail}`)
  expect(spkiOf(verdict.key.publicKeyPem)).toEqual(intended)
}

const der = (key: KeyObject) => key.export({ type: 'spki', format: 'der' })
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' })
const shell = (command: string) => execFileSync('bash', ['-c', command], { cwd: folder }).toString()
const base64Lines = (bytes: Uint8Array) => pem(bytes).split('\n').slice(1, -2).join('\n')

/** An SSH key pair of ssh-keygen: the line of its public key, and its SPKI. */
function sshPair(name: string, type: string) {
  shell(`ssh-keygen -q -t ${type} -N '' -C 'alice@host' -f ${name}`)
  const line = readFileSync(join(folder, `${name}.pub`), 'utf8')
  const blob = line.split(' ')[1] ?? ''
  const bytes = Buffer.from(blob, 'base64')
  const spki = line.startsWith('ssh-ed25519')
    ? derOf(
        pem(Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bytes.subarray(-32)])),
      )
    : spkiOf(shell(`ssh-keygen -e -m PKCS8 -f ${name}.pub`))
  return { line, blob, bytes, spki }
}

describe('SSH keys', () => {
  test.each([
    ['rsa', 'rsa -b 2048'],
    ['ecdsa256', 'ecdsa -b 256'],
    ['ecdsa521', 'ecdsa -b 521'],
    ['ed25519', 'ed25519'],
  ])('%s is converted from every layout', (name, type) => {
    const { line, blob, bytes, spki } = sshPair(name, type)
    const layouts = [
      line,
      blob,
      `${blob}\n`,
      `# mine\n${line}`,
      `  ${line}`,
      `"${line.trim()}"`,
      `no-pty,command="ls" ${line}`,
      `host.example ${line}`,
      line.replace('\n', '\r\n'),
      shell(`ssh-keygen -e -f ${name}.pub`),
      pem(bytes),
      pem(bytes, 'RSA PUBLIC KEY'),
      ...layoutsOf(pem(bytes)),
      ...layoutsOf(pem(bytes, 'OPENSSH PUBLIC KEY')),
      ...layoutsOf(shell(`ssh-keygen -e -f ${name}.pub`)),
      `\uFEFF${line}`,
      folded(line),
      folded(blob),
      `\uFEFF${folded(line).replaceAll('\n', '\r\n')}`,
      line.replaceAll(' ', '\n'),
      `KEY="${line.trim()}"`,
    ]
    for (const layout of layouts) expectKey(layout, spki, 'ssh_key_submitted')
  })

  test.each([
    ['a security key', fixture('formats/n28-sk-ssh-ed25519.pub'), 'security key'],
    ['a security key (ECDSA)', sshLine('sk-ecdsa-sha2-nistp256@openssh.com'), 'security key'],
    ['a DSA key', sshLine('ssh-dss'), 'cannot sign JWTs'],
    ['an Ed448 key', sshLine('ssh-ed448'), 'cannot sign JWTs'],
    ['a certificate', sshLine('ssh-ed25519-cert-v01@openssh.com'), 'without -cert'],
    ['a certificate for RSA', sshLine('ssh-rsa-cert-v01@openssh.com'), 'without -cert'],
    ['two keys', sshLine('ssh-rsa') + sshLine('ssh-ed25519'), '2 SSH keys'],
    ['two keys of one type', sshLine('ssh-rsa', 'AAAA') + sshLine('ssh-rsa'), '2 SSH keys'],
    ['a key that was cut off', fixture('material/ssh_rsa.pub').slice(0, 99), 'cut off or damaged'],
    ['a key without its padding', sshLine('ssh-rsa'), 'cut off or damaged'],
  ])('%s is not converted', (_name, text, advice) => {
    const [fault] = rejected(text).faults
    expect(fault.code).toBe('ssh_key_submitted')
    expect(fault.detail).toContain(advice)
    expect(inputFile.test(fault.detail)).toBe(false)
  })
})

const folded = (text: string) => text.replace(/.{70}/g, '$&\n')

/** One block in layouts that intake repairs and openssl cannot read. */
function layoutsOf(block: string): string[] {
  const text = block.trim()
  const escaped = text.replaceAll('\n', '\\n')
  return [
    escaped,
    `"${escaped}"`,
    `"${text}"`,
    text.replaceAll('\n', ' '),
    text.replaceAll('\n', ''),
    text.replaceAll('\n', '\r'),
    text.replace(/^/gm, '    '),
  ]
}

/** A PKCS#12 that holds a certificate alone. */
function trustStore(certificate: Uint8Array): Buffer {
  writeFileSync(join(folder, 'trusted.pem'), pem(certificate, 'CERTIFICATE'))
  const args = 'pkcs12 -export -nokeys -in trusted.pem -passout pass:x'.split(' ')
  return execFileSync('openssl', args, { cwd: folder })
}

/** A line with a key of any type, whose numbers are not a key. */
function sshLine(type: string, numbers = 'BBBB'): string {
  const blob = Buffer.from([0, 0, 0, type.length, ...Buffer.from(type), 0, 0, 0, 3, 1, 0, 1])
  return `${type} ${blob.toString('base64').replace(/=+$/, '')}${numbers} alice@host\n`
}

describe('JSON', () => {
  const pairs = [
    ['an RSA JWK', generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey],
    ['an EC JWK', publicKey],
    ['an OKP JWK', generateKeyPairSync('ed25519').publicKey],
    ['an AKP JWK', generateKeyPairSync('ml-dsa-44').publicKey],
  ] as const
  test.each(pairs)('%s is converted', (_name, key) => {
    const jwk = { ...jwkOf(key), kid: 'a', use: 'sig' }
    expectKey(JSON.stringify(jwk), der(key), 'jwk_submitted')
    expectKey(`\uFEFF${JSON.stringify(jwk, undefined, 2)}\r\n`, der(key))
    expectKey(JSON.stringify({ keys: [jwk] }), der(key))
    expectKey(JSON.stringify({ keys: [jwk, jwkOf(publicKey)] }), der(key))
    expectKey(JSON.stringify([jwk, jwkOf(publicKey)]), der(key), 'jwk_submitted')
    expectKey(JSON.stringify({ attributes: null, key: jwk }), der(key), 'jwk_submitted')
    for (const text of [jwk, { keys: [jwk] }, { key: jwk }].map((value) => JSON.stringify(value))) {
      expect(rejected(text).faults[0].detail).toContain('send that as publishedKid')
    }
  })

  test('the first of a set or of a map of certificates is converted', () => {
    const [first] = JSON.parse(fixture('formats/n19-jwks.json')).keys
    const intended = der(createPublicKey({ key: first, format: 'jwk' }))
    expectKey(fixture('formats/n19-jwks.json'), intended, 'jwk_submitted')
    const map = fixture('formats/n20-x509-map.json')
    const [certificate] = Object.values(JSON.parse(map))
    expectKey(map, spkiOf(String(certificate)), 'jwk_submitted')
    for (const text of [fixture('formats/n19-jwks.json'), map]) {
      expect(rejected(text).faults[0].detail).toMatch(/\b2 (?:keys|certificates)/)
    }
  })

  const [, rsaKey] = pairs[0]
  const pemText = publicKey.export({ type: 'spki', format: 'pem' })
  const certificate = fixture('material/cert_valid.pem')
  const x5c = [certificate.replaceAll(/-----.*?-----|\s/g, '')]
  test.each<[string, object, Buffer]>([
    ['a JWK deep inside', { cnf: { proof: [{ jwk: jwkOf(publicKey) }] } }, der(publicKey)],
    ['only a certificate', { keys: [{ kty: 'RSA', x5c }] }, spkiOf(certificate)],
    ['PEM deep inside', { resources: [{ pem: `\n${pemText}` }] }, der(publicKey)],
    [
      'Vault',
      {
        data: {
          keys: {
            9: { public_key: rsaKey.export({ type: 'spki', format: 'pem' }) },
            10: { public_key: pemText },
          },
        },
      },
      der(publicKey),
    ],
    [
      'a Secret',
      { apiVersion: 'v1', kind: 'Secret', data: { a: btoa('a'), b: btoa(String(pemText)) } },
      der(publicKey),
    ],
    ['a ConfigMap', { apiVersion: 'v1', kind: 'ConfigMap', data: { b: pemText } }, der(publicKey)],
  ])('a document: %s', (_name, document, intended) => {
    expectKey(JSON.stringify(document), intended, 'jwk_submitted')
  })

  test('the command for a Secret prints no private key of it', () => {
    const texts = { key: privatePem, pair: `${pemText}${privatePem}`, pub: pemText }
    const data = Object.entries(texts).map(([name, text]) => [name, btoa(String(text))])
    const secret = { apiVersion: 'v1', kind: 'Secret', data: Object.fromEntries(data) }
    expect(run(commands.printSecret, JSON.stringify(secret)).trim()).toBe(String(pemText).trim())
  })

  test.each([
    ['a raw Ed25519 key', String(jwkOf(generateKeyPairSync('ed25519').publicKey).x)],
    ['one that begins like JSON in base64', 'eypit4BY48BB8FpgswUhDTf7zapVgqgnG0VKELScOlY'],
  ])('%s', (_name, x) => {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    const raw = Buffer.from(x, 'base64url')
    for (const text of [raw.toString('base64'), x, raw.toString('hex')]) {
      expectKey(text, der(key), 'pem_not_found')
    }
  })

  const rsa = jwkOf(rsaKey)
  test.each([
    ['no n', { ...rsa, n: undefined }, 'member n is missing'],
    ['no e', { ...rsa, e: undefined }, 'member e is missing'],
    ['an empty e', { ...rsa, e: '' }, 'member e is not a text in base64url'],
    ['a number', { ...rsa, e: 65537 }, 'member e is not a text in base64url'],
    ['no x', { ...jwkOf(publicKey), x: undefined }, 'member x is missing'],
    ['no crv', { ...jwkOf(publicKey), crv: undefined }, 'member crv is missing'],
    ['an unknown kty', { kty: 'oct' }, 'kty is not RSA, EC, OKP or AKP'],
  ])('a JWK with %s is described', (_name, jwk, fault) => {
    for (const text of [JSON.stringify(jwk), JSON.stringify({ keys: [jwk] })]) {
      expect(rejected(text).faults[0].code).toBe('jwk_submitted')
      expect(rejected(text).faults[0].detail).toContain(fault)
    }
  })

  test.each([
    ['a JWK in a string', JSON.stringify(JSON.stringify(rsa)), 'Decode the string first'],
    ['PEM in an object', JSON.stringify({ pem: pem(der(publicKey)) }), 'contains PEM'],
    ['PEM in an array', JSON.stringify([pem(der(publicKey))]), 'JSON document that contains PEM'],
    ['PEM deep inside', JSON.stringify({ a: { 1: [pem(der(publicKey))] } }), 'contains PEM'],
    ['an empty set', '{"keys": []}', '0 keys'],
    ['a set of one', JSON.stringify({ keys: [{ kty: 'RSA' }] }), 'with one key, a JWK whose'],
    ['a list of PEM', JSON.stringify({ keys: [{ pem: pem(der(publicKey)) }] }), 'contains PEM'],
    ['a list of anything', '{"keys": [{}]}', 'This is a key set (JWKS). Send the public key'],
    ['another document', '{"a": 1}', 'This is a JSON document'],
  ])('%s is described', (_name, text, advice) => {
    expect(rejected(text).faults[0].detail).toContain(advice)
  })
})

describe('keys under a wrong label, or without a block', () => {
  const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const spki = der(publicKey)
  const pkcs1 = rsaKey.publicKey.export({ type: 'pkcs1', format: 'der' })
  const certificate = derOf(fixture('material/cert_valid.pem'))
  const certified = spkiOf(fixture('material/cert_valid.pem'))
  const request = derOf(fixture('keys/wrongtype/csr.pem'))
  const requested = shell(`cat > csr.pem <<'EOF'\n${pem(request, 'CERTIFICATE REQUEST')}EOF
openssl req -in csr.pem -pubkey -noout`)
  const contents: [string, Buffer, Buffer][] = [
    ['SPKI', spki, spki],
    ['PKCS#1', pkcs1, der(rsaKey.publicKey)],
    ['a certificate', certificate, certified],
    ['a certificate request', request, spkiOf(requested)],
    ['a store of certificates', trustStore(certificate), certified],
  ]
  test.each(contents)('%s', (name, bytes, intended) => {
    const labels = ['PUBLIC KEY', 'RSA PUBLIC KEY', 'EC PUBLIC KEY', 'SSH2 PUBLIC KEY']
    labels.push('OPENSSH PUBLIC KEY', 'CERTIFICATE', 'CERTIFICATE REQUEST')
    const right: Record<string, string> = {
      SPKI: 'PUBLIC KEY',
      'PKCS#1': 'RSA PUBLIC KEY',
      'a certificate': 'CERTIFICATE',
      'a certificate request': 'CERTIFICATE REQUEST',
      'a store of certificates': 'PKCS12',
    }
    for (const label of labels.filter((each) => each !== right[name])) {
      expectKey(pem(bytes, label), intended)
    }
    expectKey(pem(bytes, 'SSH2 PUBLIC KEY').replaceAll('\n', '\r\n'), intended)
    for (const layout of layoutsOf(pem(bytes, 'EC PUBLIC KEY'))) expectKey(layout, intended)
    for (const label of labels.filter((each) => each !== right[name])) {
      if (label !== 'CERTIFICATE REQUEST')
        expectKey(layoutsOf(pem(bytes, label))[0] ?? '', intended)
    }
    if (right[name]?.startsWith('CERT')) {
      for (const layout of layoutsOf(pem(bytes, right[name]))) expectKey(layout, intended)
      for (const end of [';', '"', ' ', '\n\n']) {
        expectKey(`${pem(bytes, right[name]).trim()}${end}`, intended)
      }
      expectKey(`KEY=${pem(bytes, right[name])}${pem(bytes, right[name])}`, intended)
    }
    const hex = bytes.toString('hex')
    const spaced = hex.replace(/../g, '$&:').replace(/.{48}/g, '$&\n    ')
    for (const text of [hex, hex.toUpperCase(), `0x${hex}`, spaced, base64Lines(bytes)]) {
      expectKey(text, intended, 'pem_not_found')
    }
    expectKey(bytes.toString('base64'), intended, 'pem_not_found')
    // Two dashes, which random bytes may have there, cut a store off: it may hold a private key then.
    if (name === 'a store of certificates') return
    expectKey(bytes.toString('base64url'), intended, 'pem_not_found')
    expectKey(`${bytes.toString('base64url').replace(/.{60}/g, '$&\n')}==\n`, intended)
  })

  test.each(contents.filter(([name]) => !name.includes('store')))(
    'DER that was read as text: %s',
    (_name, bytes, intended) => {
      for (const encoding of ['utf8', 'latin1'] as const) {
        const [{ code, detail }] = rejected(bytes.toString(encoding)).faults
        expect(code).toBe('key_encoding_invalid')
        writeFileSync(join(folder, 'key.der'), bytes)
        expect(spkiOf(shell(commandIn(detail) ?? ''))).toEqual(intended)
      }
    },
  )

  test('a file of PKCS#12, whatever it holds', () => {
    writeFileSync(join(folder, 'private.pem'), rsaKey.privateKey.export(pkcs8))
    const made = shell('openssl req -x509 -key private.pem -subj /CN=x -out own.pem && cat own.pem')
    const keyStore = 'openssl pkcs12 -export -inkey private.pem -in own.pem -passout pass:x'
    const stores = [
      [trustStore(certificate), certified],
      [execFileSync('bash', ['-c', keyStore], { cwd: folder }), spkiOf(made)],
    ] as const
    for (const [store, intended] of stores) {
      const [{ code, detail }] = rejected(store.toString('utf8')).faults
      expect(code).toBe('key_encoding_invalid')
      writeFileSync(join(folder, 'store.p12'), store)
      expect(spkiOf(run(commandIn(detail) ?? '', ''))).toEqual(intended)
    }
  })

  test('a public key in base64 that was cut off inside other text', () => {
    for (const text of [
      `p=${spki.toString('base64').slice(0, 90)};`,
      `p=${certificate.toString('base64url')};`,
    ]) {
      expect(commandIn(rejected(text).faults[0].detail)).toBe(commands.exportPublic)
    }
  })

  test('a public key in base64 inside other text', () => {
    const base64 = spki.toString('base64')
    for (const text of [
      JSON.stringify({ realm: 'master', public_key: base64 }, undefined, 2),
      JSON.stringify({ data: { keys: [{ spki: base64 }, { spki: base64 }] } }),
    ]) {
      expectKey(text, spki, 'jwk_submitted')
    }
    const quoted = `"${base64.replace(/.{64}/g, '$&\\n')}"`
    for (const text of [quoted, `v=DKIM1; k=rsa; p=${base64}`, `key: ${base64}\n`, `"${base64}"`]) {
      expectKey(text, spki, 'pem_not_found')
    }
  })

  test('PEM in base64', () => {
    for (const text of [btoa(pem(spki)), `"${btoa(pem(spki))}"`]) expectKey(text, spki)
  })

  test('PEM in hexadecimal', () => {
    const text = Buffer.from(pem(spki)).toString('hex')
    expectKey(text, spki, 'pem_not_found')
    expectKey(text.replace(/../g, '$& '), spki, 'pem_not_found')
  })

  test('a certificate that x5c holds', () => {
    const text = fixture('formats/n13-x5c-as-public-key.pem')
    expectKey(
      text,
      spkiOf(text.replaceAll('PUBLIC KEY', 'CERTIFICATE')),
      'pem_label_content_mismatch',
    )
  })

  test.each(['P-256', 'P-384', 'P-521'])('a point on %s in hexadecimal', (namedCurve) => {
    const key = generateKeyPairSync('ec', { namedCurve }).publicKey
    const { x = '', y = '' } = jwkOf(key)
    const point = `04${[x, y].map((part) => Buffer.from(part, 'base64url').toString('hex')).join('')}`
    for (const text of [point, `${point.toUpperCase()}\n`, point.replace(/../g, '$&:')]) {
      expectKey(text, der(key), 'pem_not_found')
    }
  })

  test.each([
    ['n18-hex-point.txt', 'a bare point on P-256'],
    ['n18-hex-modulus.txt', 'RSA modulus in hexadecimal, without its exponent'],
    ['n18-openssl-modulus.txt', 'the output of openssl rsa -modulus'],
  ])('%s', (file, advice) => {
    const [fault] = rejected(fixture(`formats/${file}`)).faults
    expect(fault.code).toBe('pem_not_found')
    expect(fault.detail).toContain(advice)
  })

  const { n = '' } = jwkOf(rsaKey.publicKey)
  const modulus = Buffer.from(n, 'base64url')
  const xml = `<RSAKeyValue><Modulus>${modulus.toString('base64')}</Modulus><Exponent>AQAB</Exponent></RSAKeyValue>`
  test.each([
    ['a decimal modulus', String(BigInt(`0x${modulus.toString('hex')}`)), 'a bare RSA modulus, w'],
    ['XML of .NET', xml, 'XML of .NET'],
    ['the description of openssl', 'Public-Key: (256 bit)\npub:\n    04:ab', 'without -text'],
    ['base64 of PEM in YAML', `data:\n  k: ${btoa(pem(spki))}\n`, 'base64 of a whole PEM file'],
    ['an unset variable', 'undefined', 'unset variable'],
    ['another unset variable', `\${PUBLIC_KEY}`, 'unset variable'],
    ['an object as text', '[object Object]', 'unconverted object'],
    ['a path', './keys/public.pem', 'the name of a file'],
    ['a web page', '<!DOCTYPE html><html>', 'a web page'],
    [
      'a key of Java as text',
      'Sun RSA public key, 2048 bits\n  params: null',
      'unconverted object',
    ],
    ['a fingerprint by ssh-keygen', `256 SHA256:${'a'.repeat(43)} a@b (ED25519)`, 'fingerprint'],
    ['a fingerprint by openssl', `SHA1 Fingerprint=${'AB:'.repeat(19)}AB`, 'fingerprint'],
    ['base64 of a JWK', btoa(JSON.stringify(jwkOf(publicKey))), 'base64 of JSON'],
    ['the error of curl', 'curl: (6) Could not resolve host: a', 'error message of a command'],
    ['the error of cat', 'cat: key.pem: No such file or directory', 'error message of a command'],
    ['a table', 'label,publicKey\na,MFkw', 'a table (CSV)'],
    ['a declaration', 'project: a\nkeys:\n  - label: a\n    file: a.pem\n', 'a declaration'],
  ])('%s is recognized', (_name, text, advice) => {
    const [fault] = rejected(text).faults
    expect(fault.code).toBe('pem_not_found')
    expect(fault.detail).toContain(advice)
  })

  test('a hybrid point in any layout', () => {
    const text = fixture('keys/ec/p256-hybrid.pem')
    const intended = derOf(text)
    intended[intended.length - 65] = 4
    for (const layout of [text, ...layoutsOf(text)]) {
      expectKey(layout, intended, 'ec_point_format_unsupported')
    }
  })

  test('a bare EC point as PUBLIC KEY', () => {
    const point = spki.subarray(-65)
    for (const text of [pem(point), pem(point, 'RSA PUBLIC KEY')]) {
      const [fault] = rejected(text).faults
      expect(fault.code).toBe('pem_label_content_mismatch')
      expect(fault.detail).toContain('the content is a bare EC point')
    }
  })

  test('a mail that quotes the key', () => {
    const [fault] = rejected(`> ${pem(spki).trim().replaceAll('\n', '\n> ')}`).faults
    expect(fault.code).toBe('pem_base64_invalid')
    expect(fault.detail).toContain('remove the > before each line')
  })
})

describe('commands that make or read a private key', () => {
  test.each([
    ['RSA', commands.generateRsa, commands.exportPublic],
    ['EC', commands.generateEc, commands.exportPublic],
    ['Ed25519', commands.generateEd25519, commands.exportPublic],
    ['ML-DSA', commands.generateMlDsa('ML-DSA-65'), commands.exportPublicMlDsa],
  ])('%s', (_name, generate, print) => {
    shell(generate)
    const printed = shell(print)
    expect(examine(printed).ok).toBe(true)
    const pair = createPublicKey(readFileSync(join(folder, 'private.pem'), 'utf8'))
    expect(spkiOf(printed)).toEqual(der(pair))
  })

  test('an EC key with explicit parameters gets a named curve', () => {
    shell(`${commands.generateEc} -pkeyopt ec_param_enc:explicit`)
    const text = shell(commands.exportPublic)
    const [fault] = rejected(text).faults
    expect(fault.code).toBe('ec_explicit_parameters')
    expect(examine(shell(commandIn(fault.detail) ?? '')).ok).toBe(true)
  })

  test('the detail for a private key names both commands', () => {
    const [{ code, detail }] = rejected(String(privatePem)).faults
    expect(code).toBe('private_key_submitted')
    expect(detail).toContain(`(${commands.generateRsa})`)
    expect(commandIn(detail)).toBe(commands.exportPublic)
  })
})

/** Commands in hints, help and errors elsewhere; `${quoted}` is the name of a file. */
const literals = globSync([
  'packages/{agents,cli,intake,server}/src/**/*.ts',
  'console/src/**/*.tsx',
])
  .filter((file) => !/intake\/src\/(?:commands|formats\/|secrets\/public-half)/.test(file))
  .flatMap((file) =>
    Array.from(
      readFileSync(file, 'utf8').matchAll(
        /\bopenssl (?:pkey|genpkey|x509|req|rsa|ec) [^'`"<|)\n]*/g,
      ),
      ([command]) => command.replace(/\$\{\w+\}/, 'private.pem').trim(),
    ),
  )

test.each([...new Set(literals)])('the hint works: %s', (command) => {
  writeFileSync(join(folder, 'private.pem'), privatePem)
  writeFileSync(join(folder, 'public.pem'), pem(der(publicKey)))
  writeFileSync(join(folder, 'key.der'), privateKey.export({ type: 'pkcs8', format: 'der' }))
  writeFileSync(join(folder, 'cert.pem'), fixture('material/cert_valid.pem'))
  const printed = shell(command)
  if (command.includes('-pubout')) {
    const written = /-out (\S+)/.exec(command)?.[1]
    const text = written === undefined ? printed : readFileSync(join(folder, written), 'utf8')
    expect(spkiOf(text)).toEqual(der(publicKey))
  }
})

test('the intake recommends only commands of its table', () => {
  // The commands of `public-half.ts` are run by the tests of the command line and the console.
  const tested = /commands|formats\/|public-half/
  const files = globSync('packages/intake/src/**/*.ts').filter((file) => !tested.test(file))
  for (const file of files) {
    const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    expect(code, file).not.toMatch(/(?:openssl (?!\/)|ssh-keygen|xxd|perl -|node -[pe]) ?[a-z-]/)
  }
})

describe('every command of a detail works on its input', () => {
  const files = globSync('test/fixtures/{keys,material,formats}/**/*.{pem,pub,txt,json,der,asc}')
  test.each(files.filter((file) => basename(file) !== 'manifest.json'))('%s', (file) => {
    const bytes = readFileSync(file)
    const verdict = examine(bytes.toString('utf8'))
    for (const { code, detail } of verdict.ok ? [] : verdict.faults) {
      const command = commandIn(detail)
      if (command === undefined || command.includes('genpkey')) continue
      const printed = run(command, bytes)
      // The key that it prints is not refused for the same reason.
      expect(examine(printed), printed).not.toMatchObject({ faults: [{ code }] })
    }
  })
})
