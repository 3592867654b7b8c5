import { hash } from 'node:crypto'
import type { RouteOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { errorTable } from '../../../../packages/server/src/errors.ts'
import { publicUrl, startApp } from '../../../support/app/app.ts'
import { rawExchange, requestHead } from '../../../support/network/raw-connection.ts'

const routes: RouteOptions[] = []
const server = await startApp({
  beforeRoutes: async (app) => void app.addHook('onRoute', (route) => void routes.push(route)),
})
const address = await server.listen()

const get = (url: string) => server.inject({ url })

describe('/docs', () => {
  test('leads to the page, also behind a path of a proxy', async () => {
    const answer = await get('/docs')
    expect(answer.statusCode).toBe(301)
    expect(new URL(String(answer.headers.location), `${publicUrl}/docs`).href).toBe(
      `${publicUrl}/docs/`,
    )
  })

  test('names no other host, and runs no inline script but the one whose digest it states', async () => {
    const { body, headers } = await get('/docs/')
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//)
    const policy = String(headers['content-security-policy'])
    const [, scripts] = /script-src ([^;]*)/.exec(policy) ?? []
    const [, inline] = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(body) ?? []
    expect(scripts).toBe(`'self' 'sha256-${hash('sha256', inline ?? '', 'base64')}'`)
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/https?:/)
  })

  test('has its script here', async () => {
    const answer = await get('/docs/js/scalar.js')
    expect(answer.headers['content-type']).toContain('javascript')
    expect(answer.body).toContain('createApiReference')
  })
})

test('the description of the API has a tag, and is 304 to a caller that has it', async () => {
  const first = await get('/openapi.json')
  const { etag, 'content-type': type, 'content-length': length } = first.headers
  expect(type).toBe('application/json')
  expect(length).toBe(String(first.rawPayload.length))
  expect(etag).toMatch(/^"[\w-]+"$/)
  const headers = { 'if-none-match': String(etag) }
  const again = await server.inject({ url: '/openapi.json', headers })
  expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
  expect((await get('/openapi.json')).rawPayload.equals(first.rawPayload)).toBe(true)
})

test('/ leads to the console, also behind a path of a proxy', async () => {
  const answer = await get('/')
  expect(answer.statusCode).toBe(308)
  const { location } = answer.headers
  expect(new URL(String(location), `${publicUrl}/`).href).toBe(`${publicUrl}/console/`)
})

test('a proxy may keep the path of the public URL, or remove it', async () => {
  const base = new URL(publicUrl).pathname
  const status = async (path: string) =>
    (await fetch(address + path, { redirect: 'manual' })).status
  const jwks = '/v1/projects/payments/.well-known/jwks.json'
  const paths = [
    jwks,
    `${jwks}?a=1`,
    '/health/live',
    '/openapi.json',
    '/docs/errors',
    '/',
    '/console',
  ]
  for (const path of paths) {
    expect([path, await status(base + path)]).toEqual([path, await status(path)])
    expect(await status(base + path)).toBeLessThan(400)
  }
  for (const path of ['/x', `${base}/x`, `${base}x${jwks}`, `${base}${base}${jwks}`]) {
    expect([path, await status(path)]).toEqual([path, 404])
  }
})

const long = 'a'.repeat(300)
/** Paths that no page, file or operation has, in spellings that file servers and proxies normalize. */
const nowhere = ['/', '/console/', '/console/assets/', '/docs/js/', '/v1/']
  .flatMap((folder) =>
    [
      '/x',
      './x',
      '../x',
      '../console/index.html',
      '%2e%2e/x',
      '%2e%2e',
      '..%2fx',
      '%5c',
      '%5c..%5cx',
      '%00',
      'x%00.js',
      long,
      `${long}.js`,
      'a/'.repeat(3_000),
      'index.html',
      '.git',
    ].map((name) => folder + name),
  )
  .concat(['//', '//console/', '/console//', '/docs//', '/health/live/', '/health//live'])

test('HEAD has the status of GET everywhere, also for a client that has the response', async () => {
  const readable = routes.filter(({ method }) => [method].flat().includes('GET'))
  const tagged = readable.filter(({ config }) => config?.etag)
  expect(tagged.filter(({ method }) => !method.includes('HEAD')).map(({ url }) => url)).toEqual([])
  const paths = readable.map(({ url }) => url.replace(':projectIdOrName', 'payments'))
  for (const url of new Set(paths.filter((path) => !/[:*]/.test(path)))) {
    for (const headers of [{}, { 'if-none-match': '*' }]) {
      const shown = await server.send('GET', url, { headers })
      const head = await server.send('HEAD', url, { headers })
      expect([url, head.statusCode, head.body]).toEqual([url, shown.statusCode, ''])
      const { 'content-length': length, ...others } = shown.headers
      expect(Object.keys(head.headers)).toEqual(expect.arrayContaining(Object.keys(others)))
      const sent = shown.statusCode === 304 ? undefined : length
      expect([url, head.headers['content-length']]).toEqual([url, sent])
    }
  }
})

test('a path that leads nowhere is 404, however it is spelled', async () => {
  for (const method of ['GET', 'HEAD']) {
    for (const path of nowhere) {
      const head = requestHead(`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close')
      const answer = await rawExchange(address, head)
      expect([path, answer.slice(0, 24)]).toEqual([path, 'HTTP/1.1 404 Not Found\r\n'])
      if (method === 'GET') expect(answer).toContain('"code":"route_not_found"')
    }
  }
})

test('the type of every error leads to its place on a page', async () => {
  const { body, headers } = await get('/docs/errors')
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(headers['content-security-policy']).toContain("default-src 'none'")
  for (const code of Object.keys(errorTable)) expect(body).toContain(`id="${code}"`)
})
