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
    ['https://keys.example.com/v1/', 'https://keys.example.com/v1'],
    ['https://keys.example.com/base//', 'https://keys.example.com/base/v1'],
    ['https://keys.example.com/base/v1/', 'https://keys.example.com/base/v1'],
    [' HTTPS://KEYS.example.com:443\r\n', 'https://keys.example.com/v1'],
    ['http://[::1]:8080/', 'http://[::1]:8080/v1'],
  ])('%j is normalized to %s', (url, normalized) => {
    expect(createClient({ url }).url).toBe(normalized)
  })

  test.each([
    ['', 'empty'],
    ['localhost:8080', 'a port but no scheme'],
    ['ftp://keys.example.com', 'not HTTP'],
    ['http://', 'no host'],
    ['http://keys.example.com:99999', 'an invalid port'],
    ['https://keys.example.com/?project=a', 'a query'],
    ['https://keys.example.com/#projects', 'a fragment'],
    ['https://alice:opensesame@keys.example.com', 'a password'],
    ['alice:opensesame@keys.example.com', 'a password and no scheme'],
  ])('%j is rejected, and no password is repeated: %s', (url) => {
    const error = catchError(() => createClient({ url }))
    expect(error).toMatchObject({
      code: 'invalid_url',
      message: expect.stringContaining('cannot be used'),
    })
    expect(String(error)).not.toContain('opensesame')
  })

  test('may have an IPv6 host', async () => {
    const proxy = await startHttpServer((_request, outgoing) => outgoing.end('{"id":"a"}'), '::1')
    expect((await createClient({ url: proxy.url }).projects.get('payments')).id).toBe('a')
  })
})

describe('a project, key or API key in a path', () => {
  const client = createClient({ url: base, apiKey: server.admin })

  test.each(['', '.', '..'])('%j is rejected before anything is sent', async (name) => {
    const error = { code: 'invalid_path' }
    await expect(client.projects.delete(name)).rejects.toMatchObject(error)
    await expect(client.keys.delete('payments', name)).rejects.toMatchObject(error)
    await expect(client.apiKeys.delete(name)).rejects.toMatchObject(error)
  })

  test.each(['../projects', 'a/../../api-keys', 'a?b', 'a#b', '%2e%2e', '\ud800', 'žlutý'])(
    '%j stays one path segment and is not found',
    async (name) => {
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

test('an API key is sent without white space and a byte order mark around it', async () => {
  for (const written of [`\uFEFF${server.admin}\r\n`, ` \t\u00a0${server.admin}\u00a0 `]) {
    const client = createClient({ url: base, apiKey: written })
    expect(await client.apiKeys.self()).toMatchObject({ role: 'admin', active: true })
  }
})

test.each([
  ['only white space', () => ' \r\n'],
  ['in curly quotes', (key: string) => `“${key}”`],
  ['with a space inside', (key: string) => `${key.slice(0, 20)} ${key.slice(20)}`],
  ['with a zero width space', (key: string) => `${key}\u200b`],
  ['with a NUL', (key: string) => `${key}\0`],
  ['followed by another header', (key: string) => `${key}\r\nX-Evil: 1`],
])('an API key that is %s is rejected and not repeated', (_, written) => {
  const error = catchError(() => createClient({ url: base, apiKey: written(server.admin) }))
  expect(error).toMatchObject({ name: 'PubringError', code: 'invalid_api_key_text' })
  for (let at = 8; at + 10 < server.admin.length; at += 1) {
    expect(String(error)).not.toContain(server.admin.slice(at, at + 10))
  }
})

/** What the function throws. */
function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

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
