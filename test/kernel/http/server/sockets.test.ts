import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { keysUrl } from '../../../support/app/keys.ts'
import { rawConnection, readProblem, requestHead } from '../../../support/network/raw-connection.ts'
import { expectWithin } from '../../../support/timing.ts'

const server = await startApp()
const address = await server.listen()

const tooLarge = { status: 413, problem: { code: 'body_too_large' } }
/** A connection on which the head of a registration was sent, with this framing of its body. */
function registration(framing: string) {
  const connection = rawConnection(address)
  const lines = ['Host: x', `X-Api-Key: ${server.admin}`, 'Content-Type: application/json']
  connection.socket.write(requestHead(`POST ${keysUrl} HTTP/1.1`, ...lines, framing))
  return connection
}

describe('a body', () => {
  const post = (bytes: number, fill: string) =>
    fetch(address + keysUrl, {
      method: 'POST',
      headers: { 'x-api-key': server.admin, 'content-type': 'application/json' },
      body: Buffer.alloc(bytes, fill),
    })

  test.each([65_537, 50_000_000])('of %i bytes is 413 at once', async (length) => {
    const begun = performance.now()
    const answer = await post(length, 'a')
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({ code: 'body_too_large', limit: 65_536 })
    // A body that arrived whole before its rejection does not close the connection.
    if (length > 1_000_000) expect(answer.headers.get('connection')).toBe('close')
    expectWithin(2000, performance.now() - begun)
  })

  test('of 64 KiB is accepted', async () => {
    expect(await (await post(65_536, ' ')).json()).toMatchObject({ code: 'invalid_json' })
  })

  test('that is too large is 413 for a client that reads only after sending everything', async () => {
    const length = 20_000_000
    const { socket, closed } = registration(`Content-Length: ${length}`)
    socket.pause()
    for (let sent = 0; sent < length; sent += 1_000_000) {
      socket.write(Buffer.alloc(1_000_000, 'a'))
      await delay(10)
    }
    socket.write('', () => socket.resume())
    expect(readProblem(await closed)).toMatchObject(tooLarge)
  })

  test('of endless chunks is 413, and memory stays flat', async () => {
    const before = process.memoryUsage().rss
    const { socket, closed } = registration('Transfer-Encoding: chunked')
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`
    const feed = setInterval(() => socket.write(chunk), 1)
    const text = await closed
    clearInterval(feed)
    expect(readProblem(text)).toMatchObject(tooLarge)
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  test('that ends early does not harm the server', async () => {
    const { socket, closed } = registration('Content-Length: 100')
    socket.write('{')
    await delay(50)
    socket.destroy()
    await closed
    expect((await fetch(`${address}/health/live`)).status).toBe(200)
  })
})

test('a connection stays open after errors if the body was read, for longer than those of load balancers', async () => {
  const { socket, waitFor } = registration('Content-Length: 1')
  socket.write('{')
  await waitFor(/invalid_json.*\}$/s)
  socket.write(requestHead('GET /health/live HTTP/1.1', 'Host: x'))
  expect(await waitFor(/"status":"ok"/)).toMatch(/^keep-alive: timeout=72\r$/im)
  expect(server.app.server.keepAliveTimeout).toBe(72_000)
  socket.destroy()
})
