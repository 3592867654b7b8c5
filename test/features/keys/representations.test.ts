import { describe, expect, test } from 'vitest'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { ecKey, rsaKey } from '../../support/keys/pem.ts'

const keys = '/v1/projects/payments/jwt-keys'

const server = await startApp()

const create = (members: object = {}) =>
  server.send('POST', keys, {
    body: { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem, ...members },
  })

describe('Location and ETag', () => {
  test('of a new key: its address by ids, and the tag that reading it gives', async () => {
    const created = await create()
    const { kid } = created.json()
    const path = `/v1/projects/${server.project.id}/jwt-keys/${kid}`
    expect(created.headers.location).toBe(publicUrl + path)
    const read = await server.send('GET', path)
    expect(created.headers.etag).toMatch(/^"[\w-]+"$/)
    expect(read.headers.etag).toBe(created.headers.etag)
  })

  test('of a new project: its address by id', async () => {
    const created = await server.send('POST', '/v1/projects', { body: { name: 'located' } })
    expect(created.headers.location).toBe(`${publicUrl}/v1/projects/${created.json().id}`)
  })

  test.each([
    ['the tag', (tag: string) => tag, 304],
    ['the tag, made weak by a proxy', (tag: string) => `W/${tag}`, 304],
    ['one of several', (tag: string) => `"x", ${tag}`, 304],
    ['*', () => '*', 304],
    ['another', () => '"x"', 200],
  ])('If-None-Match with %s', async (_name, header, status) => {
    for (const method of ['GET', 'HEAD'] as const) {
      const first = await server.send(method, keys)
      const headers = { 'if-none-match': header(String(first.headers.etag)) }
      const answer = await server.send(method, keys, { headers })
      expect(answer.statusCode).toBe(status)
      expect(answer.headers.etag).toBe(first.headers.etag)
      expect(answer.headers['cache-control']).toBe('private, no-cache')
      if (status === 304) {
        expect(answer.body).toBe('')
        expect(answer.headers['content-length']).toBeUndefined()
        expect(answer.headers['content-type']).toBeUndefined()
      }
    }
  })

  test('the tag of the list changes with the list', async () => {
    const before = (await server.send('GET', keys)).headers.etag
    await create()
    expect((await server.send('GET', keys)).headers.etag).not.toBe(before)
  })
})

describe('JwtKey', () => {
  test('a single read adds the details', async () => {
    const { publicKeyPem } = rsaKey()
    const { kid } = (await create({ algorithm: 'RSA', publicKeyPem })).json()
    const { details, ...key } = (await server.send('GET', `${keys}/${kid}`)).json()
    expect(key).toEqual((await server.send('GET', keys)).json().at(-1))
    expect(details).toMatchObject({ kty: 'RSA', bits: 2048, jwsAlgorithm: 'RS256' })
    expect(details.thumbprint).toMatch(/^[\w-]{43}$/)
    expect(details.spkiSha256).toMatch(/^[0-9a-f]{64}$/)
  })

  test('expireTime is there where one is set, in UTC', async () => {
    const { kid } = (await create({ expireTime: '2099-01-01T02:00:00+02:00' })).json()
    const key = (await server.send('GET', `${keys}/${kid}`)).json()
    expect(key.expireTime).toBe('2099-01-01T00:00:00.000Z')
  })

  test("another project's key is not found, nor is what is no UUID", async () => {
    const { kid } = (await create()).json()
    await server.send('POST', '/v1/projects', { body: { name: 'elsewhere' } })
    for (const url of [`/v1/projects/elsewhere/jwt-keys/${kid}`, `${keys}/x`, `${keys}/%00`]) {
      expect((await server.send('GET', url)).json().code).toBe('key_not_found')
    }
  })
})
