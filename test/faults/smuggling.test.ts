import { expect, test } from 'vitest'
import { recordFault } from '../support/faults/results.ts'
import { rawConnection } from '../support/network/raw-connection.ts'
import { createServerClient, highLimits } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

const server = await startServer(folder, highLimits)

/** A second request, which a proxy that parses differently would forward as the first one's body. */
const smuggled = 'GET /v1/projects HTTP/1.1\r\nHost: x\r\n\r\n'

const head = 'POST /v1/projects HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'

/** Ambiguous requests by RFC 9112 sections 2.2, 5.1, 5.2, 6.1, 6.3 and 7.1. */
const forms: [string, string][] = [
  [
    'Content-Length and Transfer-Encoding',
    `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    'Transfer-Encoding and Content-Length',
    `${head}Transfer-Encoding: chunked\r\nContent-Length: 44\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['two lengths', `${head}Content-Length: 0\r\nContent-Length: 40\r\n\r\n${smuggled}`],
  ['a list of lengths', `${head}Content-Length: 0, 40\r\n\r\n${smuggled}`],
  ['a length with a sign', `${head}Content-Length: +40\r\n\r\n${smuggled}`],
  ['a length in hexadecimal', `${head}Content-Length: 0x28\r\n\r\n${smuggled}`],
  [
    'chunked before another coding',
    `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['an unknown coding', `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['a blank before the colon', `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['a folded header', `${head}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  [
    'a control character in the coding',
    `${head}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    'a chunk size that is not a number',
    `${head}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${smuggled}`,
  ],
  ['a chunk size with a sign', `${head}Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n${smuggled}`],
  [
    'a chunk size that overflows',
    `${head}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n${smuggled}`,
  ],
  [
    'a chunk longer than its size',
    `${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}GET / HTTP/1.1\r\n\r\n`,
  ],
  [
    'a chunk that ends in a bare LF',
    `${head}Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n${smuggled}`,
  ],
  [
    'a header line that ends in a bare CR',
    `${head}X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    'header lines that end in a bare LF',
    `${head.replaceAll('\r', '')}Content-Length: 0\n\n${smuggled}`,
  ],
  ['a NUL in a header', `${head}X: a\0b\r\nContent-Length: 0\r\n\r\n${smuggled}`],
  ['a header without a colon', `${head}Content-Length 0\r\n\r\n${smuggled}`],
  ['an unknown version', `GET /health/live HTTP/1.9\r\nHost: x\r\n\r\n${smuggled}`],
]

test.each(forms)(
  '%s: one error, the connection is closed, the second request is not read',
  async (_form, text) => {
    const connection = rawConnection(server.url)
    connection.socket.write(Buffer.from(text, 'latin1'))
    const response = await connection.closed
    const statuses = [...response.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status)
    expect(statuses, response).toHaveLength(1)
    expect(['400', '401', '501']).toContain(statuses[0])
    expect(response.toLowerCase()).toContain('connection: close')
  },
)

test('the next client is served normally', async () => {
  expect((await createServerClient(server, server.apiKey).health('ready'))?.status).toBe(200)
  recordFault({
    fault: 'Request smuggling',
    observed: 'one error each, then the connection is closed; the second request is never read',
    acknowledged: 0,
    lost: 0,
  })
})
