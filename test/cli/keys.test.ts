import { describe, expect, test } from 'vitest'
import { freshPem } from '../support/keys/fresh-keys.ts'
import { ecKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'
import { documentOf, startShell } from './support.ts'

const kidLine = /^[0-9a-f-]{36}\n$/

const shell = await startShell()

async function added(name: string, ...args: string[]): Promise<string> {
  const file = shell.file(`${name}.pem`, ecKey().publicKeyPem)
  const { stdout } = await shell.pubring(['key', 'add', file, '--label', name, ...args])
  return stdout.trim()
}

describe('pubring key add', () => {
  test('prints only the kid, and on stderr when it is safe to sign', async () => {
    const file = shell.file('first.pem', rsaKey().publicKeyPem)
    const { code, stdout, stderr } = await shell.pubring(['key', 'add', file, '--label', 'first'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(kidLine) })
    expect(stderr).toMatch(
      /^Registered “first” \(RSA\) in project payments\. Verifiers know it from /,
    )
    const list = await shell.pubring(['key', 'list'])
    expect(list.stdout.split('\t').slice(0, 4)).toEqual([
      stdout.trim(),
      'first',
      'RSA',
      'spreading',
    ])
  })

  test('publishes it under the given kid, by which it is found', async () => {
    const key = ecKey()
    const file = shell.file('migrated.pem', key.publicKeyPem)
    const flags = ['--label', 'migrated', '--published-kid', 'kms/key-1']
    const { stdout, stderr } = await shell.pubring(['key', 'add', file, ...flags])
    expect(stdout).toMatch(kidLine)
    expect(stderr).toContain('with the kid kms/key-1 in the header')
    const shown = await shell.pubring(['key', 'show', 'kms/key-1'])
    expect(shown.stdout).toMatch(new RegExp(`^kid\\t${stdout}[^]*\npublishedKid\\tkms/key-1\n`))
    const sample = await shell.pubring(['token', 'sample', shell.file('m.pem', privatePem(key))])
    const [header = '', , signature = ''] = sample.stdout.trim().split('.')
    rememberSecret('a token', signature)
    expect(JSON.parse(Buffer.from(header, 'base64url').toString()).kid).toBe('kms/key-1')
    const missing = await shell.pubring(['key', 'show', 'kms/key-2'])
    expect(missing).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('has no key “kms/key-2”'),
    })
  })

  test('reads the key from standard input, with CRLF and a byte order mark', async () => {
    const input = `\uFEFF${ecKey().publicKeyPem.replaceAll('\n', '\r\n')}`
    const ran = await shell.pubring(['key', 'add', '-', '--label', 'piped'], { input })
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(kidLine) })
    expect((await shell.pubring(['key', 'show', 'piped'])).stdout).toContain('algorithm\tES256\n')
  })

  test('registers an inactive key with the given algorithm and expiry', async () => {
    const file = shell.file('rsa.pem', rsaKey().publicKeyPem)
    const flags = ['--algorithm', 'PS384', '--inactive', '--expires', '90d', '--json']
    const ran = await shell.pubring(['key', 'add', file, '--label', 'later', ...flags])
    const { kid, id, algorithm, active, expireTime } = documentOf(ran)
    expect({ kid, algorithm, active }).toEqual({ kid: id, algorithm: 'PS384', active: false })
    const days = (Date.parse(String(expireTime)) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(89.9)
    expect(days).toBeLessThanOrEqual(90)
  })
})

describe('a rejected key', () => {
  test('is reported with all its faults', async () => {
    const quoted = `key: ${ecKey().publicKeyPem.replace('\n', '\n> ')}`
    const ran = await shell.pubring(['key', 'add', '-', '--label', 'bad'], { input: quoted })
    expect(ran).toMatchObject({ code: 3, stdout: '' })
    expect(ran.stderr).toMatch(/base64.*Remove the text before the PEM block\./)
  })

  test('is reported beside a bad name, with a line break after a command', async () => {
    const flags = ['--label', ' ', '--algorithm', 'RSA']
    const ran = await shell.pubring(['key', 'add', '-', ...flags], { input: 'x' })
    expect(ran).toMatchObject({ code: 3, stdout: '' })
    expect(ran.stderr).toMatch(/: openssl pkey -in private\.pem -pubout\n--label is empty\./)
  })
})

