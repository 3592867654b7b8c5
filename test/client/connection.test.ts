import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { projectKeySet } from '../../packages/client/src/verify.ts'
import { startApp } from '../support/app/app.ts'
import { type HttpServer, startHttpServer } from '../support/network/http-server.ts'
import { startTlsProxy } from '../support/network/tls-proxy.ts'

const server = await startApp()
const base = await server.listen()

describe('the service URL', () => {
  test.each([
    ['https://keys.example.com', 'https://keys.example.com/v1'],
    ['https://keys.example.com/', 'https://keys.example.com/v1'],
    ['https://keys.example.com/v1', 'https://keys.example.com/v1'],
    ['https://keys.example.com/v1/', 'https://keys.example.com/v1'],
    ['https://keys.example.com/base', 'https://keys.example.com/base/v1'],
    ['https://keys.example.com/base//', 'https://keys.example.com/base/v1'],
    ['https://keys.example.com/base/v1/', 'https://keys.example.com/base/v1'],
    [' HTTPS://KEYS.example.com:443\r\n', 'https://keys.example.com/v1'],
    ['http://[::1]:8080/', 'http://[::1]:8080/v1'],
  ])('%j is normalized to %s', (url, normalized) => {
    expect(createClient({ url }).url).toBe(normalized)
  })

  test.each(['', '/', '/v1', '/v1/'])('works with %j at its end', async (end) => {
    const client = createClient({ url: base + end, apiKey: server.admin })
    expect((await client.projects.get('payments')).id).toBe(server.project.id)
  })

  test.each([
    ['', 'empty'],
    ['keys.example.com', 'no scheme'],
    ['localhost:8080', 'a port but no scheme'],
    ['ftp://keys.example.com', 'not HTTP'],
    ['http://', 'no host'],
    ['http://keys.example.com:99999', 'an invalid port'],
    ['https://keys.example.com/?project=a', 'a query'],
    ['https://keys.example.com/#projects', 'a fragment'],
  ])('%j is rejected: %s', (url) => {
    expect(() => createClient({ url })).toThrow(expect.objectContaining({ code: 'invalid_url' }))
  })

  test.each(['https://alice:opensesame@keys.example.com', 'alice:opensesame@keys.example.com'])(
    'a password in %s is rejected and not repeated',
    (url) => {
      let message = ''
      try {
        createClient({ url })
      } catch (error) {
        message = String(error)
      }
      expect(message).toMatch(/cannot be used/)
      expect(message).not.toContain('opensesame')
    },
  )

  test('may have an IPv6 host', async () => {
    const proxy = await startHttpServer(async ({ url, headers }, outgoing) => {
      const passed = { 'x-api-key': String(headers['x-api-key']) }
      const answer = await fetch(`${base}${url}`, { headers: passed })
      outgoing.writeHead(answer.status, { 'content-type': 'application/json' })
      outgoing.end(await answer.text())
    }, '::1')
    const client = createClient({ url: proxy.url, apiKey: server.admin })
    expect((await client.projects.get('payments')).id).toBe(server.project.id)
  })
})

describe('a project, key or API key in a path', () => {
  test.each(['', '.', '..'])('%j is rejected before anything is sent', async (name) => {
    const client = createClient({ url: base, apiKey: server.admin })
    const error = { code: 'invalid_path' }
    await expect(client.projects.delete(name)).rejects.toMatchObject(error)
    await expect(client.keys.delete('payments', name)).rejects.toMatchObject(error)
    await expect(client.apiKeys.delete(name)).rejects.toMatchObject(error)
    expect((await client.projects.get('payments')).name).toBe('payments')
  })

  test.each(['../projects', 'a/../../api-keys', 'a?b', 'a#b', '%2e%2e', '\ud800', 'žlutý'])(
    '%j stays one path segment and is not found',
    async (name) => {
      const client = createClient({ url: base, apiKey: server.admin })
      const error = { code: 'project_not_found' }
      await expect(client.projects.get(name)).rejects.toMatchObject(error)
    },
  )
})

