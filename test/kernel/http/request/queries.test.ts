import { describe, expect, test } from 'vitest'
import { publicUrl, startApp } from '../../../support/app/app.ts'
import { fetchJwks, keysUrl, registerKey } from '../../../support/app/keys.ts'

const server = await startApp()
const kid = await registerKey(server)
await registerKey(server)
await registerKey(server, { active: false })

test.each([
  ['', 3],
  ['?active=true', 2],
  ['?active=false', 3],
  ['?', 3],
])('the query "%s" lists %i keys', async (query, count) => {
  expect((await server.send('GET', keysUrl + query)).json().length).toBe(count)
})

test.each([
  ...['1', 'TRUE', '', '%20true', 'true,false'].map((value) => [
    `${keysUrl}?active=${value}`,
    'active',
    'wrong_type',
  ]),
  [`${keysUrl}?active=true&active=true`, 'active', 'repeated_parameter'],
  [`${keysUrl}?activ=true`, 'activ', 'unknown_parameter'],
  ['/v1/api-keys/self?x=1&x=2', 'x', 'unknown_parameter'],
  ['/v1/projects?__proto__=1', '__proto__', 'unknown_parameter'],
  ['/v1/projects?constructor=1', 'constructor', 'unknown_parameter'],
  ['/v1/projects?after=payments', 'after', 'time_invalid|invalid'],
  ...['1.5', '1e2', '', 'x', '%201', '-1'].map((limit) => [
    `/v1/projects?limit=${limit}`,
    'limit',
    'wrong_type',
  ]),
  ['/v1/projects?limit=0', 'limit', 'out_of_range'],
  ['/v1/projects?limit=201', 'limit', 'out_of_range'],
] as [string, string, string][])('%s is refused: a typo must not widen a list', async (...row) => {
  const [url, parameter, code] = row
  const answer = await server.send('GET', url)
  expect(answer.json().errors).toEqual([
    { parameter, code: expect.stringMatching(`^(${code})$`), detail: expect.any(String) },
  ])
  if (parameter === 'activ') expect(answer.json().detail).toContain('Did you mean "active"?')
})

test('the public addresses ignore the query, a change does not', async () => {
  expect((await server.send('GET', '/health/live?x=1')).statusCode).toBe(200)
  const answer = await server.send('DELETE', '/v1/projects/payments?force=true')
  expect(answer.json().errors).toMatchObject([{ code: 'unknown_parameter' }])
})

test('the links of pages lead through all projects with any Host', async () => {
  for (const name of ['p1', 'p2', 'p3', 'p4']) {
    await server.send('POST', '/v1/projects', { body: { name } })
  }
  const names: string[] = []
  let next: string | undefined = '/v1/projects?limit=2'
  while (next !== undefined) {
    const answer = await server.send('GET', next, { headers: { host: 'evil.example' } })
    names.push(...answer.json().map((project: { name: string }) => project.name))
    const [, link] = /^<(.+)>; rel="next"$/.exec(String(answer.headers.link ?? '')) ?? []
    expect(link?.startsWith(`${publicUrl}/v1/projects?`) ?? true).toBe(true)
    next = link?.slice(publicUrl.length)
  }
  expect(names).toEqual(['payments', 'p1', 'p2', 'p3', 'p4'])
})

describe('a header that is very long, and far below the limit of all headers together,', () => {
  const commas = ','.repeat(60_000)

  test('is ignored as If-None-Match, also by a request that asks to wait', async () => {
    const { etag } = (await fetchJwks(server)).headers
    for (const prefer of [{}, { prefer: 'wait=60' }]) {
      const answer = await fetchJwks(server, { 'if-none-match': `${etag}${commas}`, ...prefer })
      expect(answer.statusCode).toBe(200)
      expect(answer.headers).not.toHaveProperty('preference-applied')
    }
    const many = `${'"other",'.repeat(32)}${etag}`
    expect((await fetchJwks(server, { 'if-none-match': many })).statusCode).toBe(200)
    const short = `"other", W/${etag}`
    expect((await fetchJwks(server, { 'if-none-match': short })).statusCode).toBe(304)
  })

  test('is 400 as If-Match, and changes nothing', async () => {
    for (const tags of [`"x"${commas}`, '"x",'.repeat(33)]) {
      const request = { headers: { 'if-match': tags }, body: { active: false } }
      const answer = await server.send('PATCH', `${keysUrl}/${kid}`, request)
      expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request' })
    }
    expect((await server.send('GET', `${keysUrl}/${kid}`)).json().active).toBe(true)
  })

  test('selects the default media type as Accept', async () => {
    const headers = { accept: `application/x-ndjson${',a/b'.repeat(15_000)}` }
    const answer = await server.send('GET', '/v1/events', { headers })
    expect(answer.headers['content-type']).toBe('application/json')
  })
})
