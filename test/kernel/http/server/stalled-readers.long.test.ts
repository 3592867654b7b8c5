import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { rawConnection, requestHead } from '../../../support/network/raw-connection.ts'

/** More than the buffers of two sockets hold. */
const size = 30_000_000

test('a client that reads slowly gets the whole response', async () => {
  const server = await startApp()
  const handler = async () => Buffer.alloc(size, 'a')
  server.app.route({ method: 'GET', url: '/large', schema: { hide: true }, handler })
  const { socket, received, closed } = rawConnection(await server.listen())
  socket.write(requestHead('GET /large HTTP/1.1', 'Host: x', 'Connection: close'))
  for (let pause = 0; pause < 3; pause += 1) {
    socket.pause()
    await delay(20_000)
    const before = received().length
    socket.resume()
    while (received().length < before + 3_000_000) await delay(1)
  }
  expect((await closed).length).toBeGreaterThan(size)
  await server.close()
})
