import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Client, createClient } from '../../client/src/index.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { ecKey } from '../support/keys/pem.ts'
import { type HttpServer, startHttpServer } from '../support/network/http-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts'

let server: TestApp
let direct: Client
let line: TcpProxy
let client: Client
let sent = ''
beforeAll(async () => {
  server = await startApp()
  const url = await server.listen()
  line = await startTcpProxy(Number(new URL(url).port))
  line.watch((chunk) => {
    sent += chunk.toString('latin1')
  })
  direct = createClient({ url, apiKey: server.admin })
  client = createClient({ url: `http://127.0.0.1:${line.port}`, apiKey: server.admin })
})
afterAll(async () => {
  await line.close()
  await server.close()
})

const project = 'payments'
const body = () => ({ name: 'x', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }) as const
const register = () => direct.keys.create(project, body())
/** How often a request that begins so went over the line since then. */
async function counted(start: string, run: () => Promise<unknown>): Promise<number> {
  sent = ''
  await run()
  return sent.split(start).length - 1
}

describe('when the line is cut', () => {
  test.each(['before', 'after'] as const)('%s a read is served, it is sent again', async (when) => {
    const { kid } = await register()
    line.cutAt('GET /v1', when)
    const count = await counted('GET /v1', async () => {
      expect(await client.keys.get(project, kid)).toMatchObject({ id: kid })
    })
    expect(count).toBe(2)
  })

  test('after a key is registered, the request is not repeated: the error says to look', async () => {
    const before = (await direct.keys.list(project)).length
    line.cutAt('POST /v1', 'after')
    const count = await counted('POST /v1', async () => {
      const error = await client.keys.create(project, body()).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'unreachable' })
      expect(error.message).toMatch(/may have been processed: check before/)
    })
    expect(count).toBe(1)
    expect((await direct.keys.list(project)).length).toBe(before + 1)
  })

  test('after a key is switched on, that is not sent again: somebody may have switched it off', async () => {
    const { kid } = await register()
    await direct.keys.update(project, kid, { active: false })
    line.cutAt('PATCH /v1', 'after')
    const count = await counted('PATCH /v1', async () => {
      const update = client.keys.update(project, kid, { active: true })
      await expect(update).rejects.toMatchObject({ code: 'unreachable' })
    })
    expect(count).toBe(1)
  })

  test('after a key is switched off, that is sent again and changes nothing more', async () => {
    const { kid } = await register()
    line.cutAt('PATCH /v1', 'after')
    const count = await counted('PATCH /v1', async () => {
      const key = await client.keys.update(project, kid, { active: false })
      expect(key.active).toBe(false)
    })
    expect(count).toBe(2)
    const events = await direct.events.list({ project, limit: 200 })
    expect(events.filter(({ subject }) => subject.id === kid)).toHaveLength(2)
  })

  test('after a change with If-Match is made, it is not reported as a conflict', async () => {
    const { kid } = await register()
    const address = `${direct.url}/projects/${project}/jwt-keys/${kid}`
    const answer = await fetch(address, { headers: { 'x-api-key': server.admin } })
    const ifMatch = answer.headers.get('etag') ?? ''
    line.cutAt('PATCH /v1', 'after')
    const update = client.keys.update(project, kid, { active: false }, { ifMatch })
    await expect(update).rejects.toMatchObject({ code: 'unreachable' })
    expect((await direct.keys.get(project, kid)).active).toBe(false)
  })

  test('after a key is deleted, the second request finds none, which is what was wanted', async () => {
    const { kid } = await register()
    await direct.keys.update(project, kid, { active: false })
    line.cutAt('DELETE /v1', 'after')
    expect(await client.keys.delete(project, kid)).toBeUndefined()
    const gone = { code: 'key_not_found' }
    await expect(direct.keys.get(project, kid)).rejects.toMatchObject(gone)
    await expect(client.keys.delete(project, kid)).rejects.toMatchObject(gone)
  })

  test('for good, it ends with `unreachable` after as many repetitions as are allowed', async () => {
    line.cut()
    const impatient = createClient({ url: client.url, apiKey: server.admin, retries: 1 })
    await expect(impatient.projects.list()).rejects.toMatchObject({ code: 'unreachable' })
    line.restore()
    expect(await impatient.projects.list()).toHaveProperty('items')
  })
})

test('a create that the rate limit turned away is sent again when its time has come', async () => {
  const limited = await startApp({ http: { rateLimit: { limit: 6, window: 1 } } })
  const url = await limited.listen()
  const patient = createClient({ url, apiKey: limited.admin })
  for (let round = 0; round < 3; round += 1) await patient.keys.create(project, body())
  const once = createClient({ url, apiKey: limited.admin, retries: 0 })
  const made = () => Promise.all([1, 2, 3].map(() => once.keys.create(project, body())))
  await expect(made()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 1 })
  await limited.close()
})