describe('a key by its name', () => {
  test('can be renamed, deactivated, activated, given an expiry and shown', async () => {
    await added('another')
    const kid = await added('by name')
    await shell.pubring(['key', 'rename', 'by name', 'renamed'])
    expect((await shell.pubring(['key', 'deactivate', 'renamed'])).stderr).toMatch(
      /^Deactivated “renamed”/,
    )
    const raised = ['key', 'deactivate', 'renamed', '--reason', 'superseded', '--json']
    expect(documentOf(await shell.pubring(raised))).toMatchObject({
      details: { ended: { reason: 'superseded' } },
    })
    const shown = (await shell.pubring(['key', 'show', 'renamed'])).stdout
    expect(shown).toContain('active\tfalse\n')
    expect(shown).toMatch(/^endTime\t.*Z\nendReason\tsuperseded$/m)
    expect((await shell.pubring(['key', 'activate', 'renamed'])).stderr).toMatch(
      /^Activated “renamed”/,
    )
    const ending = await shell.pubring(['key', 'expire', 'renamed', '2h', '--json'])
    expect(documentOf(ending)).toHaveProperty('expireTime')
    const endless = await shell.pubring(['key', 'expire', 'renamed', 'never', '--json'])
    expect(documentOf(endless)).not.toHaveProperty('expireTime')
    const pem = await shell.pubring(['key', 'show', kid, '--pem'])
    expect(pem.stdout).toMatch(/^-----BEGIN PUBLIC KEY-----\n/)
  })

  test('gets a suggestion if it is misspelled', async () => {
    await added('orders service')
    const ran = await shell.pubring(['key', 'show', 'orders servise'])
    expect(ran).toMatchObject({ code: 6, stdout: '' })
    expect(ran.stderr).toContain('did you mean orders service?')
  })

  test('is rejected if two keys have it, with the kids of both', async () => {
    const kids = [await added('double'), await added('double')]
    const ran = await shell.pubring(['key', 'deactivate', 'double'])
    expect(ran.code).toBe(64)
    for (const kid of kids) expect(ran.stderr).toContain(`hint: ${kid}  double (active)\n`)
  })
})

test('deleting an active key is rejected, and names the command that deactivates it', async () => {
  const kid = await added('active')
  const ran = await shell.pubring(['key', 'delete', kid])
  expect(ran).toMatchObject({ code: 7, stdout: '' })
  expect(ran.stderr).toContain('pubring key deactivate')
  expect((await shell.pubring(['key', 'show', kid])).code).toBe(0)
})

test('without a terminal, an expiry of the last active key requires --yes', async () => {
  await shell.pubring(['project', 'create', 'expiring'])
  const file = shell.file('expiring.pem', ecKey().publicKeyPem)
  const there = ['--project', 'expiring']
  await shell.pubring(['key', 'add', file, '--label', 'only', ...there])
  for (const when of ['1s', '30d']) {
    const refused = await shell.pubring(['key', 'expire', 'only', when, ...there])
    expect(refused).toMatchObject({ code: 10, stdout: '' })
    expect(refused.stderr).toMatch(
      /last active key of project expiring then expires at 20[\s\S]*hint: .*--yes/,
    )
  }
  const shown = await shell.pubring(['key', 'show', 'only', '--json', ...there])
  expect(documentOf(shown)).not.toHaveProperty('expireTime')
  const done = await shell.pubring(['key', 'expire', 'only', '30d', '--yes', ...there])
  expect(done.code).toBe(0)
  expect(done.stderr).toMatch(/Warning: No key of the project is active from/)
  // Later is no worse.
  expect((await shell.pubring(['key', 'expire', 'only', '60d', ...there])).code).toBe(0)
  const other = shell.file('other.pem', ecKey().publicKeyPem)
  await shell.pubring(['key', 'add', other, '--label', 'other', ...there])
  expect((await shell.pubring(['key', 'expire', 'only', '1h', ...there])).code).toBe(0)
})

