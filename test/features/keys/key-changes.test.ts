import { describe, expect, test } from 'vitest'
import { publicUrl } from '../../support/app/app.ts'
import { startKeyChanges } from '../../support/app/key-changes.ts'
import { keysUrl, keyUrl, patchKey, registerKey } from '../../support/app/keys.ts'
import { ecKey, rsaKey } from '../../support/keys/pem.ts'

const server = await startKeyChanges()

describe('PATCH', () => {
  test('changes what it names and nothing else, and answers the key as GET does', async () => {
    const kid = await registerKey(server)
    const before = await server.read(kid)
    server.clock.advance(5)
    const answer = await server.patch(kid, { label: '  renamed ' })
    expect(answer.statusCode).toBe(200)
    const { label, updateTime } = answer.json()
    expect(label).toBe('renamed')
    expect(updateTime > before.updateTime).toBe(true)
    expect(answer.json()).toEqual({ ...before, label, updateTime })
    const got = await server.send('GET', keyUrl(kid))
    expect(got.json()).toEqual(answer.json())
    expect(got.headers.etag).toBe(answer.headers.etag)
  })

  test('takes the label as name, too, but not two different ones', async () => {
    const kid = await registerKey(server)
    const named = await server.patch(kid, { name: ' renamed ' })
    expect(named.json()).toMatchObject({ label: 'renamed' })
    const both = await server.patch(kid, { name: 'a', label: 'b' })
    expect(both.statusCode).toBe(400)
    expect(both.json().errors).toMatchObject([{ pointer: '/label', code: 'label_conflict' }])
  })

  test('takes application/merge-patch+json, and a project by its id', async () => {
    const kid = await registerKey(server)
    const url = `/v1/projects/${server.project.id}/jwt-keys/${kid.toUpperCase()}`
    const headers = { 'content-type': 'application/merge-patch+json; charset=UTF-8' }
    const answer = await server.send('PATCH', url, { body: { active: false }, headers })
    expect(answer.json().active).toBe(false)
  })

  test.each([
    ['nothing', () => ({})],
    ['the same label', () => ({ label: 'n' })],
    ['the same state', () => ({ active: true })],
    ['the same expireTime', (time: string) => ({ expireTime: time.replace('Z', '+00:00') })],
  ])('%s changes nothing: updateTime, revision and ETag stay', async (_name, body) => {
    const expireTime = server.inFuture(3_600_000)
    const kid = await registerKey(server, { expireTime })
    const before = await server.send('GET', keyUrl(kid))
    const revision = async () => (await server.send('GET', '/v1/projects/payments')).json().revision
    const at = await revision()
    server.clock.advance(5)
    const answer = await server.patch(kid, body(expireTime))
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toBe(before.body)
    expect(answer.headers.etag).toBe(before.headers.etag)
    expect(await revision()).toBe(at)
  })

  test('expireTime is set, moved and cleared by null', async () => {
    const kid = await registerKey(server)
    const first = server.inFuture(60_000)
    expect((await server.patch(kid, { expireTime: first })).json().expireTime).toBe(first)
    const second = server.inFuture(120_000)
    expect((await server.patch(kid, { expireTime: second })).json().expireTime).toBe(second)
    expect((await server.patch(kid, { expireTime: null })).json()).not.toHaveProperty('expireTime')
  })

  test.each([
    ['a read-only member', { createTime: '2020-01-01T00:00:00Z' }, '/createTime', 'unknown_field'],
    ['text for a boolean', { active: 'false' }, '/active', 'wrong_type'],
    ['null for a boolean', { active: null }, '/active', 'wrong_type'],
    ['null for the label', { label: null }, '/label', 'wrong_type'],
    ['a blank label', { label: ' \t ' }, '/label', 'too_short'],
    ['a number for a time', { expireTime: 1_900_000_000 }, '/expireTime', 'wrong_type'],
    ['a day that is none', { expireTime: '2099-02-30T00:00:00Z' }, '/expireTime', 'time_invalid'],
    ['a time without a zone', { expireTime: '2099-01-01T00:00:00' }, '/expireTime', 'time_invalid'],
    ['a time in the past', { expireTime: '2020-01-01T00:00:00Z' }, '/expireTime', 'time_past'],
    ['another kid', { publishedKid: 'x' }, '/publishedKid', 'unknown_field'],
    ['a prototype', JSON.parse('{"__proto__":{"active":false}}'), '/__proto__', 'unknown_field'],
  ])('%s is refused, and nothing changes', async (_name, body, pointer, code) => {
    const kid = await registerKey(server)
    const before = await server.read(kid)
    const answer = await server.patch(kid, body)
    const errors = [{ pointer, code }]
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request', errors })
    expect(await server.read(kid)).toEqual(before)
  })

  test('a key of another project, an unknown one and no UUID are key_not_found', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'other' } })
    const foreign = await registerKey(server, {}, '/v1/projects/other/jwt-keys')
    for (const kid of [foreign, '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71', 'nope', '%00']) {
      expect((await server.send('GET', keyUrl(kid))).json().code).toBe('key_not_found')
      expect((await server.patch(kid, { active: false })).json().code).toBe('key_not_found')
      expect((await server.remove(kid)).json().code).toBe('key_not_found')
    }
    const url = `/v1/projects/other/jwt-keys/${foreign}`
    expect((await server.send('GET', url)).json().active).toBe(true)
    const headers = { 'x-api-key': server.writer }
    const answer = await server.send('PATCH', url, { body: { active: false }, headers })
    expect(answer.json().code).toBe('project_not_found')
  })
})

