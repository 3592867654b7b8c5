import { describe, expect, test } from 'vitest'
import { startKeyChanges } from '../../support/app/key-changes.ts'
import { keysUrl, keyUrl, registerKey } from '../../support/app/keys.ts'
import { ecKey } from '../../support/keys/pem.ts'

const server = await startKeyChanges()

describe('If-Match', () => {
  test.each([
    ['the tag', (tag: string) => tag, 200],
    ['a list with the tag', (tag: string) => `"other", ${tag}`, 200],
    ['an asterisk', () => '*', 200],
    ['another tag', () => '"other"', 412],
    ['the tag as a weak one', (tag: string) => `W/${tag}`, 412],
    ['the tag without quotes', (tag: string) => tag.replaceAll('"', ''), 412],
  ])('%s: PATCH', async (_name, header, status) => {
    const kid = await registerKey(server)
    const tag = String((await server.send('GET', keyUrl(kid))).headers.etag)
    const answer = await server.patch(kid, { label: 'matched' }, { 'if-match': header(tag) })
    expect(answer.statusCode).toBe(status)
    expect((await server.read(kid)).label).toBe(status === 200 ? 'matched' : 'n')
    if (status === 412) expect(answer.json().code).toBe('precondition_failed')
  })

  test('the tag that creation answered serves, until something changes, also in one millisecond', async () => {
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const created = await server.send('POST', keysUrl, { body })
    const { kid } = created.json()
    const tag = String(created.headers.etag)
    const first = await server.patch(kid, { active: false }, { 'if-match': tag })
    expect(first.statusCode).toBe(200)
    expect((await server.patch(kid, { active: true }, { 'if-match': tag })).statusCode).toBe(412)
    expect((await server.remove(kid, { 'if-match': tag })).statusCode).toBe(412)
    expect((await server.remove(kid, { 'if-match': String(first.headers.etag) })).statusCode).toBe(
      204,
    )
  })

  test('an expiry that has passed is a change', async () => {
    const kid = await registerKey(server, { expireTime: server.inFuture(1_000) })
    const tag = String((await server.send('GET', keyUrl(kid))).headers.etag)
    server.clock.advance(1_001)
    expect((await server.patch(kid, { label: 'x' }, { 'if-match': tag })).statusCode).toBe(412)
  })

  test('of 20 who changed the same state at once, exactly one succeeds', async () => {
    const kid = await registerKey(server)
    const tag = String((await server.send('GET', keyUrl(kid))).headers.etag)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        server.patch(kid, { label: `l${i}` }, { 'if-match': tag }),
      ),
    )
    const statuses = answers.map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 412)).toHaveLength(19)
    const won = answers.find(({ statusCode }) => statusCode === 200)
    expect((await server.read(kid)).label).toBe(won?.json().label)
  })
})
