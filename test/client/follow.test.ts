import { describe, expect, test } from 'vitest'
import { type Client, createClient, type Event } from '../../packages/client/src/index.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { rememberSecret } from '../support/secrets.ts'

const server = await startApp()
const url = await server.listen()
const proxy = await startTcpProxy(Number(new URL(url).port))
const direct = createClient({ url, apiKey: server.admin })
const client = createClient({ url: `http://127.0.0.1:${proxy.port}`, apiKey: server.admin })

/** Reads the next `count` events. */
async function take(events: AsyncIterator<Event>, count: number): Promise<Event[]> {
  const taken: Event[] = []
  while (taken.length < count) {
    const { done, value } = await events.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

const follow = (from: Client, options: { project?: string; after?: number | string }) =>
  from.events.follow(options)[Symbol.asyncIterator]()
const revisions = (events: Event[]) => events.map(({ revision }) => revision)

test('existing events come first, then each new one as it happens', async () => {
  const { id } = await direct.projects.create({ name: 'first' })
  const events = follow(client, { project: 'first' })
  expect(await take(events, 1)).toMatchObject([{ revision: 1, type: 'project.created' }])
  const next = take(events, 2)
  await direct.projects.rename(id, 'first-2')
  await direct.projects.rename(id, 'first-3')
  const renamed = await next
  expect(renamed).toEqual(await direct.events.list({ project: id, after: 1 }))
  await events.return?.()
})

test('events up to `after` are not repeated', async () => {
  const { id } = await direct.projects.create({ name: 'after' })
  await direct.projects.rename(id, 'after-2')
  const events = follow(client, { project: id, after: 1 })
  expect(revisions(await take(events, 1))).toEqual([2])
  await events.return?.()
})

test('no event is lost or repeated when the connection is cut', async () => {
  const { id } = await direct.projects.create({ name: 'cut' })
  const events = follow(client, { project: id })
  expect(revisions(await take(events, 1))).toEqual([1])
  for (let round = 0; round < 3; round += 1) {
    proxy.cut()
    await direct.projects.rename(id, `cut-${round}-a`)
    const rest = take(events, 2)
    proxy.restore()
    await direct.projects.rename(id, `cut-${round}-b`)
    expect(revisions(await rest)).toEqual([2 + 2 * round, 3 + 2 * round])
  }
  await events.return?.()
})

test('without a project the system ledger is followed', async () => {
  const last = (await direct.events.list({ limit: 200 })).at(-1)?.revision ?? 0
  const events = follow(client, { after: last })
  const next = take(events, 1)
  await direct.projects.create({ name: 'system' })
  expect(await next).toMatchObject([{ revision: last + 1, type: 'project.created' }])
  await events.return?.()
})

describe('following ends', () => {
  test('when the ledger has another history than the reader', async () => {
    const { id } = await direct.projects.create({ name: 'restored' })
    for (const after of ['1.00000000', 7]) {
      const events = follow(client, { project: id, after })
      await expect(events.next()).rejects.toMatchObject({ code: 'history_changed' })
      const page = direct.events.list({ project: id, after })
      await expect(page).rejects.toMatchObject({ code: 'history_changed', status: 409 })
    }
  })

  test('when a deletion of another history is the newest event', async () => {
    const { id } = await direct.projects.create({ name: 'lost' })
    await direct.projects.delete(id)
    const events = follow(client, { project: id, after: '2.00000000' })
    await expect(events.next()).rejects.toMatchObject({ code: 'history_changed' })
  })

  test('after the project is deleted, and at once if it was deleted before', async () => {
    const { id } = await direct.projects.create({ name: 'short' })
    const events = follow(client, { project: id })
    await take(events, 1)
    const rest = take(events, 5)
    await direct.projects.delete(id)
    expect(await rest).toMatchObject([{ revision: 2, type: 'project.deleted' }])
    expect(await Array.fromAsync(client.events.follow({ project: id, after: 1 }))).toHaveLength(1)
    expect(await Array.fromAsync(client.events.follow({ project: id, after: 2 }))).toEqual([])
  })

  test('with the error of the service if the project does not exist', async () => {
    const events = follow(client, { project: 'nobody' })
    await expect(events.next()).rejects.toMatchObject({ code: 'project_not_found' })
  })

  test('if the response is not an event stream', async () => {
    const page = await startHttpServer((_, outgoing) => outgoing.end('<h1>Sign in</h1>'))
    const events = follow(createClient({ url: page.url }), {})
    const error = { code: 'unexpected_response', status: 200 }
    await expect(events.next()).rejects.toMatchObject(error)
  })

  test('when its API key is revoked', async () => {
    const { id } = await direct.projects.create({ name: 'revoked' })
    const made = await direct.apiKeys.create({ name: 'reader', role: 'reader', project: id })
    rememberSecret('an API key', made.apiKey)
    const events = follow(createClient({ url: client.url, apiKey: made.apiKey }), { project: id })
    await take(events, 1)
    const next = events.next()
    const rejection = expect(next).rejects.toMatchObject({ code: 'invalid_api_key' })
    await direct.apiKeys.delete(made.id)
    await rejection
  })

  test('when its signal is aborted, during or before the connection', async () => {
    const leaving = new AbortController()
    const options = { project: 'payments', signal: leaving.signal }
    const events = client.events.follow(options)[Symbol.asyncIterator]()
    await take(events, 1)
    const next = events.next()
    leaving.abort()
    await expect(next).rejects.toMatchObject({ code: 'aborted' })
    const late = client.events.follow(options)[Symbol.asyncIterator]()
    await expect(late.next()).rejects.toMatchObject({ code: 'aborted' })
  })

  test('when the caller leaves the loop, and closes the connection', async () => {
    const left = () => openConnections(server)
    const before = await left()
    for await (const { revision } of client.events.follow({ project: 'payments' })) {
      expect(revision).toBe(1)
      break
    }
    await expect.poll(left).toBe(before)
  })

  test('when all retries of the first connection have failed', async () => {
    proxy.cut()
    const limited = createClient({ url: client.url, apiKey: server.admin, retries: 1 })
    const events = follow(limited, { project: 'payments' })
    await expect(events.next()).rejects.toMatchObject({ code: 'unreachable' })
    proxy.restore()
  })
})

/** Open connections to the server. */
function openConnections({ app }: TestApp): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}