describe('the states of a key', () => {
  test('off, off again, on, off, delete: each is what it says, and gone is gone', async () => {
    const kid = await registerKey(server)
    const created = await server.read(kid)
    server.clock.advance(5)
    const off = await server.patch(kid, { active: false })
    expect(off.json()).toMatchObject({ active: false })
    expect(off.json().updateTime > created.updateTime).toBe(true)
    const listed = (query: string) =>
      server.send('GET', keysUrl + query).then((list) => list.body.includes(kid))
    expect(await listed('')).toBe(true)
    expect(await listed('?active=true')).toBe(false)
    expect((await server.patch(kid, { active: false })).body).toBe(off.body)
    expect((await server.patch(kid, { active: true })).json().active).toBe(true)
    expect((await server.remove(kid)).json().code).toBe('key_active')
    await patchKey(server, kid, { active: false })
    expect((await server.remove(kid)).statusCode).toBe(204)
    expect(await listed('')).toBe(false)
    for (const answer of [await server.patch(kid, { active: true }), await server.remove(kid)]) {
      expect(answer.json().code).toBe('key_not_found')
    }
    expect((await server.send('GET', keyUrl(kid))).json().code).toBe('key_not_found')
  })

  test('an expired key comes back by a new or cleared expireTime alone', async () => {
    const kid = await registerKey(server, { expireTime: server.inFuture(1_000) })
    server.clock.advance(2_000)
    const expired = await server.read(kid)
    expect(expired.active).toBe(false)
    for (const body of [{ active: true }, { active: true, expireTime: expired.expireTime }]) {
      const refused = await server.patch(kid, body)
      expect(refused.json().errors).toMatchObject([{ pointer: '/active', code: 'key_expired' }])
    }
    const sentBack = await server.patch(kid, { label: 'late', expireTime: expired.expireTime })
    expect(sentBack.json()).toMatchObject({ label: 'late', active: false })
    const renewed = await server.patch(kid, { expireTime: server.inFuture(60_000), active: true })
    expect(renewed.json().active).toBe(true)
    server.clock.advance(61_000)
    expect((await server.read(kid)).active).toBe(false)
    expect((await server.patch(kid, { expireTime: null })).json().active).toBe(true)
  })

  test('convergedTime is the last change of what is published, one second and max-age on', async () => {
    const kid = await registerKey(server)
    const { createTime, details } = await server.read(kid)
    expect(Date.parse(details.convergedTime) - Date.parse(createTime)).toBe(61_000)
    server.clock.advance(1_000)
    await patchKey(server, kid, { label: 'renamed' })
    expect((await server.read(kid)).details.convergedTime).toBe(details.convergedTime)
    await patchKey(server, kid, { active: false })
    const off = await server.read(kid)
    expect(Date.parse(off.details.convergedTime) - Date.parse(off.updateTime)).toBe(61_000)
  })
})

describe('DELETE', () => {
  test('takes a JSON content type without a body, and an expired key', async () => {
    const kid = await registerKey(server, { expireTime: server.inFuture(1_000) })
    expect((await server.remove(kid)).json().code).toBe('key_active')
    server.clock.advance(1_001)
    const answer = await server.remove(kid, { 'content-type': 'application/json' })
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
  })

  test('the same public key can then be registered again, under a new kid', async () => {
    const { publicKeyPem } = ecKey()
    const kid = await registerKey(server, { publicKeyPem, active: false })
    await server.remove(kid)
    expect(await registerKey(server, { publicKeyPem })).not.toBe(kid)
  })
})

describe('what is read of a key', () => {
  const create = async (members: object = {}) => {
    const { publicKeyPem } = ecKey()
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem, ...members }
    return server.send('POST', keysUrl, { body })
  }

  test('a creation tells its address by ids, and the tag that reading it gives', async () => {
    const created = await create()
    const path = `/v1/projects/${server.project.id}/jwt-keys/${created.json().kid}`
    expect(created.headers.location).toBe(publicUrl + path)
    expect(created.headers.etag).toMatch(/^"[\w.-]+"$/)
    expect((await server.send('GET', path)).headers.etag).toBe(created.headers.etag)
  })

  test('a single read adds the details; the list and its tag change with it', async () => {
    const before = (await server.send('GET', keysUrl)).headers.etag
    const { publicKeyPem } = rsaKey()
    const expireTime = '2099-01-01T02:00:00+02:00'
    const { kid } = (await create({ algorithm: 'RSA', publicKeyPem, expireTime })).json()
    const { details, ...key } = (await server.send('GET', keyUrl(kid))).json()
    expect(key).toMatchObject({ publicKeyPem, expireTime: '2099-01-01T00:00:00.000Z' })
    const list = await server.send('GET', keysUrl)
    expect(list.json().at(-1)).toEqual(key)
    expect(list.headers.etag).not.toBe(before)
    expect(details).toMatchObject({ kty: 'RSA', bits: 2048, jwsAlgorithm: 'RS256' })
    expect(details.thumbprint).toMatch(/^[\w-]{43}$/)
    expect(details.spkiSha256).toMatch(/^[0-9a-f]{64}$/)
  })
})
