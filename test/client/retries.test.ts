import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Client, createClient, type PubringError } from '../../packages/client/src/index.ts'
import { retryDelayMs } from '../../packages/client/src/transport/retry.ts'
import { startApp } from '../support/app/app.ts'
import { ecKey } from '../support/keys/pem.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'

type Answer = (outgoing: ServerResponse) => void

let answers: Answer[] = []
let requests: string[] = []
beforeEach(() => {
  // No delay before a retry.
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.restoreAllMocks()
  requests = []
  answers = []
})
/** Gives one answer after the other, and then 200. */
const server = await startHttpServer(({ method = '' }, outgoing) => {
  requests.push(method)
  const answer = answers.shift()
  if (answer === undefined) outgoing.writeHead(200).end('{"kid":"a"}')
  else answer(outgoing)
})
const to = (options: object = {}) => createClient({ url: server.url, ...options })
const client = to()

const problem = (status: number, code: string, headers: Record<string, string> = {}): Answer => {
  const detail = `It is ${code}.`
  const text = JSON.stringify({ type: 't', title: 't', status, detail, code, requestId: 'r' })
  return (outgoing) => outgoing.writeHead(status, headers).end(text)
}
const page =
  (status: number): Answer =>
  (outgoing) =>
    outgoing.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Sorry</h1>')
const json =
  (text: string): Answer =>
  (outgoing) =>
    outgoing.setHeader('content-type', 'application/json').end(text)
const silence: Answer = () => {}
const halfResponse: Answer = (outgoing) => void outgoing.writeHead(200).write('{"k')
const cut: Answer = (outgoing) => void outgoing.destroy()
const now = { 'retry-after': '0' }

const body = { name: 'x', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem } as const
const changed = { ifMatch: '"a"' }
const projectId = crypto.randomUUID()

/** Safe to repeat, or not. */
const safe: [string, () => Promise<unknown>][] = [
  ['a read', () => client.keys.get('a', 'b')],
  ['an import', () => client.keys.import('a', { keys: [body] })],
  ['a deactivation', () => client.keys.update('a', 'b', { active: false })],
  ['a change with If-Match', () => client.keys.update('a', 'b', { label: 'x' }, changed)],
  ['a deletion', () => client.keys.delete('a', 'b')],
  ['the deletion of a project by its id', () => client.projects.delete(projectId)],
]
const unsafe: typeof safe = [
  ['a create', () => client.keys.create('a', body)],
  ['an activation', () => client.keys.update('a', 'b', { active: true })],
  ['the deletion of a project by its name', () => client.projects.delete('a')],
]

describe.each<[string, Answer, always: boolean, never?: boolean]>([
  ['overloaded', problem(503, 'overloaded', now), true],
  ['rate_limited', problem(429, 'rate_limited', now), true],
  ['storage_unavailable', problem(503, 'storage_unavailable', now), false],
  ['502 from a gateway', page(502), false],
  ['504 from a gateway', page(504), false],
  ['the connection is cut', cut, false],
  ['internal', problem(500, 'internal'), false, true],
  ['403 from a proxy', page(403), false, true],
])('after %s', (_name, answer, always, never = false) => {
  const counted = async (run: () => Promise<unknown>) => {
    answers = [answer]
    await run().catch(() => {})
    return requests.length
  }
  test.each(never ? safe.slice(0, 1) : safe)('%s is retried if that may help', async (_, run) => {
    expect(await counted(run)).toBe(never ? 1 : 2)
  })
  test.each(unsafe)('%s is retried only if it was not processed', async (_, run) => {
    expect(await counted(run)).toBe(always ? 2 : 1)
  })
})

test('a request that may have been processed is named so', async () => {
  answers = [cut]
  await expect(client.keys.create('a', body)).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/may have been processed: check before/),
  })
})

