import { expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { testClock } from '../../../support/app/clock.ts'
import { fetchJwks, jwksUrl } from '../../../support/app/keys.ts'
import { rawConnection, requestHead } from '../../../support/network/raw-connection.ts'

/** More than the buffers of two sockets hold. */
const size = 30_000_000

const clock = testClock()
const server = await startApp({ clock })
const handler = async () => Buffer.alloc(size, 'a')
server.app.route({ method: 'GET', url: '/large', schema: { hide: true }, handler })
const base = await server.listen()
expect(server.app.server.timeout).toBe(30_000)
server.app.server.timeout = 500

const openConnections = () =>
  new Promise<number>((resolve, reject) => {
    server.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
const request = (url: string, ...headers: string[]) =>
  requestHead(`GET ${url} HTTP/1.1`, 'Host: x', ...headers)

test('clients that read nothing are disconnected, but not those that await a response', async () => {
  let opened = 0
  server.app.server.on('connection', () => {
    opened += 1
  })
  const etag = String((await fetchJwks(server)).headers.etag)
  const held = rawConnection(base)
  held.socket.write(request(jwksUrl, `If-None-Match: ${etag}`, 'Prefer: wait=60'))
  const idle = rawConnection(base)
  idle.socket.write(request('/health/live'))
  await idle.waitFor(/"status":"ok"/)
  const stalled = ['/large', '/openapi.json'].map((url) => {
    const connection = rawConnection(base)
    connection.socket.pause()
    // The second is no sign of reading.
    connection.socket.write(request(url).repeat(32))
    connection.socket.write(request('/openapi.json'))
    return connection
  })
  await expect.poll(async () => [opened, await openConnections()]).toEqual([4, 2])
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
