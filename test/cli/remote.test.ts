import { expect, onTestFinished, test } from 'vitest'
import { fetchRemote } from '../../packages/cli/src/connection/remote.ts'
import { startHttpsServer } from '../support/network/https-server.ts'
import { listen } from './support.ts'

/** Fetches what the server answers; a status of 0 is no answer. */
async function fetched(status: number, headers: Record<string, string>, body: string) {
  const server = await listen((_request, response) => {
    if (status !== 0) response.writeHead(status, headers).end(body)
  })
  onTestFinished(() => server.close())
  const url = new URL(server.url)
  return fetchRemote(url, { what: 'a key set', headers: {}, timeoutMs: status === 0 ? 1 : 60_000 })
}

test('a response is fetched whole', async () => {
  expect(String(await fetched(200, {}, 'x'.repeat(100_000)))).toBe('x'.repeat(100_000))
})

test.each<[string, number, Record<string, string>, string, object]>([
  ['a 404', 404, {}, '', { kind: 'not_found', message: /answered 404, not a key set/ }],
  ['a 503', 503, {}, '', { kind: 'unavailable', message: /answered 503/ }],
  [
    'a redirect',
    302,
    { location: 'http://x.example/k' },
    '',
    { kind: 'refused', hints: [/http:\/\/x\.example\/k/] },
  ],
  [
    'an oversized response',
    200,
    {},
    ' '.repeat(4_194_305),
    { kind: 'refused', message: /more than 4194304 bytes/ },
  ],
  ['no answer in time', 0, {}, '', { kind: 'unavailable', message: /did not answer within/ }],
])('%s is an error', async (_name, status, headers, body, { ...expected }) => {
  const matched = Object.entries(expected).map(([member, value]) => [member, matching(value)])
  await expect(fetched(status, headers, body)).rejects.toMatchObject(Object.fromEntries(matched))
})

function matching(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(matching)
  return value instanceof RegExp ? expect.stringMatching(value) : value
}

test('a certificate of an unknown authority, and a server without TLS, are named', async () => {
  const request = { what: 'a token', headers: {}, timeoutMs: 60_000 }
  const secure = await startHttpsServer(['localhost'], (_request, response) => response.end())
  const plain = await listen()
  onTestFinished(() => plain.close())
  await expect(fetchRemote(new URL(secure.urlOf('localhost')), request)).rejects.toMatchObject({
    kind: 'untrusted',
    message: expect.stringContaining('is not trusted here'),
  })
  const url = new URL(plain.url.replace('http:', 'https:'))
  await expect(fetchRemote(url, request)).rejects.toMatchObject({
    kind: 'untrusted',
    message: expect.stringContaining('does not speak TLS'),
  })
})
