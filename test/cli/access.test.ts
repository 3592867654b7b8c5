import { describe, expect, test } from 'vitest'
import { ecKey, edKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'
import { documentOf, startShell } from './support.ts'

const shell = await startShell()

describe('pubring api-key', () => {
  const create = async (name: string, ...args: string[]) => {
    const ran = await shell.pubring([
      'api-key',
      'create',
      '--name',
      name,
      '--role',
      'writer',
      ...args,
    ])
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

  test('update changes the name and the role of an API key', async () => {
    const { secret } = await create('changing')
    const env = { PUBRING_API_KEY: secret }
    const update = ['api-key', 'update', 'changing', '--role', 'reader', '--name', 'changed']
    expect((await shell.pubring(update)).stderr).toBe('API key “changed” (reader) is active.\n')
    const add = ['key', 'add', '-', '--label', 'x', '--algorithm', 'ES256']
    expect((await shell.pubring(add, { env, input: ecKey().publicKeyPem })).code).toBe(5)
    expect((await shell.pubring(['api-key', 'list'])).stdout).toMatch(/\tchanged\treader\t/)
  })

  test('an inactive API key gets 401 and stays in the list; a deleted one is gone', async () => {
    const { secret } = await create('unwanted', '--all-projects')
    const env = { PUBRING_API_KEY: secret }
    const activate = (state: string) =>
      shell.pubring(['api-key', 'update', 'unwanted', '--active', state])
    expect((await activate('false')).code).toBe(0)
    expect((await shell.pubring(['whoami'], { env })).code).toBe(4)
    expect((await shell.pubring(['api-key', 'list'])).stdout).toMatch(
      /\tunwanted\twriter\t\tinactive\t/,
    )
    expect((await activate('true')).code).toBe(0)
    expect((await shell.pubring(['whoami'], { env })).code).toBe(0)
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

  test('create takes the project of the settings, and asks for --all-projects without one', async () => {
    const created = await create('narrow')
    expect(created.stderr).toMatch(/API key “narrow” \(writer, payments\)/)
    const args = ['api-key', 'create', '--name', 'wide', '--role', 'writer']
    const call = { env: { PUBRING_PROJECT: undefined } }
    const refused = await shell.pubring(args, call)
    expect(refused).toMatchObject({ code: 64, stderr: expect.stringContaining('--all-projects') })
    const wide = await shell.pubring([...args, '--all-projects'], call)
    expect(wide.stderr).toMatch(/API key “wide” \(writer, all projects\)/)
    rememberSecret('an API key', wide.stdout.trim())
  })

  test('create without a name or a role names both options, and --admin', async () => {
    const ran = await shell.pubring(['api-key', 'create'])
    expect(ran).toMatchObject({ code: 64, stdout: '' })
    expect(ran.stderr).toMatch(/--name and a --role[\s\S]*--admin/)
  })
})

describe('pubring project', () => {
  test('creates, lists, shows with the addresses for verifiers, renames and deletes a project', async () => {
    const created = await shell.pubring(['project', 'create', 'Billing'])
    const id = created.stdout.trim()
    expect((await shell.pubring(['project', 'list'])).stdout).toContain(`billing\t${id}\t1\t`)
    const shown = await shell.pubring(['project', 'show', 'billing', '--json'])
    expect(documentOf(shown)).toMatchObject({
      id,
      name: 'billing',
      issuer: `https://keys.example.com/base/v1/projects/${id}`,
      jwksUri: expect.stringMatching(/jwks\.json$/),
    })
    await shell.pubring(['project', 'rename', 'billing', 'invoices'])
    expect((await shell.pubring(['project', 'show', id])).stdout).toContain('\nname\tinvoices\n')
    const end = String(id).slice(-6)
    expect((await shell.pubring(['project', 'show', end])).stdout).toContain('\nname\tinvoices\n')
    expect(documentOf(await shell.pubring(['project', 'delete', 'invoices', '--json']))).toEqual({
      deleted: id,
    })
    expect((await shell.pubring(['project', 'show', id])).code).toBe(6)
  })
})

describe('tokens', () => {
  test.each([
    ['RSA', () => rsaKey(), 'RS256'],
    ['P-384', () => ecKey('P-384'), 'ES384'],
    ['Ed25519', () => edKey(), 'EdDSA'],
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
    const wrong = await check('--audience', 'bills', '--json')
    expect(wrong.code).toBe(1)
    expect(documentOf(wrong)).toMatchObject({ valid: false, reason: 'audience_mismatch' })
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

  test('a token on the command line is refused and not quoted', async () => {
    const token = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlc2lnbmF0dXJl'
    const ran = await shell.pubring(['token', 'check', token])
    expect(ran).toMatchObject({ code: 64, stdout: '' })
    expect(ran.stderr).toMatch(/standard input/)
    expect(ran.stderr).not.toContain(token.slice(0, 20))
  })
})

describe('pubring events', () => {
  test('prints events in order, with --after and --limit', async () => {
    await shell.pubring(['project', 'create', 'eventful'])
    const there = ['--project', 'eventful']
    for (const name of ['one', 'two']) {
      await shell.pubring(['key', 'add', '-', '--label', name, ...there], {
        input: ecKey().publicKeyPem,
      })
    }
    const { stdout } = await shell.pubring(['events', ...there])
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[2])
    expect(types).toEqual(['project.created', 'key.created', 'key.created'])
    const some = await shell.pubring(['events', '--after', '1', '--limit', '1', '--json', ...there])
    expect(documentOf(some)).toMatchObject([{ revision: 2, type: 'key.created' }])
    expect((await shell.pubring(['events', '--system', '--json'])).code).toBe(0)
  })

  test('--follow runs until it is interrupted, and then succeeds', async () => {
    const there = ['--project', 'eventful']
    const controller = new AbortController()
    const following = shell.pubring(['events', '--follow', '--json', '--after', '3', ...there], {
      signal: controller.signal,
      onStdout(stdout) {
        if (stdout.split('\n').length > 2) controller.abort()
      },
    })
    await shell.pubring(['key', 'rename', 'one', 'uno', ...there])
    await shell.pubring(['key', 'rename', 'two', 'due', ...there])
    const { code, stdout } = await following
    expect(code).toBe(0)
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([{ revision: 4, type: 'key.updated' }, { revision: 5 }])
  })
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
