import { beforeAll, describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { privatePem, rsaKey } from '../../support/keys/pem.ts'
import { rawConnection, requestHead } from '../../support/network/raw-connection.ts'
import { expectWithin } from '../../support/timing.ts'

let server: TestApp
let address: string
beforeAll(async () => {
  server = await startApp()
  address = await server.listen()
})

/** Sends exactly these lines, a byte per character, on a new socket; returns status and code. */
async function request(...headers: string[]): Promise<[number, string?]> {
  const request = ['GET /v1/projects HTTP/1.1', 'Host: x', 'Connection: close', ...headers]
  const connection = rawConnection(address)
  connection.socket.write(Buffer.from(requestHead(...request), 'latin1'))
  const answer = await connection.closed
  const [, code] = /"code":"(\w+)"/.exec(answer) ?? []
  const status = Number(answer.split(' ')[1])
  const challenge = 'www-authenticate: ApiKey realm="pubring", header="X-Api-Key"'
  expect(answer.includes(challenge)).toBe(status === 401)
  return code === undefined ? [status] : [status, code]
}

const other = newApiKeySecret()
const invalid = 'invalid_api_key'
const missing = 'missing_api_key'

test.each<[string, (secret: string) => string]>([
  ['in upper case', (secret) => `X-API-KEY: ${secret}`],
  ['without a blank', (secret) => `X-Api-Key:${secret}`],
  ['with blanks and tabs around', (secret) => `X-Api-Key: \t  ${secret} \t `],
])('the header %s is accepted', async (_name, header) => {
  expect(await request(header(server.admin))).toEqual([200])
})

const refused: [string, (secret: string) => string[], number, string][] = [
  ['no header', () => [], 401, missing],
  ['blanks', () => ['X-Api-Key:  \t  '], 401, missing],
  ['Authorization', (secret) => [`Authorization: Bearer ${secret}`], 401, missing],
  ['a cookie', (secret) => [`Cookie: X-Api-Key=${secret}`], 401, missing],
  ['a good and a bad one', (s) => [`X-Api-Key: ${s}`, `X-Api-Key: ${other}`], 401, invalid],
  ['a bad and a good one', (s) => [`X-Api-Key: ${other}`, `X-Api-Key: ${s}`], 401, invalid],
  ['a good and an empty one', (s) => [`X-Api-Key: ${s}`, 'X-Api-Key:'], 401, invalid],
  ['with a scheme before it', (s) => [`X-Api-Key: Bearer ${s}`], 401, invalid],
  ['its marker alone', () => ['X-Api-Key: pubring_'], 401, invalid],
  ['without its marker', (s) => [`X-Api-Key: ${s.slice(8)}`], 401, invalid],
  ['its last character changed', (s) => [`X-Api-Key: ${changed(s)}`], 401, invalid],
  ['one character more', (s) => [`X-Api-Key: ${s}0`], 401, invalid],
  ['in upper case', (s) => [`X-Api-Key: ${s.toUpperCase()}`], 401, invalid],
  ['an unknown secret', () => [`X-Api-Key: ${other}`], 401, invalid],
  ['a no-break space after it', (s) => [`X-Api-Key: ${s}\u00a0`], 401, invalid],
  ['bytes that are not UTF-8', () => ['X-Api-Key: \u00ff\u00fe'], 401, invalid],
  ['NUL after it', (s) => [`X-Api-Key: ${s}\0`], 400, 'invalid_request'],
  ['60 KB of blanks before an x', () => [`X-Api-Key: a${' '.repeat(60_000)}x`], 401, invalid],
  ['100 KB after it', (s) => [`X-Api-Key: ${s}${'x'.repeat(100_000)}`], 431, 'headers_too_large'],
]
describe('the API key', () => {
  test.each(refused)('%s is refused', async (_name, headers, status, code) => {
    const start = performance.now()
    expect(await request(...headers(server.admin))).toEqual([status, code])
    expectWithin(2_000, performance.now() - start)
  })

  test('in the query is rejected, and the error advises to revoke it', async () => {
    for (const path of ['/v1/projects?apiKey=', '/v1/projects/', '/v1/nope/', '/%ff']) {
      const answer = await server.inject({ url: path + server.admin })
      expect(answer.statusCode).not.toBe(200)
      expect(answer.json().detail).toMatch(/URL of this request contains an API key.* revoke it/)
      expect(answer.body).not.toContain(server.admin)
    }
  })

  test('a parameter or member named like a secret is not echoed', async () => {
    const line = privatePem(rsaKey()).split('\n')[7]?.replace(/\W/g, 'x').slice(0, 40) ?? ''
    for (const secret of [server.admin, line]) {
      const query = await server.send('GET', `/v1/projects?${secret}=1`)
      const body = await server.send('POST', '/v1/projects', { body: { [secret]: 1 } })
      for (const answer of [query, body]) {
        expect(answer.statusCode).toBe(400)
        expect(answer.body).not.toContain(secret.slice(0, 24))
      }
    }
  })
})

function changed(secret: string): string {
  return `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`
}
