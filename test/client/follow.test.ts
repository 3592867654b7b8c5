import { describe, expect, test } from 'vitest'
import { type Client, createClient, type Event } from '../../packages/client/src/index.ts'
import { startApp } from '../support/app/app.ts'
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

type Options = Parameters<Client['events']['follow']>[0]
const follow = (from: Client, options: Options) =>
  from.events.follow(options)[Symbol.asyncIterator]()
const revisions = (events: Event[]) => events.map(({ revision }) => revision)

test('the events after `after` come first, then each new one as it happens', async () => {
  const { id } = await direct.projects.create({ name: 'first' })
  await direct.projects.rename(id, 'first-2')
  const events = follow(client, { project: 'first-2', after: 1 })
  expect(await take(events, 1)).toMatchObject([{ revision: 2, type: 'project.renamed' }])
  const next = take(events, 2)
  await direct.projects.rename(id, 'first-3')
  await direct.projects.rename(id, 'first-4')
  expect(await next).toEqual(await direct.events.list({ project: id, after: 2 }))
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
    const changed = async (after: string | number) => {
      const events = follow(client, { project: id, after })
      await expect(events.next()).rejects.toMatchObject({ code: 'history_changed' })
    }
    await changed('1.00000000')
    await changed(7)
    // Also if it ends with a deletion.
    await direct.projects.delete(id)
    await changed('2.00000000')
  })

  test('after the project is deleted, and at once if it was deleted before', async () => {
    const { id } = await direct.projects.create({ name: 'short' })
    const events = follow(client, { project: id })
    await take(events, 1)
    const rest = take(events, 5)
    await direct.projects.delete(id)
    expect(await rest).toMatchObject([{ revision: 2, type: 'project.deleted' }])
    expect(await Array.fromAsync(client.events.follow({ project: id, after: 2 }))).toEqual([])
  })

  test('if the response is an error, or not an event stream', async () => {
    const nobody = follow(client, { project: 'nobody' })
    await expect(nobody.next()).rejects.toMatchObject({ code: 'project_not_found' })
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
    const rejection = expect(events.next()).rejects.toMatchObject({ code: 'invalid_api_key' })
    await direct.apiKeys.delete(made.id)
    await rejection
  })

  test('when its signal is aborted, during or before the connection', async () => {
    const leaving = new AbortController()
    const options = { project: 'payments', signal: leaving.signal }
    const events = follow(client, options)
    await take(events, 1)
    const next = events.next()
    leaving.abort()
    await expect(next).rejects.toMatchObject({ code: 'aborted' })
    await expect(follow(client, options).next()).rejects.toMatchObject({ code: 'aborted' })
  })

  test('when the caller leaves the loop, and closes the connection', async () => {
    const open = () =>
      new Promise((resolve) => {
        server.app.server.getConnections((_error, count) => resolve(count))
      })
    const before = await open()
    for await (const { revision } of client.events.follow({ project: 'payments' })) {
      expect(revision).toBe(1)
      break
    }
    await expect.poll(open).toBe(before)
  })

  test('when all retries of the first connection have failed', async () => {
    proxy.cut()
    const limited = createClient({ url: client.url, apiKey: server.admin, retries: 1 })
    const events = follow(limited, { project: 'payments' })
    await expect(events.next()).rejects.toMatchObject({ code: 'unreachable' })
    proxy.restore()
  })
})
