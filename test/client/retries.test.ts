import type { ServerResponse } from 'node:http'
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { startApp } from '../support/app/app.ts'
import { ecKey } from '../support/keys/pem.ts'
import { type HttpServer, startHttpServer } from '../support/network/http-server.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'

let sent = ''

const server = await startApp()
const url = await server.listen()
const proxy = await startTcpProxy(Number(new URL(url).port))
proxy.watch((chunk) => {
  sent += chunk.toString('latin1')
})
const direct = createClient({ url, apiKey: server.admin })
const client = createClient({ url: `http://127.0.0.1:${proxy.port}`, apiKey: server.admin })

const project = 'payments'
const body = () => ({ name: 'x', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }) as const
const register = () => direct.keys.create(project, body())
/** How many requests with this start line the run sends. */
async function counted(start: string, run: () => Promise<unknown>): Promise<number> {
  sent = ''
  await run()
  return sent.split(start).length - 1
}

describe('when the connection is cut', () => {
  test.each(['before', 'after'] as const)('%s a read is served, it is retried', async (when) => {
    const { kid } = await register()
    proxy.cutAt('GET /v1', when)
    const count = await counted('GET /v1', async () => {
      expect(await client.keys.get(project, kid)).toMatchObject({ id: kid })
    })
    expect(count).toBe(2)
  })

  test('after a key is registered, the request is not retried and the error says to check', async () => {
    const before = (await direct.keys.list(project)).length
    proxy.cutAt('POST /v1', 'after')
    const count = await counted('POST /v1', async () => {
      const error = await client.keys.create(project, body()).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'unreachable' })
      expect(error.message).toMatch(/may have been processed: check before/)
    })
    expect(count).toBe(1)
    const registered = async () => (await direct.keys.list(project)).length
    await expect.poll(registered).toBe(before + 1)
  })

  test('after a key is activated, the request is not retried: it may have been deactivated since', async () => {
    const { kid } = await register()
    await direct.keys.update(project, kid, { active: false })
    proxy.cutAt('PATCH /v1', 'after')
    const count = await counted('PATCH /v1', async () => {
      const update = client.keys.update(project, kid, { active: true })
      await expect(update).rejects.toMatchObject({ code: 'unreachable' })
    })
    expect(count).toBe(1)
  })

  test('after a key is deactivated, the request is retried and changes nothing more', async () => {
    const { kid } = await register()
    proxy.cutAt('PATCH /v1', 'after')
    const count = await counted('PATCH /v1', async () => {
      const key = await client.keys.update(project, kid, { active: false })
      expect(key.active).toBe(false)
    })
    expect(count).toBe(2)
    const events = await direct.events.list({ project, limit: 200 })
    expect(events.filter(({ subject }) => subject.id === kid)).toHaveLength(2)
  })

  test('after a change with If-Match, the retry does not report a conflict', async () => {
    const { kid } = await register()
    const address = `${direct.url}/projects/${project}/jwt-keys/${kid}`
    const answer = await fetch(address, { headers: { 'x-api-key': server.admin } })
    const ifMatch = answer.headers.get('etag') ?? ''
    proxy.cutAt('PATCH /v1', 'after')
    const update = client.keys.update(project, kid, { active: false }, { ifMatch })
    await expect(update).rejects.toMatchObject({ code: 'unreachable' })
    expect((await direct.keys.get(project, kid)).active).toBe(false)
  })

  test('after a key is deleted, the retry finds none and succeeds', async () => {
    const { kid } = await register()
    await direct.keys.update(project, kid, { active: false })
    proxy.cutAt('DELETE /v1', 'after')
    expect(await client.keys.delete(project, kid)).toBeUndefined()
    const gone = { code: 'key_not_found' }
    await expect(direct.keys.get(project, kid)).rejects.toMatchObject(gone)
    await expect(client.keys.delete(project, kid)).rejects.toMatchObject(gone)
  })

  test('after an import is registered, the retry reports its keys as present', async () => {
    const keys = [body()]
    proxy.cutAt('POST /v1', 'after')
    const report = await client.keys.import(project, { keys }, { retries: 1 })
    expect(report.items).toMatchObject([{ outcome: 'present' }])
    proxy.cutAt('POST /v1', 'after')
    const once = client.keys.import(project, { keys }, { retries: 0 })
    await expect(once).rejects.toMatchObject({ code: 'unreachable' })
  })

  test('permanently, the call fails with `unreachable` after the last retry', async () => {
    proxy.cut()
    const limitedClient = createClient({ url: client.url, apiKey: server.admin, retries: 1 })
    await expect(limitedClient.projects.list()).rejects.toMatchObject({ code: 'unreachable' })
    proxy.restore()
    expect(await limitedClient.projects.list()).toHaveProperty('items')
  })
})

