import { expect, test } from 'vitest'
import { fetchJson, OutboundError } from '../../packages/server/src/outbound/outbound.ts'
import { startConnectProxy } from '../support/network/connect-proxy.ts'
import { loopback, startHttpsServer } from '../support/network/https-server.ts'

const server = await startHttpsServer(
  ['issuer.test', 'other.test', '127.0.0.1'],
  (request, response) => {
    switch (request.url) {
      case '/json':
        return response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}')
      case '/echo':
        return request.pipe(response.writeHead(201, { 'x-method': request.method }))
      case '/large':
        return response.end(Buffer.alloc(10 * 1024 * 1024, '1'))
      case '/limit':
        return response.end(`"${'1'.repeat(256 * 1024 - 2)}"`)
      case '/html':
        return response.end('<!doctype html><title>Sign in</title>')
      case '/redirect':
        return response.writeHead(302, { location: server.urlOf('issuer.test') }).end()
      case '/drip':
        response.flushHeaders()
        return setInterval(() => response.write(' '), 20).unref()
      case '/silent':
        return undefined
      case '/cut':
        response.writeHead(200, { 'content-length': '100' }).write('{')
        return setImmediate(() => response.destroy())
      case '/latin1':
        return response.end(Buffer.from('"\xe9"', 'latin1'))
      default:
        return response.writeHead(404).end()
    }
  },
)

const json = (path: string, options = {}) =>
  fetchJson(server.fetchWith(options), `${server.urlOf('issuer.test')}${path}`)

test('JSON of a server that its authority vouches for is fetched', async () => {
  expect(await json('/json')).toMatchObject({ value: { a: 1 } })
  expect((await json('/limit')).value).toHaveLength(256 * 1024 - 2)
})

test('a request has its method, headers and body', async () => {
  const response = await server.fetchWith()(`${server.urlOf('issuer.test')}/echo`, {
    method: 'POST',
    body: new URLSearchParams({ code: 'a b' }),
  })
  expect(response.status).toBe(201)
  expect(response.headers.get('x-method')).toBe('POST')
  expect(await response.text()).toBe('code=a+b')
})

test.each([
  ['/large', /more than 256 KiB/],
  ['/html', /does not serve JSON/],
  ['/latin1', /does not serve JSON/],
  ['/redirect', /redirects, which is not followed/],
  ['/drip', /did not send a complete response within/],
  ['/silent', /did not send a complete response within/],
  ['/cut', /could not be reached \(ECONNRESET\)/],
  ['/missing', /responded with the status 404/],
])('%s is an error that says what happened', async (path, message) => {
  const options = /drip|silent/.test(path) ? { timeoutMs: 200 } : {}
  const error = await json(path, options).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(OutboundError)
  expect(String(error)).toMatch(message)
})

test('a resolver that never answers uses up the same time', async () => {
  const resolve = () => new Promise<never>(() => {})
  await expect(json('/json', { resolve, timeoutMs: 50 })).rejects.toThrow(/within 0.05 s/)
})

test('a caller can give up', async () => {
  const signal = AbortSignal.abort()
  const waiting = server.fetchWith()(`${server.urlOf('issuer.test')}/silent`, { signal })
  await expect(waiting).rejects.toThrow(/aborted/)
})

test.each([
  ['of an unknown authority', { ca: undefined }, 'issuer.test'],
  ['for another host', { allow: ['third.test'] }, 'third.test'],
])('a certificate %s is not trusted', async (_name, options, host) => {
  const fetching = server.fetchWith(options)(`${server.urlOf(host)}/json`)
  await expect(fetching).rejects.toThrow(/could not be reached/)
})

/** One of each network without public hosts; the last ones carry an IPv4 address, or have a zone. */
const notPublic = ['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254'].concat(
  ['172.31.255.255', '192.168.1.1', '198.18.0.1', '224.0.0.251', '255.255.255.255', '::', '::1'],
  ['fc00::1', 'fd12:3456::1', 'fe80::1', 'ff02::fb', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  ['64:ff9b::7f00:1', '2002:7f00:1::', '2001:0:7f00:1::', 'fe80::1%eth0'],
)
test.each(notPublic)(
  'a name with the address %s is not connected to, unless its host is allowed',
  async (address) => {
    const family = address.includes(':') ? 6 : 4
    const resolve = async () => [
      { address: '9.9.9.9', family: 4 },
      { address, family },
    ]
    const before = server.requests.length
    const fetching = server.fetchWith({ resolve })(`${server.urlOf('other.test')}/json`)
    await expect(fetching).rejects.toThrow(
      `other.test has the address ${address}, which is not public`,
    )
    expect(server.requests).toHaveLength(before)
  },
)

test.each([
  'https://127.0.0.1:PORT/json',
  'https://2130706433:PORT/json',
  'https://0x7f.1:PORT/json',
  'https://017700000001:PORT/json',
  'https://[::1]:PORT/json',
  'https://[::ffff:127.0.0.1]:PORT/json',
])('%s is not connected to', async (url) => {
  const fetching = server.fetchWith()(url.replace('PORT', String(server.port)))
  await expect(fetching).rejects.toThrow(/which is not public/)
})

test.each([
  ['http://issuer.test/', /must begin with https/],
  ['https://user:secret@issuer.test/', /must not hold a user name/],
])('%s is not requested', async (url, message) => {
  const error = await server
    .fetchWith()(url)
    .catch((reason: unknown) => reason)
  expect(String(error)).toMatch(message)
  expect(String(error)).not.toContain('secret')
})

test('the addresses that were checked are the ones connected to: a name is resolved once', async () => {
  let lookups = 0
  const resolve = async () => {
    lookups += 1
    return lookups === 1 ? loopback : [{ address: '127.0.0.2', family: 4 }]
  }
  expect(await json('/json', { resolve })).toMatchObject({ value: { a: 1 } })
  expect(lookups).toBe(1)
})

test('each request connects anew, to addresses that were checked for it', async () => {
  let isPrivate = false
  const fetch = server.fetchWith({
    allow: [],
    resolve: async () => (isPrivate ? loopback : [{ address: '9.9.9.9', family: 4 }]),
    timeoutMs: 50,
  })
  await expect(fetch(`${server.urlOf('other.test')}/json`)).rejects.toThrow(OutboundError)
  isPrivate = true
  await expect(fetch(`${server.urlOf('other.test')}/json`)).rejects.toThrow(/which is not public/)
})

test('behind a proxy only allowed hosts are reached, through the proxy', async () => {
  const { port, tunnels } = await startConnectProxy(server.port)
  const url = `http://user:secret@127.0.0.1:${port}`

  const fetch = server.fetchWith({
    proxy: url,
    resolve: () => Promise.reject(new Error('no DNS')),
  })
  const { value } = await fetchJson(fetch, 'https://issuer.test:8443/json')
  expect(value).toEqual({ a: 1 })
  const credentials = `Basic ${Buffer.from('user:secret').toString('base64')}`
  expect(tunnels).toEqual([['issuer.test:8443', credentials]])
  const other = fetch('https://other.test/json')
  await expect(other).rejects.toThrow(/other.test is not in PUBRING_OUTBOUND_ALLOW/)
  expect(tunnels).toHaveLength(1)
})
