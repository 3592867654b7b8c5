import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { examineKey } from '../../../../packages/intake/src/examine.ts'
import { startApp, type TestApp } from '../../../support/app/app.ts'
import { fetchJwks, jwksUrl, keysUrl, registerKey } from '../../../support/app/keys.ts'
import { emptyBlocklist } from '../../../support/keys/intake.ts'
import { ecKey } from '../../../support/keys/pem.ts'
import { openEventStream } from '../../../support/network/event-stream.ts'
import {
  type RawConnection,
  rawConnection,
  requestHead,
} from '../../../support/network/raw-connection.ts'
import { openTestStore } from '../../../support/store/store.ts'

const places = { capacity: 3, share: 100 }

let server: TestApp
let base: string
let etag: string
/** Resolves to finish the intake of the submitted keys. */
let examined: PromiseWithResolvers<void>
const connections: RawConnection[] = []

const stored = await openTestStore()

beforeEach(async () => {
  examined = Promise.withResolvers()
  server = await startApp({
    stored,
    config: { heldRequests: places, eventStreams: places },
    examine: async (text, algorithm) => {
      await examined.promise
      return examineKey(text, algorithm, emptyBlocklist)
    },
  })
  base = await server.listen()
  etag = String((await fetchJwks(server)).headers.etag)
})
afterEach(async () => {
  for (const { socket } of connections.splice(0)) socket.destroy()
  examined.resolve()
})

/** Sends all requests in one write on a new connection. */
async function sent(...requests: string[]): Promise<RawConnection> {
  const connection = rawConnection(base)
  connections.push(connection)
  connection.socket.write(requests.join(''))
  await delay(50)
  return connection
}

const hold = () =>
  requestHead(`GET ${jwksUrl} HTTP/1.1`, 'Host: x', `If-None-Match: ${etag}`, 'Prefer: wait=60')
const stream = () =>
  requestHead(
    'GET /v1/projects/payments/events HTTP/1.1',
    'Host: x',
    'Accept: text/event-stream',
    `X-Api-Key: ${server.admin}`,
  )

function create(): string {
  const { publicKeyPem } = ecKey()
  const body = JSON.stringify({ name: 'n', algorithm: 'ES256', publicKeyPem })
  const head = [`POST ${keysUrl} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`]
  const form = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  return requestHead(...head, ...form) + body
}

/** Whether another request is still held. */
async function isHeld(): Promise<boolean> {
  const headers = { 'if-none-match': etag, prefer: 'wait=1' }
  const answer = await fetch(base + jwksUrl, { headers })
  return answer.headers.has('preference-applied')
}

async function streamStatus(): Promise<number> {
  const headers = { 'x-api-key': server.admin }
  const reader = await openEventStream(`${base}/v1/projects/payments/events`, headers)
  reader.close()
  await reader.endedCleanly
  return reader.status
}

describe('requests to be held on one connection', () => {
  test('hold at most one request', async () => {
    const { received } = await sent(hold().repeat(32))
    expect(received()).toBe('')
    expect(await isHeld()).toBe(true)
  })

  test('are answered in order; those behind the held one with the state of their arrival', async () => {
    const { waitFor } = await sent(hold(), hold())
    examined.resolve()
    await registerKey(server)
    const text = await waitFor(/HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 304 /)
    expect(text.match(/^preference-applied:/gim)).toHaveLength(1)
  })

  test('are all held if they come one after another', async () => {
    const { socket, waitFor } = await sent(hold().replace('=60', '=1'))
    await waitFor(/preference-applied: wait=1/i)
    socket.write(hold())
    await delay(100)
    socket.write(hold())
    examined.resolve()
    await registerKey(server)
    await waitFor(/preference-applied: wait=60/i)
  })

  test('are released when the client disconnects before their turn', async () => {
    const queued = await Promise.all(
      Array.from({ length: places.capacity }, () => sent(create(), hold())),
    )
    expect(await isHeld()).toBe(false)
    for (const { socket } of queued) socket.destroy()
    await expect.poll(isHeld).toBe(true)
  })
})

