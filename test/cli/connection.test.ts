import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { documentOf, listen, startShell } from './support.ts'

const shell = await startShell()

const list = ['key', 'list']

describe('the API key in a file', () => {
  test.each([
    ['a byte order mark', (key: string) => `\uFEFF${key}`],
    ['blanks around it', (key: string) => `  ${key}\t\r\n\n`],
  ])('%s is ignored', async (_name, form) => {
    const file = shell.file('api.key', form(shell.test.admin))
    const env = { PUBRING_API_KEY: undefined, PUBRING_API_KEY_FILE: file }
    expect((await shell.pubring(list, { env })).code).toBe(0)
    const variable = { PUBRING_API_KEY: form(shell.test.admin) }
    expect((await shell.pubring(list, { env: variable })).code).toBe(0)
  })

  test.each([
    ['curly quotes', (key: string) => `“${key}”`, /has other text around it, such as quotes/],
    ['the line that sets it', (key: string) => `PUBRING_API_KEY=${key}`, /has other text around/],
    ['UTF-16', (key: string) => Buffer.from(`\uFEFF${key}`, 'utf16le'), /is in UTF-16/],
    ['UTF-16 without a mark', (key: string) => Buffer.from(key, 'utf16le'), /is in UTF-16/],
    ['a line break', (key: string) => `${key.slice(0, 30)}\n${key.slice(30)}`, /white space/],
    ['nothing', () => '\n', /is empty/],
    ['a part of it', (key: string) => key.slice(0, -1), /is incomplete or mistyped/],
    ['a typo', (key: string) => key.replace(/.$/, (end) => (end === 'x' ? 'y' : 'x')), /mistyped/],
  ])('%s is not an API key: it is neither sent nor quoted', async (_name, form, reason) => {
    const file = shell.file('api.key', form(shell.test.admin))
    const env = { PUBRING_API_KEY: undefined, PUBRING_API_KEY_FILE: file }
    const ran = await shell.pubring(list, { env })
    expect(ran).toMatchObject({ code: 4, stdout: '' })
    expect(ran.stderr).toMatch(/api\.key \(PUBRING_API_KEY_FILE\) does not hold an API key/)
    expect(ran.stderr).toMatch(reason)
    expect(ran.stderr).not.toContain(shell.test.admin.slice(8, 20))
  })
})

test.each([
  ['PUBRING_API_KEY', (key: string) => `"${key}"`],
  ['PUBRING_API_KEY', (key: string) => `“${key}”`],
  ['PUBRING_URL', () => "'https://keys.example.com'"],
])('quotes around %s are named', async (name, form) => {
  const ran = await shell.pubring(list, { env: { [name]: form(shell.test.admin) } })
  expect(ran).toMatchObject({ code: 64, stdout: '' })
  expect(ran.stderr).toMatch(`${name} has quotes around its value`)
})

test('a private key in an argument is not sent', async () => {
  const key = ecKey()
  const file = shell.file('public.pem', key.publicKeyPem)
  const text = privatePem(key)
  for (const label of [text, btoa(text)]) {
    const ran = await shell.pubring(['key', 'add', file, '--label', label])
    expect(ran).toMatchObject({ code: 3, stdout: '' })
    expect(ran.stderr).toMatch(/An argument of this command is a private key\. Nothing was sent/)
  }
  // The server does not know the private key, so the public one is still good.
  expect((await shell.pubring(['key', 'add', file, '--label', 'k'])).code).toBe(0)
})

