import { rmSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startWorkloadApp, type WorkloadApp } from '../support/app/workloads.ts'
import { ecKey } from '../support/keys/pem.ts'
import { gitlabProject, type Platforms, startPlatforms } from '../support/network/platforms.ts'
import { documentOf, openShell, type Shell } from './support.ts'

let server: WorkloadApp
let platforms: Platforms
let url: string
let shell: Shell
beforeAll(async () => {
  server = await startWorkloadApp()
  platforms = await startPlatforms()
  url = await server.listen()
  shell = openShell(() => ({ PUBRING_URL: url, PUBRING_PROJECT: 'payments' }))
})

const asAdmin = (args: readonly string[], input = '') =>
  shell.pubring(args, { env: { PUBRING_API_KEY: server.admin, ...platforms.env }, input })
const rule = (...args: string[]) => asAdmin(['access-rule', ...args])

describe('pubring access-rule', () => {
  afterEach(async () => {
    const ids = (await rule('list')).stdout.matchAll(/^([0-9a-f-]{36})\t/gm)
    for (const [, id = ''] of ids) await rule('delete', id)
  })
  const own = (...args: string[]) =>
    rule('create', '--issuer', server.issuer.url, '--name', 'orders', ...args)

  test('create with a preset looks up ids, suggests conditions, and says what it does', async () => {
    const made = await rule('create', '--gitlab', 'acme/orders')
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
    expect(made.stderr).toBe(
      'Tokens of https://gitlab.com with project_id 20, namespace_id 72, ref_type branch, ref main, ref_protected true are exchanged for API keys (registrar, project payments) of 15 min at most.\n' +
        'No key of the issuer verifies a token now: gitlab.com has the address 127.0.0.1, which is not public. If it is a server of yours, list gitlab.com in PUBRING_OUTBOUND_ALLOW.\n',
    )
    const shown = documentOf(await rule('show', 'acme/orders', '--json'))
    expect(shown).toMatchObject({
      projectId: server.project.id,
      conditions: { project_id: String(gitlabProject.id), ref: 'main' },
    })
  })

  test('a given condition replaces a suggested one, and values keep their types', async () => {
    const given = ['--condition', 'ref=release-*', 'run:=7', 'ok:=true', 'eq=a=b']
    const made = await rule('create', '--github', 'acme/orders', ...given, '--json')
    expect(documentOf(made).conditions).toEqual({
      repository_id: '74',
      repository_owner_id: '65',
      ref: 'release-*',
      run: 7,
      ok: true,
      eq: 'a=b',
    })
  })

  test('every option reaches the rule', async () => {
    const jwks = shell.file('jwks.json', JSON.stringify(server.issuer.jwks))
    const made = await own(
      ...['--jwks-file', jwks, '--audience', 'here', '--condition', 'sub=a', '--role', 'reader'],
      ...['--max-lifetime', '5m', '--single-use', '--all-projects', '--json'],
    )
    expect(documentOf(made)).toMatchObject({
      keySource: 'jwks',
      jwks: server.issuer.jwks,
      audience: 'here',
      role: 'reader',
      maxLifetime: 300,
      singleUse: true,
      allProjects: true,
    })
  })

  test('update merges conditions, and deactivates and activates', async () => {
    await own('--condition', 'sub=a', 'env=prod')
    const change = ['--condition', 'ref=main', '--remove-condition', 'env', '--active', 'false']
    const changed = await rule('update', 'orders', ...change, '--json')
    expect(documentOf(changed)).toMatchObject({
      conditions: { sub: 'a', ref: 'main' },
      active: false,
    })
    expect((await rule('list')).stdout).toMatch(
      /\torders\tworkloads\thttps:.*\tregistrar\t.*\tinactive\t\n/,
    )
    const active = await rule('update', 'orders', '--active', 'true', '--no-single-use', '--json')
    expect(documentOf(active)).toMatchObject({ active: true, singleUse: false })
    expect((await rule('show', 'orders')).stdout).toMatch(
      /^conditions\t\{"sub":"a","ref":"main"\}$/m,
    )
  })

  test('update says what the server finds out about the keys of the issuer', async () => {
    await own('--condition', 'sub=a')
    await rule('update', 'orders', '--active', 'false')
    const changed = await rule('update', 'orders', '--active', 'true')
    expect(changed.code).toBe(0)
    expect(changed.stderr).toMatch(/no longer valid\.\n[^\n]*issuer [^\n]+\n$/)
  })

  test('check says why a token is not accepted, with exit code 1', async () => {
    await own('--condition', 'repository_id=74')
    const check = (token: string) => asAdmin(['access-rule', 'check', 'orders'], `${token}\n`)
    expect(await check(server.issuer.token())).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^accepted\n {2}ok {7}well_formed/),
    })
    expect(await check(server.issuer.token({ repository_id: '75' }))).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^not accepted\n[\s\S]*FAILED {3}conditions .*“75”, not “74”/),
    })
  })

  test.each<[string, string[], number, RegExp]>([
    ['no issuer', ['create', '--name', 'a'], 64, /one of --github, .*--issuer/],
    ['two issuers', ['create', '--github', 'a/b', '--gitlab', 'a/b'], 64, /one of --github/],
    ['no name', ['create', '--issuer', 'https://a.test'], 64, /--name/],
    [
      'a condition that is no JSON',
      ['create', '--github', 'a/b', '-c', 'n:=x'],
      64,
      /CLAIM:=VALUE/,
    ],
    ['a preset without ids', ['create', '--buildkite', 'a/b'], 64, /--condition pipeline_id=/],
    [
      'people without a role',
      ['create', '--for', 'people', '-n', 'a', '-c', 'sub=a'],
      64,
      /--role/,
    ],
    [
      'an unknown repository',
      ['create', '--github', 'acme/none'],
      6,
      /answered 404, not the ids of acme\/none/,
    ],
    ['no change', ['update', 'orders'], 64, /at least one change/],
    ['an unknown rule', ['show', 'none'], 6, /no access rule “none”/],
  ])('%s is refused with what to do', async (_name, args, code, message) => {
    const ran = await rule(...args)
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(ran.stderr).toMatch(message)
  })
})

