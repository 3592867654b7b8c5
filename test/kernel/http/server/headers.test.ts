import { expect, test } from 'vitest'
import { PubringError } from '../../../../packages/server/src/errors.ts'
import { startApp } from '../../../support/app/app.ts'
import { ecKey } from '../../../support/keys/pem.ts'
import { createKeyFile } from '../../../support/log/key-file.ts'

const logKey = createKeyFile()

const server = await startApp({ logSigner: logKey.open() })
const isBusy = new PubringError('overloaded', 'Busy.', { retryAfter: 1 })
/** Has rate limits, and rejects all keys because it is busy. */
const busy = await startApp({
  http: { publicRateLimit: { limit: 1, window: 60 }, rateLimit: { limit: 100, window: 60 } },
  examine: () => Promise.reject(isBusy),
})
await server.send('POST', '/v1/log/checkpoints')
const keys = `/v1/projects/${server.project.id}/jwt-keys`
const jwks = `/v1/projects/${server.project.id}/.well-known/jwks.json`
const etag = String((await server.inject({ url: jwks })).headers.etag)

const data = 'content-type content-length cache-control x-content-type-options x-request-id'
const cors = 'access-control-allow-origin access-control-expose-headers'
const stream =
  'content-type transfer-encoding cache-control x-accel-buffering x-content-type-options x-request-id'
const rates = 'ratelimit ratelimit-policy'
const page =
  'content-security-policy cross-origin-opener-policy cross-origin-resource-policy origin-agent-cluster referrer-policy strict-transport-security x-dns-prefetch-control x-download-options x-frame-options x-permitted-cross-domain-policies x-xss-protection'
const newKey = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
type Send = () => Promise<{ statusCode: number; headers: object }>

/** All headers of each kind of response, but those that node:http adds. */
const kinds: [kind: string, status: number, headers: string, send: Send][] = [
  ['a key set', 200, `${data} ${cors} etag pubring-revision`, () => server.inject({ url: jwks })],
  [
    'a known key set',
    304,
    `${cors} cache-control etag pubring-revision x-request-id`,
    () => server.inject({ url: jwks, headers: { 'if-none-match': etag } }),
  ],
  [
    'an absent key set',
    404,
    `${data} ${cors}`,
    () => server.inject({ url: '/v1/projects/absent/.well-known/jwks.json' }),
  ],
  ['a list', 200, `${data} etag`, () => server.send('GET', keys)],
  ['a new key', 201, `${data} etag location`, () => server.send('POST', keys, { body: newKey() })],
  ['no API key', 401, `${data} www-authenticate`, () => server.inject({ url: keys })],
  ['a wrong method', 405, `${data} allow`, () => server.inject({ method: 'PUT', url: keys })],
  ['no route', 404, data, () => server.inject({ url: '/v1/nope' })],
  ['a malformed URL', 400, data, () => server.inject({ url: '/%' })],
  ['the API description', 200, `${data} etag`, () => server.inject({ url: '/openapi.json' })],
  [
    'a key set without its content',
    200,
    `${data} ${cors} etag pubring-revision`,
    () => server.inject({ method: 'HEAD', url: jwks }),
  ],
  [
    'a held request',
    200,
    `${data} ${cors} etag preference-applied pubring-revision`,
    () => server.inject({ url: jwks, headers: { 'if-none-match': '"0"', prefer: 'wait=1' } }),
  ],
  [
    'a preflight',
    204,
    `${cors} access-control-allow-headers access-control-allow-methods access-control-max-age allow x-content-type-options x-request-id`,
    () => server.inject({ method: 'OPTIONS', url: jwks }),
  ],
  [
    'keys in PEM',
    200,
    `${data} ${cors} etag`,
    () => server.inject({ url: jwks.replace('jwks.json', 'keys.pem') }),
  ],
  [
    'a checkpoint of the log',
    200,
    `${data} ${cors} etag`,
    () => server.inject({ url: '/log/checkpoint' }),
  ],
  ['a page of events', 200, `${data} vary`, () => server.send('GET', events)],
  ['a page that has more', 200, `${data} link vary`, () => server.send('GET', `${events}?limit=1`)],
  ['a stream of events', 200, stream, () => startStream()],
  ['readiness', 200, `${data} pubring-state`, () => server.inject({ url: '/health/ready' })],
  ['a page', 200, `${data} ${page}`, () => server.inject({ url: '/docs/errors' })],
  [
    'a key set within the rate limit',
    200,
    `${data} ${cors} ${rates} content-location etag pubring-revision`,
    () => busy.inject({ url: '/v1/projects/payments/.well-known/jwks.json' }),
  ],
  [
    'too many requests',
    429,
    `${data} ${cors} ${rates} retry-after`,
    () => busy.inject({ url: '/v1/projects/payments/.well-known/jwks.json' }),
  ],
  [
    'a busy server',
    503,
    `${data} ${rates} retry-after`,
    () => busy.send('POST', '/v1/projects/payments/jwt-keys', { body: newKey() }),
  ],
]

const events = '/v1/projects/payments/events'

/** The head of a stream, which then ends with its connection. */
async function startStream(): ReturnType<Send> {
  const headers = { accept: 'text/event-stream', 'x-api-key': server.admin }
  const response = await server.inject({ url: events, headers, payloadAsStream: true })
  response.stream().destroy()
  return response
}

test.each(kinds)('%s has these headers only', async (_kind, status, names, send) => {
  const { statusCode, headers } = await send()
  const own = Object.keys(headers).filter((name) => !['date', 'connection'].includes(name))
  expect([statusCode, own.sort()]).toEqual([status, names.split(' ').sort()])
})

test.each(['/console/', '/console', '/docs/', '/docs/errors'])(
  '%s tells browsers to load nothing from elsewhere and not to frame it',
  async (url) => {
    const { headers } = await server.inject({ url })
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['strict-transport-security']).toBeDefined()
    expect(headers['access-control-allow-origin']).toBeUndefined()
  },
)
