import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import {
  rawConnection,
  rawExchange,
  readProblem,
  requestHead,
} from '../../../support/network/raw-connection.ts'
import { expectWithin } from '../../../support/timing.ts'

const keys = '/v1/projects/payments/jwt-keys'

const server = await startApp()
const address = await server.listen()

describe('invalid requests', () => {
  test.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'invalid_request'],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
    [
      'a header line without a name',
      requestHead('GET / HTTP/1.1', 'Host: x', ': y'),
      400,
      'invalid_request',
    ],
    [
      '100 KB of address',
      requestHead(`GET /${'a'.repeat(100_000)} HTTP/1.1`, 'Host: x'),
      431,
      'headers_too_large',
    ],
  ])(
    '%s gets the one form of error, and the connection ends',
    async (_name, request, status, code) => {
      const answer = readProblem(await rawExchange(address, request))
      expect(answer).toMatchObject({ status, problem: { status, code } })
      expect(answer.head).toContain(`x-request-id: ${answer.problem.requestId}`)
      expect(answer.head).toContain('content-type: application/problem+json')
      expect(answer.head).toContain('connection: close')
    },
  )

  test('32 KB of headers are accepted, and the API key is checked', async () => {
    const padding = `X-Padding: ${'a'.repeat(32_000)}`
    const request = requestHead(
      'GET /v1/projects HTTP/1.1',
      'Host: x',
      padding,
      'Connection: close',
    )
    expect(readProblem(await rawExchange(address, request)).problem.code).toBe('missing_api_key')
  })

  test('an unknown Expect is ignored', async () => {
    const request = requestHead(
      'GET /health/live HTTP/1.1',
      'Host: x',
      'Expect: miracles',
      'Connection: close',
    )
    expect(await rawExchange(address, request)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('an incomplete request is 408', async () => {
    const slow = await startApp()
    slow.app.server.headersTimeout = 200
    const connection = rawConnection(await slow.listen())
    connection.socket.write('GET / HTTP/1.1\r\nHost: x\r\n')
    const answer = readProblem(await connection.closed)
    expect(answer).toMatchObject({ status: 408, problem: { code: 'request_timeout' } })
  })
})

describe('large bodies', () => {
  const post = (body: ConstructorParameters<typeof Response>[0]) =>
    fetch(address + keys, {
      method: 'POST',
      headers: { 'x-api-key': server.admin, 'content-type': 'application/json' },
      body,
      duplex: 'half',
    } as RequestInit)

  test.each([65_537, 2_000_000, 50_000_000])('%i bytes are 413 at once', async (length) => {
    const begun = performance.now()
    const answer = await post(Buffer.alloc(length, 'a'))
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({ code: 'body_too_large', limit: 65_536 })
    // A body that arrived whole before its rejection does not close the connection.
    if (length > 1_000_000) expect(answer.headers.get('connection')).toBe('close')
    expectWithin(2000, performance.now() - begun)
  })

  test('a client that reads only after sending everything gets the 413 too', async () => {
    const connection = rawConnection(address)
    const { socket } = connection
    socket.pause()
    const length = 20_000_000
    const head = [`POST ${keys} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`]
    const type = 'Content-Type: application/json'
    socket.write(requestHead(...head, type, `Content-Length: ${length}`))
    for (let sent = 0; sent < length; sent += 1_000_000) {
      socket.write(Buffer.alloc(1_000_000, 'a'))
      await delay(10)
    }
    socket.write('', () => socket.resume())
    const text = await connection.closed
    expect(readProblem(text)).toMatchObject({ status: 413, problem: { code: 'body_too_large' } })
  })

  test('endless chunks are 413, and memory stays flat', async () => {
    const before = process.memoryUsage().rss
    const connection = rawConnection(address)
    connection.socket.write(
      requestHead(
        `POST ${keys} HTTP/1.1`,
        'Host: x',
        `X-Api-Key: ${server.admin}`,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
      ),
    )
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`
    const feed = setInterval(() => connection.socket.write(chunk), 1)
    const text = await connection.closed
    clearInterval(feed)
    expect(readProblem(text)).toMatchObject({ status: 413, problem: { code: 'body_too_large' } })
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  test('64 KiB are accepted', async () => {
    const answer = await post(Buffer.alloc(65_536, ' '))
    expect(await answer.json()).toMatchObject({ code: 'invalid_json' })
  })

  test('a body that ends early does not harm the server', async () => {
    const connection = rawConnection(address)
    connection.socket.write(
      `${requestHead(`POST ${keys} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`, 'Content-Type: application/json', 'Content-Length: 100')}{`,
    )
    await delay(50)
    connection.socket.destroy()
    await connection.closed
    expect((await fetch(`${address}/health/live`)).status).toBe(200)
  })
})

describe('connections', () => {
  const alive = requestHead('GET /health/live HTTP/1.1', 'Host: x')

  test('stay open after errors if the body was read', async () => {
    const connection = rawConnection(address)
    const head = [`POST ${keys} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`]
    connection.socket.write(
      `${requestHead(...head, 'Content-Type: application/json', 'Content-Length: 1')}{`,
    )
    await connection.waitFor(/invalid_json.*\}$/s)
    connection.socket.write(alive)
    await connection.waitFor(/"status":"ok"/)
    connection.socket.destroy()
  })

  test('stay open for 72 seconds, longer than those of load balancers', async () => {
    const answer = await fetch(`${address}/health/live`)
    expect(answer.headers.get('keep-alive')).toBe('timeout=72')
    expect(server.app.server.keepAliveTimeout).toBe(72_000)
  })

  test('answer two requests in one packet in order', async () => {
    const connection = rawConnection(address)
    connection.socket.write(alive + alive.replace('live', 'nope'))
    const text = await connection.waitFor(/route_not_found/)
    expect(text.indexOf('"status":"ok"')).toBeLessThan(text.indexOf('route_not_found'))
    connection.socket.destroy()
  })

  test('reject TRACE with 405 and echo nothing', async () => {
    const request = requestHead(
      `TRACE ${keys} HTTP/1.1`,
      'Host: x',
      'X-Secret: echo',
      'Connection: close',
    )
    const text = await rawExchange(address, request)
    expect(text).toMatch(/^HTTP\/1\.1 405 /)
    expect(text).not.toContain('echo')
  })
})
