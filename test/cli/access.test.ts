import { describe, expect, test } from 'vitest'
import { ecKey, edKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'
import { documentOf, startShell } from './support.ts'

const shell = await startShell()

describe('pubring api-key', () => {
  const create = async (name: string, ...args: string[]) => {
    const ran = await shell.pubring(['api-key', 'create', '-n', name, '-r', 'writer', ...args])
    return { ...ran, secret: rememberSecret('an API key', ran.stdout.trim()) }
  }

  test('create prints only the secret, which is valid', async () => {
    const { code, secret, stderr } = await create('deploy', '--project', 'payments')
    expect({ code, secret }).toEqual({ code: 0, secret: expect.stringMatching(/^pubring_\w{49}$/) })
    expect(stderr).toMatch(/API key “deploy” \(writer, payments\), id .* shown only once/)
    const self = await shell.pubring(['whoami', '--json'], { env: { PUBRING_API_KEY: secret } })
    expect(Object(documentOf(self)).apiKey).toMatchObject({
      name: 'deploy',
      role: 'writer',
      projectId: shell.test.project.id,
    })
  })

  test('an API key is renamed, deactivated, activated and deleted', async () => {
    const { secret } = await create('new', '--all-projects')
    const update = ['api-key', 'update', 'new', '--role', 'reader', '--name', 'unwanted']
    expect((await shell.pubring(update)).stderr).toBe('API key “unwanted” (reader) is active.\n')
    const env = { PUBRING_API_KEY: secret }
    const activate = (state: string) =>
      shell.pubring(['api-key', 'update', 'unwanted', '--active', state])
    expect((await activate('false')).code).toBe(0)
    expect((await shell.pubring(['whoami'], { env })).code).toBe(4)
    expect((await shell.pubring(['api-key', 'list'])).stdout).toMatch(
      /\tunwanted\treader\t\tinactive\t/,
    )
    expect((await activate('true')).code).toBe(0)
    expect((await shell.pubring(['whoami'], { env })).code).toBe(0)
    const expire = async (when: string) =>
      (await shell.pubring(['api-key', 'update', 'unwanted', '--expires', when])).stderr
    expect(await expire('2099-01-31')).toBe(
      'API key “unwanted” (reader) is active, until 2099-01-31T00:00:00.000Z.\n',
    )
    expect(await expire('never')).toBe('API key “unwanted” (reader) is active.\n')
    expect(await expire('soon')).toMatch(/^pubring: --expires must be a time: /)
    expect((await shell.pubring(['api-key', 'delete', 'unwanted'])).code).toBe(0)
    expect((await shell.pubring(['api-key', 'list'])).stdout).not.toContain('unwanted')
  })

  test('an API key that expires creates none that outlives it, and hears how', async () => {
    const role = ['--name', 'brief', '--role', 'admin', '--all-projects']
    const brief = await shell.pubring(['api-key', 'create', ...role, '--expires', '90d'])
    const env = { PUBRING_API_KEY: rememberSecret('an API key', brief.stdout.trim()) }
    const ran = await shell.pubring(['api-key', 'create', ...role], { env })
    expect(ran).toMatchObject({ code: 5, stdout: '' })
    expect(ran.stderr).toMatch(
      /^pubring: Your API key expires at .*: send an expireTime that is no later\.\nhint: .*PUBRING_API_KEY.*--expires limits a new one/,
    )
    const { stdout, stderr } = await shell.pubring(['whoami'], { env })
    expect(stdout).toMatch(/^brief \(admin\), until 20.*Z\n$/)
    expect(stderr).toBe('The API key comes from PUBRING_API_KEY.\n')
    const shorter = ['api-key', 'create', ...role, '--expires', '30d']
    expect((await shell.pubring(shorter, { env })).code).toBe(0)
  })

  test.each([['update', '--active', 'false'], ['update', '--role', 'reader'], ['delete']])(
    '%s %s %s of the API key in use requires --yes',
    async (verb, ...flags) => {
      const env = { PUBRING_API_KEY: await shell.test.apiKey('admin') }
      const own = await shell.pubring(['api-key', 'list', '--json'], { env })
      const { id } = Object((Object(documentOf(own)) as object[]).at(-1))
      const command = ['api-key', verb, id, ...flags]
      const ran = await shell.pubring(command, { env })
      expect(ran).toMatchObject({ code: 10, stdout: '' })
      expect(ran.stderr).toMatch(/takes access that you use yourself[\s\S]*--yes/)
      expect((await shell.pubring([...command, '--yes'], { env })).code).toBe(0)
    },
  )

  test('create takes the project of the settings, or else asks for --all-projects', async () => {
    expect((await create('narrow')).stderr).toMatch(/API key “narrow” \(writer, payments\)/)
    const args = ['api-key', 'create', '--name', 'wide', '--role', 'writer']
    const refused = await shell.pubring(args, { env: { PUBRING_PROJECT: undefined } })
    expect(refused).toMatchObject({ code: 64, stderr: expect.stringContaining('--all-projects') })
  })

  test('create without a name or a role names both options, and --admin', async () => {
    const ran = await shell.pubring(['api-key', 'create'])
    expect(ran).toMatchObject({ code: 64, stdout: '' })
    expect(ran.stderr).toMatch(/--name and a --role[\s\S]*--admin/)
  })
})

test('a project is created, listed, shown with the addresses for verifiers, renamed and deleted', async () => {
  const id = (await shell.pubring(['project', 'create', 'Billing'])).stdout.trim()
  expect((await shell.pubring(['project', 'list'])).stdout).toContain(`billing\t${id}\t1\t`)
  const shown = documentOf(await shell.pubring(['project', 'show', 'billing', '--json']))
  const issuer = `https://keys.example.com/base/v1/projects/${id}`
  expect(shown).toMatchObject({
    id,
    name: 'billing',
    issuer,
    jwksUri: `${issuer}/.well-known/jwks.json`,
  })
  await shell.pubring(['project', 'rename', 'billing', 'invoices'])
  const byEnd = await shell.pubring(['project', 'show', id.slice(-6)])
  expect(byEnd.stdout).toContain('\nname\tinvoices\n')
  const deleted = await shell.pubring(['project', 'delete', 'invoices', '--json'])
  expect(documentOf(deleted)).toEqual({ deleted: id })
  expect((await shell.pubring(['project', 'show', id])).code).toBe(6)
})

describe('tokens', () => {
  test.each([
    ['RSA', rsaKey, 'RS256'],
    ['Ed25519', edKey, 'EdDSA'],
  ])('a sample signed with %s verifies on the server', async (name, make, alg) => {
    const key = make()
    const file = shell.file('private.pem', privatePem(key))
    await shell.pubring(['key', 'add', '-', '--label', name], { input: key.publicKeyPem })
    const sample = await shell.pubring(['token', 'sample', file, '--audience', 'orders'])
    expect(sample).toMatchObject({ code: 0, stderr: '' })
    const token = sample.stdout.trim()
    const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
    expect(header).toMatchObject({ alg, typ: 'JWT' })
    rememberSecret('a token', token.split('.')[2] ?? '')
    const check = (...args: string[]) =>
      shell.pubring(['token', 'check', ...args], { input: `Bearer ${token}\n` })
    expect(await check('--audience', 'orders')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^valid\n {2}ok {7}well_formed[\s\S]*\n {2}skipped {2}nbf[\s\S]*the project's issuer/,
      ),
    })
    expect((await check()).stdout).toMatch(/^valid\n[\s\S]*\n {2}skipped {2}aud /)
    expect(await check('--at', '1h')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('The key was not active at '),
    })
    expect((await check('--at', 'then')).code).toBe(64)
  })

  test('a sample without an API key has the issuer of a project that is named by its id', async () => {
    const key = ecKey()
    const file = shell.file('private.pem', privatePem(key))
    await shell.pubring(['key', 'add', '-', '--label', 'sample'], { input: key.publicKeyPem })
    const env = { PUBRING_API_KEY: undefined }
    const issuerIn = (stdout: string) => {
      rememberSecret('a token', stdout.trim().split('.')[2] ?? '')
      const [, claims = ''] = stdout.split('.')
      return JSON.parse(Buffer.from(claims, 'base64url').toString()).iss
    }
    const named = await shell.pubring(['token', 'sample', file], { env })
    expect(named).toMatchObject({ code: 0, stderr: expect.stringContaining('--issuer') })
    expect(issuerIn(named.stdout)).toBeUndefined()
    const { id, issuer } = documentOf(await shell.pubring(['project', 'show', '--json'])) ?? {}
    const byId = await shell.pubring(['token', 'sample', file, '--project', String(id)], { env })
    expect(byId.stderr).toBe('')
    expect(issuerIn(byId.stdout)).toBe(issuer)
  })

  test('a sample with --kid needs no server', async () => {
    const file = shell.file('private.pem', privatePem(ecKey()))
    const env = { PUBRING_URL: 'http://127.0.0.1:1', PUBRING_API_KEY: undefined }
    const { code, stdout } = await shell.pubring(['token', 'sample', file, '--kid', 'mine'], {
      env,
    })
    expect(code).toBe(0)
    const [header = ''] = stdout.split('.')
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
      alg: 'ES256',
      typ: 'JWT',
      kid: 'mine',
    })
    rememberSecret('a token', stdout.trim().split('.')[2] ?? '')
  })

  test.each([
    ['an unregistered key', () => privatePem(ecKey()), [], 6, /not in the key set/],
    ['a public key', () => ecKey().publicKeyPem, [], 66, /not a private key/],
    [
      'an unsuitable algorithm',
      () => privatePem(ecKey()),
      ['--kid', 'x', '--algorithm', 'RS256'],
      64,
      /cannot sign with RS256/,
    ],
  ])('%s signs nothing', async (_name, make, args, code, message) => {
    const file = shell.file('other.pem', make())
    const ran = await shell.pubring(['token', 'sample', file, ...args])
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
  })
})

