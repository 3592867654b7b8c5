import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import {
  fetchJwks,
  jwksUrl,
  keysUrl,
  maxAgeOf,
  newProject,
  patchKey,
  registerKey,
} from '../../support/app/keys.ts'

const server = await startApp()
const byId = `/v1/projects/${server.project.id}/.well-known/jwks.json`
const discoveryUrl = `/v1/projects/${server.project.id}/.well-known/openid-configuration`

const get = (url: string, headers: Record<string, string> = {}) => fetchJwks(server, headers, url)

test('key sets name the revision that they are of, also if they have not changed', async () => {
  const { id, name, jwks } = await newProject(server, 'revised')
  const first = await get(jwks)
  await server.send('PATCH', `/v1/projects/${name}`, { body: { name: 'revised-again' } })
  const path = `/v1/projects/${id}/.well-known`
  const headers = { 'if-none-match': String(first.headers.etag) }
  for (let request = 0; request < 3; request += 1) {
    const unchanged = await get(`${path}/jwks.json`, headers)
    expect(unchanged.statusCode).toBe(304)
    const [event] = (await server.send('GET', `/v1/projects/${id}/events?after=1`)).json()
    const position = `${event.revision}.${event.hash.slice(0, 8)}`
    expect(unchanged.headers['pubring-revision']).toBe(position)
    expect(first.headers['pubring-revision']).toMatch(/^1\.[0-9a-f]{8}$/)
    const full = await get(`${path}/jwks-full.json`)
    expect(full.headers['pubring-revision']).toBe(unchanged.headers['pubring-revision'])
  }
  const discovery = await get(`${path}/openid-configuration`)
  expect(discovery.headers).not.toHaveProperty('pubring-revision')
})

describe('projects with and without a key set', () => {
  test('a new project and one without active keys have an empty set with a short max-age', async () => {
    const { keys, jwks } = await newProject(server, 'empty')
    await registerKey(server, { active: false }, keys)
    const answer = await get(jwks)
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toBe('{"keys":[]}')
    expect(maxAgeOf(answer.headers)).toBe(60)
  })

  test.each(['nope', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71', 'team%2Fapp', '%00'])(
    'the project %s is not there: 404, not to be cached, readable by every origin',
    async (name) => {
      const answer = await get(`/v1/projects/${name}/.well-known/jwks.json`)
      expect(answer.json()).toMatchObject({ status: 404, code: 'project_not_found' })
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers['access-control-allow-origin']).toBe('*')
    },
  )

  test('a renamed or deleted project is found by its new name or not at all from the next request on', async () => {
    const { id, jwks } = await newProject(server, 'old-name')
    const own = `/v1/projects/${id}/.well-known/jwks.json`
    expect((await get(jwks)).body).toBe((await get(own)).body)
    await server.send('PATCH', '/v1/projects/old-name', { body: { name: 'new-name' } })
    const renamed = '/v1/projects/NEW-name/.well-known/jwks.json'
    const statuses = async () =>
      Promise.all([jwks, renamed, own].map(async (url) => (await get(url)).statusCode))
    expect(await statuses()).toEqual([404, 200, 200])
    expect((await server.send('DELETE', '/v1/projects/new-name')).statusCode).toBe(204)
    expect(await statuses()).toEqual([404, 404, 404])
    const again = await server.send('POST', '/v1/projects?release=true', {
      body: { name: 'new-name' },
    })
    expect(again.json().id).not.toBe(id)
    expect(await statuses()).toEqual([404, 200, 404])
  })

  test('with something appended it is 200 or 404, never a redirect', async () => {
    for (const suffix of ['/', '?v=1&v=2&__proto__=1', '#x']) {
      const answer = await get(byId + suffix)
      expect(answer.statusCode).toBe(suffix === '/' ? 404 : 200)
      expect(answer.headers).not.toHaveProperty('location')
    }
  })

  test('the discovery document is at the address of RFC 8414 too, and below the issuer', async () => {
    const { id, name } = server.project
    const { body, headers } = await get(discoveryUrl)
    for (const pattern of [
      '/.well-known/oauth-authorization-server/base/v1/projects/ID',
      '/v1/projects/ID/.well-known/oauth-authorization-server',
    ]) {
      const found = await get(pattern.replace('ID', id))
      expect([found.statusCode, found.body, found.headers.etag]).toEqual([200, body, headers.etag])
      expect(found.headers['access-control-allow-origin']).toBe('*')
      expect((await get(pattern.replace('ID', name))).json().code).toBe('route_not_found')
    }
    // RFC 8414 section 3.3: the issuer is the one into which the path was inserted.
    expect(JSON.parse(body).issuer).toBe(`https://keys.example.com/base/v1/projects/${id}`)
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const other = await get(`/.well-known/${name}/v1/projects/${id}`)
      expect(other.json().code).toBe('route_not_found')
    }
  })

  test('a wrong method is 405 with Allow', async () => {
    const answer = await server.inject({ method: 'POST', url: jwksUrl, payload: '{' })
    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS')
  })
})