test('event streams open one a connection, and are released when the client disconnects', async () => {
  const { socket, waitFor } = await sent(stream().repeat(32))
  await waitFor(/retry: 2000/)
  expect(await streamStatus()).toBe(200)
  socket.destroy()
  const queued = await Promise.all(
    Array.from({ length: places.capacity }, () => sent(create(), stream())),
  )
  expect(await streamStatus()).toBe(503)
  for (const { socket } of queued) socket.destroy()
  await expect.poll(streamStatus).toBe(200)
})

test('no request waits for a client that has disconnected', async () => {
  const accepted = once(server.app.server, 'connection')
  const { socket } = await sent('')
  const [gone] = await accepted
  socket.destroy()
  await once(gone, 'close')
  let left = 0
  expect(server.app.connections.startWait(gone, () => (left += 1))).toBeUndefined()
  expect(left).toBe(0)
})

describe('invalid bytes after a request', () => {
  test.each([
    ['garbage', 'GARBAGE\r\n\r\n'],
    [
      'a second Content-Length',
      requestHead('GET / HTTP/1.1', 'Content-Length: 1', 'Content-Length: 2'),
    ],
    ['too many headers', requestHead('GET / HTTP/1.1', `X: ${'a'.repeat(100_000)}`)],
  ])('%s do not prevent its response, which closes the connection', async (_name, rest) => {
    const { closed } = await sent(create(), rest, rest)
    examined.resolve()
    const text = await closed
    expect(text).toMatch(/^HTTP\/1\.1 201 /)
    expect(text.toLowerCase()).toContain('connection: close')
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toHaveProperty('kid')
  })

  test('do not affect the requests before, which are answered in order', async () => {
    const alive = requestHead('GET /health/live HTTP/1.1', 'Host: x')
    const { closed } = await sent(alive, create(), alive, 'GARBAGE\r\n\r\n')
    examined.resolve()
    const statuses = [...(await closed).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).toEqual(['200', '201', '200'])
  })

  test('are 400 once those are answered', async () => {
    const { socket, waitFor, closed } = await sent(
      requestHead('GET /health/live HTTP/1.1', 'Host: x'),
    )
    await waitFor(/"ok"/)
    socket.write('GARBAGE\r\n\r\n')
    expect(await closed).toMatch(/HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 400 /)
  })

  test('within a body make that request 400', async () => {
    const head = [`POST ${keysUrl} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`]
    const form = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const { closed } = await sent(requestHead(...head, ...form), 'zz\r\n')
    expect(await closed).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('release what waits when the client disconnects', async () => {
    const broken = await Promise.all(
      Array.from({ length: places.capacity }, () => sent(hold(), 'GARBAGE\r\n\r\n')),
    )
    expect(await isHeld()).toBe(false)
    for (const { socket } of broken) socket.destroy()
    await expect.poll(isHeld).toBe(true)
  })
})

test('requests sent ahead of a response that waits are read for two buffers of 64 KiB', async () => {
  let read = 0
  server.app.server.on('request', () => {
    read += 1
  })
  await sent(hold().repeat(50_000))
  await expect.poll(() => read).toBeGreaterThan(1)
  expect(await isHeld()).toBe(true)
  expect(read).toBeLessThan((2 * 65_536) / hold().length + 2)
})

test('a body of a thousand chunks of one byte closes its connection', async () => {
  const head = [`POST /v1/key-checks HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`]
  const form = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  const chunk = '1\r\n \r\n'
  const { socket, received, closed } = await sent(
    requestHead(...head, ...form),
    chunk.repeat(1_000),
  )
  expect(socket.destroyed).toBe(false)
  socket.write(chunk)
  await closed
  expect(received()).toBe('')
})
