import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { jwksUrl, keysUrl } from '../../../support/app/keys.ts'
import { ecKey } from '../../../support/keys/pem.ts'
import {
  rawConnection,
  rawExchange,
  readProblem,
  requestHead,
} from '../../../support/network/raw-connection.ts'

const server = await startApp()
const address = await server.listen()

const alive = (...headers: string[]) => requestHead('GET /health/live HTTP/1.1', ...headers)
const next = alive('Host: x', 'Connection: close')

const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** Sends the text; expects one problem, after which the connection is closed. */
async function expectRejected(request: string, status: number, code: string) {
  const text = await rawExchange(address, request + next)
  expect(statuses(text), text).toEqual([status])
  const { head, problem } = readProblem(text)
  expect(problem).toMatchObject({ status, code })
  expect(head).toContain('content-type: application/problem+json')
  expect(head).toContain('connection: close')
  expect(head).toContain(`x-request-id: ${problem.requestId}`)
}

describe('a Host header', () => {
  test.each([
    ['twice', ['Host: x', 'Host: y']],
    ['twice, equal', ['Host: x', 'Host: x']],
    ['missing', []],
    ...[
      'a b/c',
      'x y',
      'a/b',
      'user@x',
      'x:abc',
      'x:999999',
      '[::1',
      '::1',
      'a"b',
      'x?y',
      'x#y',
      'a%4',
      'http://x',
      'a\x80',
      'a\\b',
      '<x>',
    ].map((host): [string, string[]] => [host, [`Host: ${host}`]]),
  ])('that is invalid is 400: %s', async (_name, lines) => {
    await expectRejected(alive(...lines), 400, 'invalid_request')
  })

  test('that is invalid is 400 in HTTP/1.0 too', async () => {
    const lines = ['Host: x', 'Host: y']
    await expectRejected(requestHead('GET /health/live HTTP/1.0', ...lines), 400, 'invalid_request')
  })

  test.each([
    'keys.example.com',
    'KEYS.example.com:8080',
    'x:',
    '',
    '127.0.0.1:80',
    '[::1]:8080',
    '[fe80::1%25eth0]',
    'my_service',
    'xn--bcher-kva.example',
    'a%20b',
    'x.',
  ])('that is valid is accepted: %s', async (host) => {
    const text = await rawExchange(address, alive(`Host: ${host}`, 'Connection: close'))
    expect(statuses(text)).toEqual([200])
  })

  test('that is invalid gets no cached response', async () => {
    for (let count = 0; count < 3; count += 1) {
      expect((await fetch(address + jwksUrl)).status).toBe(200)
    }
    const lines = ['Host: x', 'Host: y']
    await expectRejected(requestHead(`GET ${jwksUrl} HTTP/1.1`, ...lines), 400, 'invalid_request')
  })
})

test.each(['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/3.0'])('%s is 400', async (version) => {
  await expectRejected(
    requestHead(`GET /health/live ${version}`, 'Host: x'),
    400,
    'invalid_request',
  )
})

describe('Transfer-Encoding', () => {
  const post = (...headers: string[]) =>
    requestHead(`POST ${keysUrl} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`, ...headers)

  test.each([
    ['Transfer-Encoding: gzip, chunked'],
    ['Transfer-Encoding: gzip,Chunked'],
    ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
  ])('other than chunked is 501, and the body is not read: %s', async (...headers) => {
    await expectRejected(
      `${post(...headers)}2\r\n{}\r\n0\r\n\r\n`,
      501,
      'unsupported_transfer_encoding',
    )
  })

  test('other than chunked is 501 for a GET of nothing, too', async () => {
    const head = requestHead('GET / HTTP/1.1', 'Host: x', 'Transfer-Encoding: gzip, chunked')
    await expectRejected(`${head}0\r\n\r\n`, 501, 'unsupported_transfer_encoding')
  })

  test('of HTTP/1.0, which has none, is 400, and nothing after it is read', async () => {
    const head = post('Transfer-Encoding: chunked', 'Connection: keep-alive')
    await expectRejected(`${head.replace('1.1', '1.0')}0\r\n\r\n`, 400, 'invalid_request')
  })

  test('chunked is accepted in any case, and TE may name other codings', async () => {
    const headers = ['Transfer-Encoding: Chunked', 'TE: gzip, trailers', 'Connection: TE, close']
    const text = await rawExchange(
      address,
      `${post(...headers, 'Content-Type: application/json')}2\r\n{}\r\n0\r\n\r\n`,
    )
    expect(readProblem(text)).toMatchObject({ status: 400, problem: { code: 'invalid_request' } })
  })
})

