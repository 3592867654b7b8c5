import { describe, expect, test } from 'vitest'
import { publicUrl, startApp } from '../../../support/app/app.ts'
import { ecKey } from '../../../support/keys/pem.ts'

const keys = '/v1/projects/payments/jwt-keys'

const server = await startApp()
for (const active of [true, false, true]) {
  const { publicKeyPem } = ecKey()
  const body = { name: 'n', algorithm: 'ES256', publicKeyPem, active }
  await server.send('POST', keys, { body })
}

describe('active', () => {
  test.each([
    ['', 3],
    ['?active=true', 2],
    ['?active=false', 3],
    ['?', 3],
  ])('"%s" lists %i keys', async (query, count) => {
    expect((await server.send('GET', keys + query)).json().length).toBe(count)
  })

  test.each(['1', '0', 'TRUE', 'True', '', 'banana', 'yes', '%20true', 'true,false'])(
    '"%s" is refused',
    async (value) => {
      const answer = await server.send('GET', `${keys}?active=${value}`)
      expect(answer.json().errors).toMatchObject([{ parameter: 'active', code: 'wrong_type' }])
    },
  )

  test.each(['active=true&active=false', 'active=true&active=true'])(
    '%s is refused',
    async (query) => {
      const answer = await server.send('GET', `${keys}?${query}`)
      expect(answer.json().errors).toMatchObject([
        { parameter: 'active', code: 'repeated_parameter' },
      ])
    },
  )

  test('a misspelt name does not widen the list: it is refused, and the right one named', async () => {
    const answer = await server.send('GET', `${keys}?activ=true`)
    expect(answer.json().errors).toEqual([
      {
        parameter: 'activ',
        code: 'unknown_parameter',
        detail: 'There is no query parameter "activ". Did you mean "active"?',
      },
    ])
  })
})

test.each([
  ['GET', '/v1/projects/payments?x=1'],
  ['GET', '/v1/api-keys/self?x=1&x=2'],
  ['DELETE', '/v1/projects/payments?force=true'],
  ['GET', '/v1/projects?__proto__=1'],
  ['GET', '/v1/projects?constructor=1'],
] as const)('%s %s: unknown parameters are refused', async (method, url) => {
  const answer = await server.send(method, url)
  expect(answer.json().errors).toMatchObject([{ code: 'unknown_parameter' }])
})

test('the public addresses ignore the query', async () => {
  expect((await server.send('GET', '/health/live?x=1')).statusCode).toBe(200)
})

describe('pages of projects', () => {
  test.each(['0', '201', '-1', '1.5', '1e2', '', 'x', ' 1'])(
    'limit=%s is refused',
    async (limit) => {
      const answer = await server.send('GET', `/v1/projects?limit=${encodeURIComponent(limit)}`)
      expect(answer.json().errors[0].parameter).toBe('limit')
    },
  )

  test('after must be a UUID', async () => {
    const answer = await server.send('GET', '/v1/projects?after=payments')
    expect(answer.json().errors[0].parameter).toBe('after')
  })

  test('the links lead through all of them with any Host', async () => {
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
})
