import { beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { startApp } from '../support/app/app.ts'
import { type HttpServer, startHttpServer } from '../support/network/http-server.ts'

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
