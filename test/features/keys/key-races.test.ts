import { describe, expect, test } from 'vitest'
import { startKeyChanges } from '../../support/app/key-changes.ts'
import { keysUrl, keyUrl, registerKey } from '../../support/app/keys.ts'
import { ecKey } from '../../support/keys/pem.ts'

const server = await startKeyChanges()

describe('If-Match', () => {
  const tagOf = async (kid: string) => String((await server.send('GET', keyUrl(kid))).headers.etag)

  test('the tag that creation answered serves, until something changes, also in one millisecond', async () => {
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const created = await server.send('POST', keysUrl, { body })
    const { kid } = created.json()
    const tag = String(created.headers.etag)
    const first = await server.patch(kid, { active: false }, { 'if-match': tag })
    expect(first.statusCode).toBe(200)
    expect((await server.patch(kid, { active: true }, { 'if-match': tag })).statusCode).toBe(412)
    expect((await server.remove(kid, { 'if-match': tag })).statusCode).toBe(412)
    const next = { 'if-match': String(first.headers.etag) }
    expect((await server.remove(kid, next)).statusCode).toBe(204)
  })

  test('an expiry that has passed is a change', async () => {
    const kid = await registerKey(server, { expireTime: server.inFuture(1_000) })
    const tag = await tagOf(kid)
    server.clock.advance(1_001)
    expect((await server.patch(kid, { label: 'x' }, { 'if-match': tag })).statusCode).toBe(412)
  })

  test('of 20 who change the same state at once, exactly one succeeds', async () => {
    const kid = await registerKey(server)
    const headers = { 'if-match': await tagOf(kid) }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => server.patch(kid, { label: `l${i}` }, headers)),
    )
    const statuses = answers.map(({ statusCode }) => statusCode).sort()
    expect(statuses).toEqual([200, ...new Array(19).fill(412)])
    const won = answers.find(({ statusCode }) => statusCode === 200)
    expect((await server.read(kid)).label).toBe(won?.json().label)
  })
})