test('a token in an argument is named as one, and not quoted, whatever its claims are called', async () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${part({ alg: 'ES256' })}.${part({ p: 'orders' })}.c2lnbmF0dXJl`
  const ran = await shell.pubring(['token', 'check', token])
  expect(ran).toMatchObject({ code: 64, stdout: '' })
  expect(ran.stderr).toContain('A token is a secret, and others can read a command line.')
  expect(ran.stderr).not.toContain(token.slice(0, 20))
})

describe('the server address', () => {
  test.each(['/console/#/projects/payments', '/docs/'])(
    'may not end in “%s”, which is said',
    async (end) => {
      const ran = await shell.pubring(list, { env: { PUBRING_URL: `${shell.url}${end}` } })
      expect(ran).toMatchObject({ code: 64, stdout: '' })
      expect(ran.stderr).toMatch(/must be the address of the server: leave out \/console/)
    },
  )

  test.each(['/', '/v1/'])('may end in “%s”', async (end) => {
    expect((await shell.pubring(list, { env: { PUBRING_URL: `${shell.url}${end}` } })).code).toBe(0)
  })

  test('may have a path and an IPv6 host', async () => {
    const server = await listen((request, response) => {
      const fits = request.url?.startsWith('/sub/path/v1/projects/payments/') === true
      response.writeHead(fits ? 200 : 404, { 'content-type': 'application/json' })
      response.end('[]')
    }, '::1')
    const env = { PUBRING_URL: `${server.url}/sub/path/` }
    expect(documentOf(await shell.pubring([...list, '--json'], { env }))).toEqual([])
    server.close()
  })

  test('a redirect is not followed: the API key is not sent elsewhere', async () => {
    const seen: (string | undefined)[] = []
    const other = await listen((request, response) => {
      seen.push(request.headers['x-api-key']?.toString())
      response.end('[]')
    })
    const server = await listen((_request, response) => {
      response.writeHead(307, { location: `${other.url}/` }).end()
    })
    const env = { PUBRING_URL: server.url }
    expect((await shell.pubring(list, { env })).code).toBe(9)
    expect(seen).toEqual([])
    for (const each of [server, other]) each.close()
  })

  test('the proxy of the environment is used, except for NO_PROXY', async () => {
    const proxied: string[] = []
    const proxy = await listen(({ method, url = '', headers }, response) => {
      proxied.push(url)
      // The command has set the global agent to this proxy.
      const options = { headers, agent: new Agent(), ...(method === undefined ? {} : { method }) }
      const forwarded = request(url, options, (upstream) => {
        response.writeHead(upstream.statusCode ?? 502, upstream.headers)
        upstream.pipe(response)
      })
      forwarded.end()
    })
    const env = { HTTP_PROXY: proxy.url }
    expect((await shell.pubring(list, { env })).code).toBe(0)
    const urls = ['jwt-keys', 'key-states'].map(
      (path) => `${shell.url}/v1/projects/payments/${path}`,
    )
    expect(proxied).toEqual(urls)
    const direct = await shell.pubring(list, { env: { ...env, NO_PROXY: '127.0.0.1' } })
    expect(direct.code).toBe(0)
    expect(proxied).toEqual(urls)
    proxy.close()
  })
})

describe('profiles', () => {
  const unset = { PUBRING_URL: undefined, PUBRING_API_KEY: undefined, PUBRING_PROJECT: undefined }
  const config = () => join(shell.folder, '.config/pubring/config.json')
  const write = (content: unknown, mode = 0o600) => {
    mkdirSync(join(shell.folder, '.config/pubring'), { recursive: true })
    writeFileSync(config(), typeof content === 'string' ? content : JSON.stringify(content))
    chmodSync(config(), mode)
  }
  const bare = (args: string[], input = '') => shell.pubring(args, { env: unset, input })
  beforeEach(() => write({}))
  afterEach(() => write({}))

  test('login tries the API key and stores it in a file that only its owner can read', async () => {
    const login = ['login', '--url', shell.url, '--project', 'payments', '--profile', 'here']
    const ran = await bare(login, `${shell.test.admin}\n`)
    expect(ran).toMatchObject({ code: 0, stdout: '' })
    expect(ran.stderr).toMatch(/^“a admin” \(admin\) at http.* is profile here/)
    expect(statSync(config()).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(config(), 'utf8'))).toEqual({
      profiles: { here: { url: shell.url, project: 'payments', apiKey: shell.test.admin } },
    })
    expect((await bare([...list, '--profile', 'here'])).code).toBe(0)
    expect((await bare(list)).code).toBe(4)
    expect((await bare(['logout', '--profile', 'here'])).code).toBe(0)
    expect((await bare([...list, '--profile', 'here'])).code).toBe(64)
  })

  test('login stores nothing invalid', async () => {
    const login = ['login', '--url', shell.url]
    expect((await bare(login, 'hello')).code).toBe(4)
    const unknown = shell.test.admin.replace(/./, 'p')
    expect((await bare([...login, '--project', 'missing'], unknown)).code).toBe(6)
    expect(JSON.parse(readFileSync(config(), 'utf8'))).toEqual({})
  })

  test('a file with a secret that other users can read is refused, with the command that fixes it', async () => {
    write({ profiles: { here: { url: shell.url, apiKey: shell.test.admin } } }, 0o644)
    const ran = await bare([...list, '--profile', 'here'])
    expect(ran).toMatchObject({ code: 66, stdout: '' })
    const [, command = ''] = /^hint: (chmod 600 .*)$/m.exec(ran.stderr) ?? []
    execFileSync('sh', ['-c', command])
    expect((await bare([...list, '--profile', 'here', '--project', 'payments'])).code).toBe(0)
  })

  test('a profile’s API key is sent only to the address of the profile', async () => {
    const seen: unknown[] = []
    const other = await listen((request, response) => {
      seen.push(request.headers['x-api-key'])
      response.end('[]')
    })
    write({ profiles: { default: { url: shell.url, apiKey: shell.test.admin } } })
    const ran = await bare([...list, '--url', other.url])
    expect(ran.code).toBe(4)
    expect(seen).toEqual([])
    other.close()
  })

  test('--profile takes precedence over the environment, and that over the profile “default”', async () => {
    write({
      profiles: {
        default: { url: 'http://127.0.0.1:1', apiKey: shell.test.admin },
        here: { url: shell.url, apiKey: shell.test.admin, project: 'payments' },
      },
    })
    expect((await shell.pubring(list)).code).toBe(0)
    expect((await shell.pubring([...list, '--profile', 'default'])).code).toBe(8)
    expect((await bare([...list, '--profile', 'here'])).code).toBe(0)
    const variable = { ...unset, PUBRING_PROFILE: 'here' }
    expect((await shell.pubring(list, { env: variable })).code).toBe(0)
    expect((await bare(list)).code).toBe(8)
  })

  test.each([
    ['malformed JSON', '{"profiles": {"a": {"apiKey": "pubring_secret"', /is not valid JSON/],
    ['a misspelt member', { profiles: { a: { apikey: 'x' } } }, /apikey; did you mean apiKey\?/],
    [
      'a value of the wrong type',
      { profiles: { a: { url: 1 } } },
      /url of profile a must be a non-empty string/,
    ],
    ['a list instead of an object', { profiles: [] }, /profiles must be an object/],
  ])('%s: one line of error, without the contents', async (_name, content, message) => {
    write(content)
    const ran = await bare(list)
    expect(ran).toMatchObject({ code: 66, stdout: '', stderr: expect.stringMatching(message) })
    expect(ran.stderr).not.toContain('pubring_secret')
  })
})