test('a create beyond the rate limit reports when to retry', async () => {
  const limited = await startApp({ http: { rateLimit: { limit: 6, window: 1 } } })
  const url = await limited.listen()
  const retryingClient = createClient({ url, apiKey: limited.admin })
  for (let round = 0; round < 3; round += 1) await retryingClient.keys.create(project, body())
  const once = createClient({ url, apiKey: limited.admin, retries: 0 })
  const made = () => Promise.all([1, 2, 3].map(() => once.keys.create(project, body())))
  await expect(made()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 1 })
})

describe('an unsuccessful response', () => {
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

  const problem = (status: number, code: string, headers: Record<string, string> = {}) => {
    const detail = `It is ${code}.`
    const text = JSON.stringify({ type: 't', title: 't', status, detail, code, requestId: 'r' })
    return (outgoing: ServerResponse) => outgoing.writeHead(status, headers).end(text)
  }
  const page = (status: number) => (outgoing: ServerResponse) =>
    outgoing.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Sorry</h1>')
  const silence = () => {}
  const halfResponse = (outgoing: ServerResponse) => outgoing.writeHead(200).write('{"k')
  const to = (options: object = {}) => createClient({ url: busy.url, ...options })

  test.each([
    ['storage_unavailable', problem(503, 'storage_unavailable', { 'retry-after': '0' }), 2],
    ['502 from a gateway', page(502), 2],
    ['504 from a gateway', page(504), 2],
    ['internal', problem(500, 'internal'), 1],
    ['403 from a proxy', page(403), 1],
  ])('%s: a read is retried if a retry may help', async (_, answer, count) => {
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
    ['504 from a gateway', page(504), 1],
  ])('%s: a create is retried only if it was not processed', async (_, answer, count) => {
    answers = [answer]
    await to()
      .keys.create('a', body())
      .catch(() => {})
    expect(requests).toEqual(Array(count).fill('POST'))
  })

  test('a Retry-After of more than 30 s is reported instead of waited for', async () => {
    answers = [problem(503, 'overloaded', { 'retry-after': '31' })]
    const error = { code: 'overloaded', status: 503, retryAfter: 31 }
    await expect(to().projects.get('a')).rejects.toMatchObject(error)
    expect(requests).toHaveLength(1)
  })

  test('a Retry-After may be a date', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString()
    answers = [problem(503, 'overloaded', { 'retry-after': date })]
    const error = await to()
      .projects.get('a')
      .catch((thrown) => thrown)
    expect(error.retryAfter).toBeGreaterThan(50)
  })

  test('aborting during the delay before a retry ends the call at once', async () => {
    answers = [problem(503, 'overloaded', { 'retry-after': '25' })]
    const controller = new AbortController()
    const call = to().projects.get('a', { signal: controller.signal })
    await expect.poll(() => requests.length).toBe(1)
    setTimeout(() => controller.abort(), 50)
    await expect(call).rejects.toMatchObject({ code: 'aborted' })
    expect(requests).toHaveLength(1)
  })

  test.each([
    ['that never arrives', silence],
    ['that stops halfway', halfResponse],
  ])('a response %s fails with `timeout`', async (_, answer) => {
    answers = [answer, answer]
    const call = to({ timeout: 200, retries: 1 }).projects.get('a')
    await expect(call).rejects.toMatchObject({ code: 'timeout' })
    expect(requests).toHaveLength(2)
  })

  test('a call is not retried without time for an answer', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => random.mockRestore())
    answers = [silence, silence]
    const call = to({ timeout: 190, totalTimeout: 200 }).projects.get('a')
    await expect(call).rejects.toMatchObject({ code: 'timeout' })
    expect(requests).toHaveLength(1)
  })

  test('aborting during or before the request fails with `aborted`', async () => {
    answers = [silence]
    const controller = new AbortController()
    const call = to().projects.get('a', { signal: controller.signal })
    await expect.poll(() => requests.length).toBe(1)
    controller.abort()
    await expect(call).rejects.toMatchObject({ code: 'aborted' })
    const late = to().projects.get('a', { signal: controller.signal })
    await expect(late).rejects.toMatchObject({ code: 'aborted' })
    expect(requests).toHaveLength(1)
  })

  test('JSON of another shape is an unexpected response', async () => {
    const json = (text: string) => (outgoing: ServerResponse) => {
      outgoing.setHeader('content-type', 'application/json').end(text)
    }
    const object = json('{"a":1}')
    const array = json('[]')
    answers = [object, object, object, array]
    const error = { code: 'unexpected_response', status: 200 }
    await expect(to().keys.list('a')).rejects.toMatchObject(error)
    await expect(to().apiKeys.list()).rejects.toMatchObject(error)
    await expect(to().projects.list()).rejects.toMatchObject(error)
    await expect(to().projects.get('a')).rejects.toMatchObject(error)
  })

  test('a web page is an unexpected response with any status', async () => {
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

test('a closed port is `unreachable`, and the error has the code of the system', async () => {
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