describe('an answer that says “not now”', () => {
  let busy: HttpServer
  let answers: ((outgoing: ServerResponse) => void)[] = []
  let requests: string[] = []
  beforeAll(async () => {
    busy = await startHttpServer(({ method = '' }, outgoing) => {
      requests.push(method)
      const answer = answers.shift()
      if (answer === undefined) outgoing.writeHead(200).end('{"kid":"a"}')
      else answer(outgoing)
    })
  })
  afterEach(() => {
    requests = []
    answers = []
  })
  afterAll(() => busy.close())

  const problem = (status: number, code: string, headers: Record<string, string> = {}) => {
    const detail = `It is ${code}.`
    const text = JSON.stringify({ type: 't', title: 't', status, detail, code, requestId: 'r' })
    return (outgoing: ServerResponse) => outgoing.writeHead(status, headers).end(text)
  }
  const page = (status: number) => (outgoing: ServerResponse) =>
    outgoing.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Sorry</h1>')
  const silence = () => {}
  const halfAnAnswer = (outgoing: ServerResponse) => outgoing.writeHead(200).write('{"k')
  const to = (options: object = {}) => createClient({ url: busy.url, ...options })

  test.each([
    ['storage_unavailable', problem(503, 'storage_unavailable', { 'retry-after': '0' }), 2],
    ['a gateway that found nobody', page(502), 2],
    ['a gateway that waited in vain', page(504), 2],
    ['internal', problem(500, 'internal'), 1],
    ['a proxy that refuses', page(403), 1],
  ])('%s: what reads is sent so often as that has hope', async (_, answer, count) => {
    answers = [answer]
    await to()
      .projects.get('a')
      .catch(() => {})
    expect(requests).toHaveLength(count)
  })

  test.each([
    ['overloaded', problem(503, 'overloaded', { 'retry-after': '0' }), 2],
    ['rate_limited', problem(429, 'rate_limited', { 'retry-after': '0' }), 2],
    ['storage_unavailable', problem(503, 'storage_unavailable', { 'retry-after': '0' }), 1],
    ['a gateway that waited in vain', page(504), 1],
  ])('%s: what creates is sent again only where nothing was done', async (_, answer, count) => {
    answers = [answer]
    await to()
      .keys.create('a', body())
      .catch(() => {})
    expect(requests).toEqual(Array(count).fill('POST'))
  })

  test('a Retry-After beyond half a minute is not waited for, but told', async () => {
    answers = [problem(503, 'overloaded', { 'retry-after': '31' })]
    const refused = { code: 'overloaded', status: 503, retryAfter: 31 }
    await expect(to().projects.get('a')).rejects.toMatchObject(refused)
    expect(requests).toHaveLength(1)
  })

  test('a Retry-After that is a date is understood', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString()
    answers = [problem(503, 'overloaded', { 'retry-after': date })]
    const error = await to()
      .projects.get('a')
      .catch((thrown) => thrown)
    expect(error.retryAfter).toBeGreaterThan(50)
  })

  test('a caller who aborts during the pause waits no longer', async () => {
    answers = [problem(503, 'overloaded', { 'retry-after': '25' })]
    const leaving = new AbortController()
    const asking = to().projects.get('a', { signal: leaving.signal })
    await expect.poll(() => requests.length).toBe(1)
    setTimeout(() => leaving.abort(), 50)
    await expect(asking).rejects.toMatchObject({ code: 'aborted' })
    expect(requests).toHaveLength(1)
  })

  test.each([
    ['that never comes', silence],
    ['that stops in the middle', halfAnAnswer],
  ])('an answer %s ends with `timeout`', async (_, answer) => {
    answers = [answer, answer]
    const asking = to({ timeout: 200, retries: 1 }).projects.get('a')
    await expect(asking).rejects.toMatchObject({ code: 'timeout' })
    expect(requests).toHaveLength(2)
  })

  test('a caller who aborts while it is awaited, or before, is told so', async () => {
    answers = [silence]
    const leaving = new AbortController()
    const asking = to().projects.get('a', { signal: leaving.signal })
    await expect.poll(() => requests.length).toBe(1)
    leaving.abort()
    await expect(asking).rejects.toMatchObject({ code: 'aborted' })
    const late = to().projects.get('a', { signal: leaving.signal })
    await expect(late).rejects.toMatchObject({ code: 'aborted' })
    expect(requests).toHaveLength(1)
  })

  test('JSON of another shape is no answer of Pubring', async () => {
    const json = (text: string) => (outgoing: ServerResponse) => {
      outgoing.setHeader('content-type', 'application/json').end(text)
    }
    const object = json('{"a":1}')
    const array = json('[]')
    answers = [object, object, object, array]
    const refused = { code: 'unexpected_response', status: 200 }
    await expect(to().keys.list('a')).rejects.toMatchObject(refused)
    await expect(to().apiKeys.list()).rejects.toMatchObject(refused)
    await expect(to().projects.list()).rejects.toMatchObject(refused)
    await expect(to().projects.get('a')).rejects.toMatchObject(refused)
  })

  test('a page that is no answer of Pubring is told apart from one', async () => {
    answers = [page(200), page(404)]
    const error = await to()
      .projects.get('a')
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'unexpected_response', status: 200 })
    expect(error.message).toContain(busy.url)
    const missing = to().projects.get('a')
    await expect(missing).rejects.toMatchObject({ code: 'unexpected_response', status: 404 })
  })
})

test('a closed port is `unreachable`, and the error says what the system says', async () => {
  const url = (
    await startHttpServer(() => {}).then(async (closed) => {
      await closed.close()
      return closed
    })
  ).url
  const error = await createClient({ url, retries: 0 })
    .projects.list()
    .catch((thrown) => thrown)
  expect(error).toMatchObject({ name: 'PubringError', code: 'unreachable' })
  expect(error.message).toContain('ECONNREFUSED')
})