describe('a redirect', () => {
  let seen: (string | undefined)[] = []
  let target: HttpServer
  let redirecting: HttpServer
  let location = ''
  beforeAll(async () => {
    target = await startHttpServer(({ headers }, outgoing) => {
      seen.push(headers['x-api-key']?.toString())
      outgoing.end('[]')
    })
    redirecting = await startHttpServer(({ url }, outgoing) => {
      outgoing.writeHead(308, { location: location.replace('*', url ?? '') }).end()
    })
  })

  test.each([
    ['another host', (to: string) => `${to}*`, (to: string) => `${to}/v1`],
    ['another path', () => '/moved*', (_: string, from: string) => `${from}/moved/v1`],
    ['the console', (to: string) => `${to}/near/console/#/projects`, (to: string) => `${to}/near`],
    ['another page', (to: string) => `${to}/login`, (to: string) => `${to}/login`],
  ])('to %s is not followed, so the API key is not sent there', async (_, to, advised) => {
    seen = []
    location = to(target.url)
    const client = createClient({ url: redirecting.url, apiKey: server.admin })
    const error = await client.projects.list({ limit: 2 }).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'unexpected_response', status: 308 })
    expect(error.message).toContain(`use ${advised(target.url, redirecting.url)} as the URL`)
    expect(seen).toEqual([])
  })
})

test.each([
  ['with a final LF', (key: string) => `${key}\n`],
  ['with a final CRLF', (key: string) => `${key}\r\n`],
  ['with a byte order mark', (key: string) => `\uFEFF${key}`],
  ['surrounded by spaces, tabs and no-break spaces', (key: string) => ` \t\u00a0${key}\u00a0 `],
])('an API key %s is accepted', async (_, written) => {
  const client = createClient({ url: base, apiKey: written(server.admin) })
  expect(await client.apiKeys.self()).toMatchObject({ role: 'admin', active: true })
})

test.each([
  ['empty', () => ''],
  ['only white space', () => ' \r\n'],
  ['in curly quotes', (key: string) => `“${key}”`],
  ['with a space inside', (key: string) => `${key.slice(0, 20)} ${key.slice(20)}`],
  ['with a line break inside', (key: string) => `${key.slice(0, 20)}\n${key.slice(20)}`],
  ['with a zero width space', (key: string) => `${key}\u200b`],
  ['with a NUL', (key: string) => `${key}\0`],
  ['followed by another header', (key: string) => `${key}\r\nX-Evil: 1`],
])('an API key that is %s is rejected and not repeated', (_, written) => {
  const apiKey = written(server.admin)
  let thrown: unknown
  try {
    createClient({ url: base, apiKey })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ name: 'PubringError', code: 'invalid_api_key_text' })
  const message = String(thrown)
  for (let at = 8; at + 10 < server.admin.length; at += 1) {
    expect(message).not.toContain(server.admin.slice(at, at + 10))
  }
})

test('a missing or wrong API key gets the error of the service', async () => {
  const none = createClient({ url: base })
  await expect(none.projects.list()).rejects.toMatchObject({ code: 'missing_api_key', status: 401 })
  const wrong = createClient({ url: base, apiKey: 'not-a-key' })
  await expect(wrong.projects.list()).rejects.toMatchObject({ code: 'invalid_api_key' })
})

const proxy = await startTlsProxy()
proxy.forwardTo(base)

test('a certificate of a trusted authority is accepted', async () => {
  const client = createClient({ url: proxy.url, apiKey: server.admin })
  expect(await client.projects.get('payments')).toMatchObject({ id: server.project.id })
  const keys = projectKeySet(`${proxy.url}/v1/projects/payments`)
  await keys.ready()
  expect(keys.state().status).toBe('live')
  keys.close()
})

test('an untrusted certificate is rejected, and the error says what to do', async () => {
  const source = new URL('../../packages/client/src/index.ts', import.meta.url).href
  const program = `
    import { createClient } from '${source}'
    const client = createClient({ url: '${proxy.url}', retries: 0 })
    await client.projects.list().catch(({ code, message }) => console.log(code, message))
  `
  const args = ['--input-type=module', '--no-warnings', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toMatch(/^unreachable .*certificate is not trusted.*NODE_EXTRA_CA_CERTS/)
})