test('events --follow runs until it is interrupted, and then succeeds', async () => {
  const there = ['--project', 'eventful']
  await shell.pubring(['project', 'create', 'eventful'])
  const add = ['key', 'add', '-', '--label', 'one', ...there]
  await shell.pubring(add, { input: ecKey().publicKeyPem })
  const controller = new AbortController()
  const following = shell.pubring(['events', '--follow', '--json', '--after', '1', ...there], {
    signal: controller.signal,
    onStdout(stdout) {
      if (stdout.split('\n').length > 2) controller.abort()
    },
  })
  await shell.pubring(['key', 'rename', 'one', 'uno', ...there])
  const { code, stdout } = await following
  expect(code).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { revision: 2, type: 'key.created' },
    { revision: 3, type: 'key.updated' },
  ])
})

test('the key set is JSON with and without --json, and needs no API key', async () => {
  const env = { PUBRING_API_KEY: undefined }
  const plain = await shell.pubring(['jwks', 'show'], { env })
  expect(plain.code).toBe(0)
  const published = await shell.test.inject('/v1/projects/payments/.well-known/jwks.json')
  expect(JSON.parse(plain.stdout)).toEqual(published.json())
  expect(JSON.parse(plain.stdout)).toEqual(
    documentOf(await shell.pubring(['jwks', 'show', '--json'], { env })),
  )
})