test.each<[string, string, (client: Client) => Promise<unknown>, object | undefined]>([
  ['deleted', 'key_not_found', ({ keys }) => keys.delete('a', 'b'), undefined],
  ['deleted too', 'project_not_found', ({ projects }) => projects.delete(projectId), undefined],
  ['changed', 'precondition_failed', (to) => to.keys.delete('a', 'b', changed), {}],
  [
    'changed too',
    'precondition_failed',
    (to) => to.keys.update('a', 'b', { active: false }, changed),
    {},
  ],
])('a retry does not blame what the first attempt has %s', async (_, code, run, error) => {
  answers = [cut, problem(404, code)]
  const result = run(client)
  if (error === undefined) expect(await result).toBeUndefined()
  else await expect(result).rejects.toMatchObject({ code: 'unreachable' })
  answers = [problem(404, code)]
  await expect(run(client)).rejects.toMatchObject({ code })
})

test('after a lost response the same import reports its keys as present', async () => {
  const app = await startApp()
  const proxy = await startTcpProxy(Number(new URL(await app.listen()).port))
  const client = createClient({ url: `http://127.0.0.1:${proxy.port}`, apiKey: app.admin })
  proxy.cutAt('POST /v1', 'after')
  const report = await client.keys.import('payments', { keys: [body] }, { retries: 1 })
  expect(report.items).toMatchObject([{ outcome: 'present' }])
  proxy.cut()
  const limited = createClient({ url: client.url, apiKey: app.admin, retries: 1 })
  await expect(limited.projects.list()).rejects.toMatchObject({ code: 'unreachable' })
  proxy.restore()
})

test('a Retry-After of more than 30 s, or a date, is reported instead of waited for', async () => {
  const date = new Date(Date.now() + 60_000).toUTCString()
  for (const [text, least] of [
    ['31', 31],
    [date, 50],
  ] as const) {
    answers = [problem(503, 'overloaded', { 'retry-after': text })]
    const error: PubringError = await client.projects.get('a').catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'overloaded', status: 503 })
    expect(error.retryAfter).toBeGreaterThanOrEqual(least)
  }
  expect(requests).toHaveLength(2)
})

test('the delay before a retry is random, up to a limit that doubles to 5 s, after Retry-After', () => {
  expect(retryDelayMs(9, 25)).toBe(25_000)
  vi.mocked(Math.random).mockReturnValue(1)
  const limits = [0, 1, 2, 3, 4, 5, 6].map((retry) => retryDelayMs(retry))
  expect(limits).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000])
})

test.each<[string, Answer]>([
  ['before the request', silence],
  ['during the request', silence],
  ['during the delay before a retry', problem(503, 'overloaded', { 'retry-after': '25' })],
])('aborting %s ends the call at once', async (when, answer) => {
  answers = [answer]
  const controller = new AbortController()
  if (when.startsWith('before')) controller.abort()
  const call = client.projects.get('a', { signal: controller.signal })
  const rejection = expect(call).rejects.toMatchObject({ code: 'aborted' })
  if (!controller.signal.aborted) {
    await expect.poll(() => requests.length).toBe(1)
    setTimeout(() => controller.abort(), 50)
  }
  await rejection
  expect(requests.length).toBeLessThan(2)
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
  answers = [silence, silence]
  const call = to({ timeout: 190, totalTimeout: 200 }).projects.get('a')
  await expect(call).rejects.toMatchObject({ code: 'timeout' })
  expect(requests).toHaveLength(1)
})

test('a web page, and JSON of another shape, is an unexpected response', async () => {
  for (const [answer, status, run] of [
    [json('{"a":1}'), 200, () => client.keys.list('a')],
    [json('{"a":1}'), 200, () => client.projects.list()],
    [json('[]'), 200, () => client.projects.get('a')],
    [page(200), 200, () => client.projects.get('a')],
    [page(404), 404, () => client.projects.get('a')],
  ] as const) {
    answers = [answer]
    const message = expect.stringContaining(server.url)
    await expect(run()).rejects.toMatchObject({ code: 'unexpected_response', status, message })
  }
})

test('a closed port is `unreachable`, and the error has the code of the system', async () => {
  const closed = await startHttpServer(() => {})
  await closed.close()
  await expect(createClient({ url: closed.url, retries: 0 }).projects.list()).rejects.toMatchObject(
    {
      name: 'PubringError',
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    },
  )
})
