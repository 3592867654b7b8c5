import { describe, expect, test } from 'vitest'
import { kernelChanges } from '../../../../packages/server/src/kernel/kernel-changes.ts'
import { startApp } from '../../../support/app/app.ts'
import { testClock } from '../../../support/app/clock.ts'
import { registerKey } from '../../../support/app/keys.ts'

const clock = testClock()

const server = await startApp({ clock })

let made = 0
function unique(): string {
  made += 1
  return `name-${made}`
}

async function newProject(): Promise<string> {
  const created = await server.send('POST', '/v1/projects', { body: { name: unique() } })
  return `/v1/projects/${created.json().id}`
}

async function newApiKey(members: object = {}): Promise<{ url: string; secret: string }> {
  const body = { name: 'n', role: 'reader', ...members }
  const created = (await server.send('POST', '/v1/api-keys', { body })).json()
  return { url: `/v1/api-keys/${created.id}`, secret: created.apiKey }
}

async function newKey(): Promise<string> {
  const kid = await registerKey(server, { active: false })
  return `/v1/projects/payments/jwt-keys/${kid}`
}

const tagOf = async (url: string) => String((await server.send('GET', url)).headers.etag)
const patch = (url: string, body: object, match?: string) =>
  server.send('PATCH', url, { body, headers: match === undefined ? {} : { 'if-match': match } })
const remove = (url: string, match: string) =>
  server.send('DELETE', url, { headers: { 'if-match': match } })

describe.each([
  ['a project', newProject, () => ({ name: unique() })],
  ['an API key', async () => (await newApiKey()).url, () => ({ name: unique() })],
  ['a JWT key', newKey, () => ({ label: unique() })],
])('If-Match on %s', (_name, create, change) => {
  test('with the current tag or * permits the change, which returns the next tag', async () => {
    const url = await create()
    const tag = await tagOf(url)
    expect(tag).toMatch(/^"[\w.-]+"$/)
    const changed = await patch(url, change(), `"other", ${tag}`)
    expect(changed.statusCode, changed.body).toBe(200)
    expect(changed.headers.etag).not.toBe(tag)
    expect(changed.headers.etag).toBe(await tagOf(url))
    expect((await patch(url, change(), '*')).statusCode).toBe(200)
    expect((await remove(url, await tagOf(url))).statusCode).toBe(204)
    expect((await remove(await create(), '*')).statusCode).toBe(204)
  })

  test('with an older, weak or unknown tag is 412 and changes nothing', async () => {
    const url = await create()
    const old = await tagOf(url)
    await patch(url, change())
    const { body, headers } = await server.send('GET', url)
    for (const match of [old, `W/${headers.etag}`, '"x"', '']) {
      for (const answer of [await patch(url, change(), match), await remove(url, match)]) {
        expect(answer.statusCode, match).toBe(412)
        expect(answer.json().code).toBe('precondition_failed')
      }
    }
    expect((await server.send('GET', url)).body).toBe(body)
  })

  test('rejects one of two concurrent changes with the same tag', async () => {
    const url = await create()
    const tag = await tagOf(url)
    const answers = await Promise.all([patch(url, change(), tag), patch(url, change(), tag)])
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 412])
  })
})

describe('the ETag', () => {
  test.each([
    ['a project', '/v1/projects', { name: 'tagged' }],
    ['an API key', '/v1/api-keys', { name: 'tagged', role: 'reader' }],
  ])('of %s on creation is that of reading it', async (_name, url, body) => {
    const created = await server.send('POST', url, { body })
    expect(created.headers.etag).toBe(await tagOf(`${url}/${created.json().id}`))
  })

  test('of a project changes with its keys, which raise its revision', async () => {
    const tag = await tagOf('/v1/projects/payments')
    await newKey()
    expect(await tagOf('/v1/projects/payments')).not.toBe(tag)
    const known = { 'if-none-match': await tagOf('/v1/projects/payments') }
    const answer = await server.send('GET', '/v1/projects/payments', { headers: known })
    expect(answer.statusCode).toBe(304)
  })

  test('of an API key does not change with its use, and is the same under /self', async () => {
    const { url, secret } = await newApiKey()
    const tag = await tagOf(url)
    const headers = { 'x-api-key': secret }
    const own = await server.send('GET', '/v1/api-keys/self', { headers })
    expect(own.headers.etag).toBe(tag)
    const id = url.slice('/v1/api-keys/'.length)
    const uses = [{ type: 'api_key', id, time: new Date().toISOString() } as const]
    await server.context.store.commit(kernelChanges.touchCredentials, { uses })
    const used = await server.send('GET', url, { headers: { 'if-none-match': tag } })
    expect(used.json()).toHaveProperty('lastUseTime')
    expect(used.headers.etag).toBe(tag)
  })

  test('of an API key changes when it expires, after which it can be sent back as it was read', async () => {
    const { url } = await newApiKey({ expireTime: new Date(clock.now() + 1_000).toISOString() })
    const tag = await tagOf(url)
    clock.advance(2_000)
    expect(await tagOf(url)).not.toBe(tag)
    expect((await patch(url, { name: 'late' }, tag)).statusCode).toBe(412)
    const before = (await server.send('GET', url)).json()
    const { name, role, expireTime } = before
    expect((await patch(url, { name, role, expireTime })).json()).toEqual(before)
    const past = await patch(url, { expireTime: new Date(clock.now() - 5_000).toISOString() })
    expect(past.json().errors[0]).toMatchObject({ pointer: '/expireTime', code: 'time_past' })
  })

  test('of a JWT key changes with its convergedTime, which is no change of the key', async () => {
    const url = await newKey()
    const tag = await tagOf(url)
    const slower = await startApp({ database: server.database, clock, config: { jwksMaxAge: 300 } })
    const headers = { 'x-api-key': slower.admin }
    const read = await slower.inject({ url, headers })
    expect(read.headers.etag).not.toBe(tag)
    const send = (match: string) =>
      slower.inject({
        method: 'PATCH',
        url,
        headers: { ...headers, 'if-match': match },
        payload: { label: 'n' },
      })
    for (const known of [tag, String(read.headers.etag)]) {
      expect((await send(known)).statusCode).toBe(200)
    }
  })
})
