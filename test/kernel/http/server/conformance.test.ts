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

const post = (...headers: string[]) =>
  requestHead(`POST ${keysUrl} HTTP/1.1`, 'Host: x', `X-Api-Key: ${server.admin}`, ...headers)
const invalid = [400, 'invalid_request'] as const
const coding = [501, 'unsupported_transfer_encoding'] as const
const tooLarge = [431, 'headers_too_large'] as const
/** Values of Host that are no host with a port. */
const hosts = ['a b/c', 'x y', 'user@x', 'x:abc', 'x:999999', '[::1', '::1', 'x?y', 'a%4']

test.each<[string, string, readonly [number, string]]>([
  ['nonsense', 'nonsense\r\n\r\n', invalid],
  ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', invalid],
  ['a header line without a name', alive('Host: x', ': y'), invalid],
  ['100 KB of address', requestHead(`GET /${'a'.repeat(1e5)} HTTP/1.1`, 'Host: x'), tooLarge],
  ['HTTP/0.9', requestHead('GET /health/live HTTP/0.9', 'Host: x'), invalid],
  ['HTTP/1.2', requestHead('GET /health/live HTTP/1.2', 'Host: x'), invalid],
  ['HTTP/2.0', requestHead('GET /health/live HTTP/2.0', 'Host: x'), invalid],
  ['no Host', alive(), invalid],
  ['two Hosts', alive('Host: x', 'Host: y'), invalid],
  ['two equal Hosts', alive('Host: x', 'Host: x'), invalid],
  ['two Hosts in HTTP/1.0', alive('Host: x', 'Host: y').replace('1.1', '1.0'), invalid],
  ...[...hosts, 'http://x', 'a\x80', 'a\\b', '<x>'].map(
    (host): [string, string, typeof invalid] => [`Host: ${host}`, alive(`Host: ${host}`), invalid],
  ),
  ['two codings', `${post('Transfer-Encoding: gzip,Chunked')}2\r\n{}\r\n0\r\n\r\n`, coding],
  [
    'two lines of codings',
    `${post('Transfer-Encoding: gzip', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    coding,
  ],
  [
    'a coding of a GET',
    `${requestHead('GET / HTTP/1.1', 'Host: x', 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
    coding,
  ],
  [
    'a coding in HTTP/1.0, which has none',
    `${post('Transfer-Encoding: chunked', 'Connection: keep-alive').replace('1.1', '1.0')}0\r\n\r\n`,
    invalid,
  ],
])('%s is rejected in the one form of error, and nothing after it is read', async (...row) => {
  const [, request, [status, code]] = row
  const text = await rawExchange(address, request + next)
  expect(statuses(text), text).toEqual([status])
  const { head, problem } = readProblem(text)
  expect(problem).toMatchObject({ status, code })
  expect(head).toContain('content-type: application/problem+json')
  expect(head).toContain('connection: close')
  expect(head).toContain(`x-request-id: ${problem.requestId}`)
})

test.each(['KEYS.example.com:8080', 'x:', '', '[fe80::1%25eth0]:80', 'my_service', 'a%20b', 'x.'])(
  'a valid Host is accepted: %s',
  async (host) => {
    const text = await rawExchange(address, alive(`Host: ${host}`, 'Connection: close'))
    expect(statuses(text)).toEqual([200])
  },
)

test('an invalid Host gets no cached response', async () => {
  for (let count = 0; count < 3; count += 1) {
    expect((await fetch(address + jwksUrl)).status).toBe(200)
  }
  const request = requestHead(`GET ${jwksUrl} HTTP/1.1`, 'Host: x', 'Host: y')
  expect(statuses(await rawExchange(address, request + next))).toEqual([400])
})

test('32 KB of headers and an unknown Expect are accepted', async () => {
  const headers = [`X-Padding: ${'a'.repeat(32_000)}`, 'Expect: miracles', 'Connection: close']
  expect(statuses(await rawExchange(address, alive('Host: x', ...headers)))).toEqual([200])
})

test('chunked is accepted in any case, and TE may name other codings', async () => {
  const headers = ['Transfer-Encoding: Chunked', 'TE: gzip, trailers', 'Connection: TE, close']
  const head = post(...headers, 'Content-Type: application/json')
  const text = await rawExchange(address, `${head}2\r\n{}\r\n0\r\n\r\n`)
  expect(readProblem(text)).toMatchObject({ status: 400, problem: { code: 'invalid_request' } })
})

test('TRACE is 405 and echoes nothing', async () => {
  const text = await rawExchange(
    address,
    alive('Host: x', 'X-Secret: echo').replace('GET', 'TRACE') + next,
  )
  expect(statuses(text)).toEqual([405, 200])
  expect(text).not.toContain('echo')
})

test('an incomplete request is 408', async () => {
  const slow = await startApp()
  slow.app.server.headersTimeout = 200
  const connection = rawConnection(await slow.listen())
  connection.socket.write('GET / HTTP/1.1\r\nHost: x\r\n')
  const answer = readProblem(await connection.closed)
  expect(answer).toMatchObject({ status: 408, problem: { code: 'request_timeout' } })
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
  const ask = (path: string, ...headers: string[]) =>
    requestHead(`POST ${path} HTTP/1.1`, 'Host: x', 'Expect: 100-continue', ...headers)
  const key = () => `X-Api-Key: ${server.admin}`

  test.each<[number, number, () => string]>([
    [400, 10, () => ask('/%', json)],
    [401, 10, () => ask(keysUrl, json)],
    [404, 10, () => ask('/v1/nothing', json)],
    [404, 10, () => ask('/v1/projects/none/jwt-keys', key(), json)],
    [405, 10, () => ask(`${keysUrl}/x`, key(), json)],
    [413, 70_000, () => ask(keysUrl, key(), json)],
    [415, 10, () => ask(keysUrl, key(), 'Content-Type: text/plain')],
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
    socket.write(ask(keysUrl, ...head))
    await waitFor(/ 100 Continue/)
    socket.write('{}')
    expect(statuses(await closed)).toEqual([100, 400])
  })

  test('is granted once the body will be read', async () => {
    const { publicKeyPem } = ecKey()
    const body = JSON.stringify({ name: 'n', algorithm: 'ES256', publicKeyPem })
    const { socket, waitFor } = rawConnection(address)
    socket.write(ask(keysUrl, key(), json, `Content-Length: ${body.length}`))
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
