import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { type TestClock, testClock } from '../../support/app/clock.ts'
import { fetchJwks, jwksUrl } from '../../support/app/keys.ts'
import { rawConnection, requestHead } from '../../support/network/raw-connection.ts'

/** More than the buffers of two sockets hold. */
const size = 30_000_000

let server: TestApp
let clock: TestClock
let base: string
beforeAll(async () => {
  clock = testClock()
  server = await startApp({ clock })
  const handler = async () => Buffer.alloc(size, 'a')
  server.app.route({ method: 'GET', url: '/large', schema: { hide: true }, handler })
  base = await server.listen()
})
afterAll(() => server.close())

const openConnections = () =>
  new Promise<number>((resolve, reject) => {
    server.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
const request = (url: string, ...headers: string[]) =>
  requestHead(`GET ${url} HTTP/1.1`, 'Host: x', ...headers)

test('clients that read nothing are disconnected after 20 seconds, but not those that await a response', async () => {
  const etag = String((await fetchJwks(server)).headers.etag)
  const held = rawConnection(base)
  held.socket.write(request(jwksUrl, `If-None-Match: ${etag}`, 'Prefer: wait=60'))
  const idle = rawConnection(base)
  idle.socket.write(request('/health/live'))
  await idle.waitFor(/"status":"ok"/)
  const stalled = [request('/large'), request('/openapi.json').repeat(32)].map((requests) => {
    const connection = rawConnection(base)
    connection.socket.pause()
    connection.socket.write(requests)
    return connection
  })
  await delay(1_500)
  clock.advance(15_000)
  await delay(1_200)
  expect(await openConnections()).toBe(4)
  // Further requests are no sign of reading.
  for (const { socket } of stalled) socket.write(request('/openapi.json'))
  clock.advance(5_000)
  await expect.poll(openConnections).toBe(2)
  for (const { socket, closed } of stalled) {
    socket.resume()
    expect((await closed).length).toBeLessThan(size)
  }
  expect(held.received()).toBe('')
  clock.advance(60_000)
  await held.waitFor(/^HTTP\/1\.1 304 /)
  idle.socket.write(request('/nothing'))
  await idle.waitFor(/route_not_found/)
  for (const { socket } of [held, idle]) socket.destroy()
})

test('a client that reads slowly gets the whole response', async () => {
  const { socket, received, closed } = rawConnection(base)
  socket.write(request('/large', 'Connection: close'))
  for (let pause = 0; pause < 3; pause += 1) {
    socket.pause()
    await delay(1_100)
    clock.advance(15_000)
    const before = received().length
    socket.resume()
    while (received().length < before + 3_000_000) await delay(1)
  }
  expect((await closed).length).toBeGreaterThan(size)
})