describe('a request to upgrade', () => {
  test.each([
    ['Upgrade: websocket', 'Connection: Upgrade'],
    ['Upgrade: h2c', 'Connection: keep-alive, upgrade, HTTP2-Settings'],
  ])('is answered, and the connection closed: %s, %s', async (...headers) => {
    const text = await rawExchange(address, alive('Host: x', ...headers) + next)
    expect(statuses(text)).toEqual([200])
    expect(text.toLowerCase()).toContain('connection: close')
  })

  test('is closed after a cached response too', async () => {
    for (let count = 0; count < 3; count += 1) await fetch(address + jwksUrl)
    const lines = ['Host: x', 'Upgrade: websocket', 'Connection: Upgrade']
    const request = requestHead(`GET ${jwksUrl} HTTP/1.1`, ...lines)
    expect(statuses(await rawExchange(address, request + next))).toEqual([200])
  })

  test('without the connection option is an ordinary one', async () => {
    const text = await rawExchange(address, alive('Host: x', 'Upgrade: websocket') + next)
    expect(statuses(text)).toEqual([200, 200])
  })
})

describe('Expect: 100-continue', () => {
  const json = 'Content-Type: application/json'
  const post = (path: string, ...headers: string[]) =>
    requestHead(`POST ${path} HTTP/1.1`, 'Host: x', 'Expect: 100-continue', ...headers)
  const key = () => `X-Api-Key: ${server.admin}`

  test.each<[number, number, () => string]>([
    [400, 10, () => post('/%', json)],
    [401, 10, () => post(keysUrl, json)],
    [404, 10, () => post('/v1/nothing', json)],
    [404, 10, () => post('/v1/projects/none/jwt-keys', key(), json)],
    [405, 10, () => post(`${keysUrl}/x`, key(), json)],
    [413, 70_000, () => post(keysUrl, key(), json)],
    [415, 10, () => post(keysUrl, key(), 'Content-Type: text/plain')],
  ])('is not granted before a %i, which closes the connection', async (status, length, head) => {
    const { socket, waitFor, closed } = rawConnection(address)
    socket.write(head().replace(/\r\n$/, `Content-Length: ${length}\r\n\r\n`))
    const text = await waitFor(/requestId.*\}$/s)
    expect(statuses(text)).toEqual([status])
    expect(text.toLowerCase()).toContain('connection: close')
    // A client may have sent the body without waiting.
    socket.end('0'.repeat(length))
    expect(statuses(await closed)).toEqual([status])
  })

  test('leaves a connection that the client wants to close closed', async () => {
    const { socket, waitFor, closed } = rawConnection(address)
    const head = [key(), json, 'Connection: close', 'Content-Length: 2']
    socket.write(post(keysUrl, ...head))
    await waitFor(/ 100 Continue/)
    socket.write('{}')
    expect(statuses(await closed)).toEqual([100, 400])
  })

  test('is granted once the body will be read', async () => {
    const { publicKeyPem } = ecKey()
    const body = JSON.stringify({ name: 'n', algorithm: 'ES256', publicKeyPem })
    const { socket, waitFor } = rawConnection(address)
    socket.write(post(keysUrl, key(), json, `Content-Length: ${body.length}`))
    expect(statuses(await waitFor(/\r\n\r\n/))).toEqual([100])
    await delay(20)
    socket.write(body)
    const text = await waitFor(/"kid":"[^"]+"\}/)
    expect(statuses(text)).toEqual([100, 201])
    expect(text.toLowerCase()).not.toContain('connection: close')
    socket.write(next)
    expect(statuses(await waitFor(/"ok"/))).toEqual([100, 201, 200])
  })
})