describe('without an API key', () => {
  const list = ['key', 'list']
  beforeAll(() => server.rule())
  const token = () => server.issuer.token()

  test('the token in PUBRING_ID_TOKEN is used, and said so once', async () => {
    const env = { PUBRING_ID_TOKEN: `${token()}\n` }
    const ran = await shell.pubring(['key', 'add', '-', '--label', 'a'], {
      env,
      input: ecKey().publicKeyPem,
    })
    expect(ran.code).toBe(0)
    expect(ran.stderr.match(/is exchanged for one/g)).toHaveLength(1)
    const silent = await shell.pubring([...list, '--json'], { env })
    expect(silent).toMatchObject({ code: 0, stderr: '' })
    const self = await shell.pubring(['whoami'], { env })
    expect(self.stderr).toMatch(/comes from the token in PUBRING_ID_TOKEN\.\n$/)
    // Nothing is exchanged by commands that need no API key.
    const unusable = { PUBRING_ID_TOKEN: 'not a token' }
    const shown = await shell.pubring(['jwks', 'show'], { env: unusable })
    expect(shown).toMatchObject({ code: 0, stderr: '' })
  })

  test('the file of PUBRING_TOKEN_FILE is read again for each exchange', async () => {
    const file = shell.file('token', 'still empty')
    const env = { PUBRING_TOKEN_FILE: file }
    expect((await shell.pubring(list, { env })).code).toBe(4)
    shell.file('token', token())
    const { id } = await server.rule({ name: 'brief', conditions: { run: '1' } })
    shell.file('token', server.issuer.token({ run: '1', repository_id: '1' }))
    const controller = new AbortController()
    const { promise: started, resolve: start } = Promise.withResolvers<void>()
    const following = shell.pubring(['events', '--follow', '--json'], {
      env,
      signal: controller.signal,
      onStdout(stdout) {
        start()
        if (stdout.includes('"seen"')) controller.abort()
      },
    })
    await started
    shell.file('token', token())
    await server.send('DELETE', `/v1/access-rules/${id}`)
    const { publicKeyPem } = ecKey()
    const body = { name: 'seen', algorithm: 'ES256', publicKeyPem }
    await server.send('POST', '/v1/projects/payments/jwt-keys', { body })
    expect((await following).code).toBe(0)
    rmSync(file)
  })

  test('an API key comes first, then PUBRING_TOKEN_FILE, PUBRING_ID_TOKEN, GitHub Actions', async () => {
    const github = { ...platforms.githubJob({ mayWriteIdToken: true }), ...platforms.env }
    const variable = { ...github, PUBRING_ID_TOKEN: token() }
    const file = { ...variable, PUBRING_TOKEN_FILE: shell.file('token', token()) }
    const apiKey = { ...file, PUBRING_API_KEY: server.admin }
    expect((await shell.pubring(list, { env: apiKey })).stderr).not.toMatch(/exchanged/)
    expect((await shell.pubring(list, { env: variable })).stderr).toMatch(/PUBRING_ID_TOKEN is/)
    expect((await shell.pubring(list, { env: file })).stderr).toMatch(/PUBRING_TOKEN_FILE\) is/)
    const asked = await shell.pubring(list, { env: github })
    expect(asked).toMatchObject({ code: 4, stdout: '' })
    expect(asked.stderr).toMatch(/did not exchange the token of GitHub.*/)
    expect(asked.stderr).toContain(`"aud":"${url}"`)
  })

  test('of several rules that accept it, PUBRING_ACCESS_RULE names one', async () => {
    const { id } = await server.rule({ name: 'reading', role: 'reader' })
    const env = { PUBRING_ID_TOKEN: token() }
    const refused = await shell.pubring(list, { env })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toMatch(/name one in PUBRING_ACCESS_RULE/)
    const ran = await shell.pubring(list, { env: { ...env, PUBRING_ACCESS_RULE: id } })
    expect(ran.code).toBe(0)
    await server.send('DELETE', `/v1/access-rules/${id}`)
  })

  test.each<[string, () => Record<string, string>, RegExp]>([
    ['an API key', () => ({ PUBRING_ID_TOKEN: server.admin }), /not an API key/],
    ['half a token', () => ({ PUBRING_ID_TOKEN: token().slice(0, 60) }), /cannot use the token in/],
    ['a file without end', () => ({ PUBRING_TOKEN_FILE: '/dev/zero' }), /\/dev\/zero named by/],
    ['a missing file', () => ({ PUBRING_TOKEN_FILE: '/none/token' }), /\/none\/token named by/],
    [
      'a token that has expired',
      () => ({ PUBRING_ID_TOKEN: server.issuer.token({ exp: 1_700_000_000 }) }),
      /"exp":"2023-11-14T22:13:20.000Z"/,
    ],
    [
      'a GitHub that refuses',
      () => ({
        ...platforms.githubJob({ mayWriteIdToken: true }),
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'other',
      }),
      /actions\.githubusercontent\.com answered 404, not a token/,
    ],
  ])('%s is an error that does not show the token', async (_name, env, message) => {
    const ran = await shell.pubring(list, { env: { ...env(), ...platforms.env } })
    expect(ran.stdout).toBe('')
    expect(ran.code).toBeGreaterThan(1)
    expect(ran.stderr).toMatch(message)
    const [, claims = server.admin] = (env().PUBRING_ID_TOKEN ?? '').split('.')
    expect(ran.stderr).not.toContain(claims.slice(8, 30))
  })
})