test.each<[string, Record<string, string>]>([
  ['an invalid API key', { 'x-api-key': 'pubring_nope' }],
  ['an admin’s API key', { 'x-api-key': server.admin }],
  ['a cookie and Authorization', { cookie: 'session=1', authorization: 'Bearer x' }],
  ['another Host', { host: 'evil.example', 'x-forwarded-host': 'evil.example' }],
  ['forwarded headers', { forwarded: 'host=evil.example', 'x-forwarded-proto': 'http' }],
  ['an encoding', { 'accept-encoding': 'gzip, br' }],
  ['a media type', { accept: 'application/json;q=0, text/html' }],
])('every caller gets the same response: with %s', async (_name, headers) => {
  for (const url of [jwksUrl, byId, `${byId}?x=1`, discoveryUrl]) {
    const plain = await get(url)
    const answer = await get(url, headers)
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toBe(plain.body)
    const { etag } = plain.headers
    expect(answer.headers).toMatchObject({ etag, 'content-type': 'application/json' })
    for (const name of ['set-cookie', 'content-encoding', 'vary']) {
      expect(answer.headers).not.toHaveProperty(name)
    }
  }
})

test('documents by name tell their address by id, also with 304', async () => {
  const { issuer } = (await get(discoveryUrl)).json()
  const kid = await registerKey(server)
  for (const file of ['jwks.json', 'jwks-full.json', 'keys.pem', `${kid}.pem`]) {
    const byName = jwksUrl.replace('jwks.json', file)
    const named = await get(`${byName}?page=a/b`)
    const known = await get(byName, { 'if-none-match': String(named.headers.etag) })
    expect(known.statusCode).toBe(304)
    for (const { headers } of [named, known]) {
      expect(headers['content-location']).toBe(`${issuer}/.well-known/${file}`)
    }
    const { headers: own } = await get(byId.replace('jwks.json', file))
    expect(own['content-location']).toBeUndefined()
  }
})

describe('ETag', () => {
  test('a known one gives 304 without content, with ETag, Cache-Control and CORS', async () => {
    for (const url of [jwksUrl, discoveryUrl]) {
      const etag = String((await get(url)).headers.etag)
      expect(etag).toMatch(/^"[\w-]+"$/)
      for (const known of [etag, `"a", W/"b" , W/${etag}`]) {
        const answer = await get(url, { 'if-none-match': known })
        expect([answer.statusCode, answer.body]).toEqual([304, ''])
        expect(answer.headers).not.toHaveProperty('content-type')
        expect(answer.headers).toMatchObject({
          etag,
          'cache-control': 'public, max-age=60',
          'access-control-allow-origin': '*',
        })
      }
    }
  })

  test('changes with the bytes and returns with them; unpublished changes do not affect it', async () => {
    await registerKey(server)
    const before = await get(jwksUrl, { 'if-none-match': '"other"' })
    expect(before.statusCode).toBe(200)
    const kid = await registerKey(server)
    const after = await get(jwksUrl, { 'if-none-match': String(before.headers.etag) })
    expect(after.statusCode).toBe(200)
    await patchKey(server, kid, { label: 'not published' })
    expect((await get(jwksUrl)).headers.etag).toBe(after.headers.etag)
    await patchKey(server, kid, { active: false })
    const again = await get(jwksUrl)
    expect(again.body).toBe(before.body)
    expect(again.headers.etag).toBe(before.headers.etag)
  })
})

describe('HEAD and OPTIONS', () => {
  test('HEAD has the status and headers of GET and no content', async () => {
    for (const url of [jwksUrl, discoveryUrl, '/v1/projects/nope/.well-known/jwks.json']) {
      const [one, head] = [await get(url), await server.inject({ method: 'HEAD', url })]
      const comparable = ({ date: _date, 'x-request-id': _id, ...rest }: Record<string, unknown>) =>
        rest
      expect(head.statusCode).toBe(one.statusCode)
      expect(comparable(head.headers)).toEqual(comparable(one.headers))
      expect(head.body).toBe('')
    }
  })

  test('the preflight needs no API key and allows every origin without credentials', async () => {
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'if-none-match, prefer',
    }
    for (const url of [jwksUrl, discoveryUrl]) {
      const answer = await server.inject({ method: 'OPTIONS', url, headers })
      expect(answer.statusCode).toBe(204)
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD',
        'access-control-allow-headers': '*',
      })
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
      expect((await get(url, headers)).headers['access-control-allow-origin']).toBe('*')
    }
  })

  test('the management API allows no other origin', async () => {
    const answer = await server.send('GET', keysUrl, { headers: { origin: 'https://app.example' } })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  })
})