test('without a terminal, deactivating the last active key requires --yes', async () => {
  await shell.pubring(['project', 'create', 'alone'])
  const file = shell.file('only.pem', ecKey().publicKeyPem)
  const there = ['--project', 'alone']
  const { stdout } = await shell.pubring(['key', 'add', file, '--label', 'only', ...there])
  const refused = await shell.pubring(['key', 'deactivate', stdout.trim(), ...there])
  expect(refused).toMatchObject({ code: 10, stdout: '' })
  expect(refused.stderr).toMatch(
    /last active key of project alone[\s\S]*hint: To confirm, repeat with --yes/,
  )
  expect((await shell.pubring(['key', 'list', '--active', ...there])).stdout).toContain('only')
  const done = await shell.pubring(['key', 'deactivate', stdout.trim(), '--yes', ...there])
  expect(done.code).toBe(0)
  expect((await shell.pubring(['key', 'list', '--active', ...there])).stdout).toBe('')
})

test('so does deactivating the last active key in jwks.json beside an ML-DSA key', async () => {
  await shell.pubring(['project', 'create', 'post-quantum'])
  const there = ['--project', 'post-quantum']
  for (const [label, pem] of [
    ['common', ecKey().publicKeyPem],
    ['ml-dsa', freshPem('ML-DSA-44')],
  ] as const) {
    await shell.pubring(['key', 'add', shell.file('key.pem', pem), '--label', label, ...there])
  }
  const refused = await shell.pubring(['key', 'deactivate', 'common', ...there])
  expect(refused).toMatchObject({ code: 10, stdout: '' })
  expect(refused.stderr).toMatch(
    /the last active key in jwks.json of project post-quantum[\s\S]*--yes/,
  )
  expect((await shell.pubring(['key', 'deactivate', 'ml-dsa', ...there])).code).toBe(0)
})

describe('on a terminal', () => {
  test('deactivating the last active key asks for confirmation', async () => {
    await shell.pubring(['project', 'create', 'asked'])
    const there = ['--project', 'asked']
    const file = shell.file('asked.pem', ecKey().publicKeyPem)
    await shell.pubring(['key', 'add', file, '--label', 'only', ...there])
    const answer = (text: string) =>
      shell.pubring(['key', 'deactivate', 'only', ...there], {
        answers: { 'Continue?': text },
      })
    const no = await answer('n\r')
    expect(no).toMatchObject({ code: 10, stdout: '' })
    expect(no.stderr).toContain('Nothing was changed.')
    expect((await shell.pubring(['key', 'list', '--active', ...there])).stdout).toContain('only')
    expect(await answer('\u0003')).toMatchObject({ code: 130 })
    expect((await shell.pubring(['key', 'list', '--active', ...there])).stdout).toContain('only')
    expect(await answer('y\r')).toMatchObject({ code: 0 })
    expect((await shell.pubring(['key', 'list', '--active', ...there])).stdout).toBe('')
  })

  test('colors are used unless NO_COLOR is set', async () => {
    await added('colourful')
    const esc = String.fromCharCode(27)
    const { stdout } = await shell.pubring(['key', 'list'], { columns: 100 })
    expect(stdout).toContain(esc)
    const plain = await shell.pubring(['key', 'list'], { columns: 100, env: { NO_COLOR: '1' } })
    expect(plain.stdout).not.toContain(esc)
    expect((await shell.pubring(['key', 'list'])).stdout).not.toContain(esc)
  })
})
