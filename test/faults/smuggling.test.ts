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

const chunked = (chunks: string) => `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`
/** Its head ends with these lines, and its body is empty. */
const withLines = (lines: string) => `${head}${lines}\r\n\r\n0\r\n\r\n${smuggled}`
const withoutBody = (lines: string) => `${head}${lines}\r\n\r\n${smuggled}`
const bothLengths = ['Content-Length: 4', 'Transfer-Encoding: chunked']

/** Ambiguous requests by RFC 9112 sections 2.2, 5.1, 5.2, 6.1, 6.3 and 7.1. */
const forms: [string, string][] = [
  ['Content-Length and Transfer-Encoding', withLines(bothLengths.join('\r\n'))],
  ['Transfer-Encoding and Content-Length', withLines(bothLengths.toReversed().join('\r\n'))],
  ['two lengths', withoutBody('Content-Length: 0\r\nContent-Length: 40')],
  ['a list of lengths', withoutBody('Content-Length: 0, 40')],
  ['a length with a sign', withoutBody('Content-Length: +40')],
  ['a length in hexadecimal', withoutBody('Content-Length: 0x28')],
  ['chunked before another coding', withLines('Transfer-Encoding: chunked, identity')],
  ['an unknown coding', withLines('Transfer-Encoding: xchunked')],
  ['a blank before the colon', withLines('Transfer-Encoding : chunked')],
  ['a folded header', withLines('Transfer-Encoding:\r\n chunked')],
  ['a control character in the coding', withLines('Transfer-Encoding: \x0bchunked')],
  ['a chunk size that is not a number', chunked(`0x0\r\n\r\n${smuggled}`)],
  ['a chunk size with a sign', chunked(`-1\r\n\r\n${smuggled}`)],
  ['a chunk size that overflows', chunked(`10000000000000000\r\n${smuggled}`)],
  ['a chunk longer than its size', chunked('2\r\n{}GET / HTTP/1.1\r\n\r\n')],
  ['a chunk that ends in a bare LF', chunked(`2\n{}\n0\n\n${smuggled}`)],
  ['a header line that ends in a bare CR', withLines('X: a\rTransfer-Encoding: chunked')],
  [
    'header lines that end in a bare LF',
    `${head.replaceAll('\r', '')}Content-Length: 0\n\n${smuggled}`,
  ],
  ['a NUL in a header', withoutBody('X: a\0b\r\nContent-Length: 0')],
  ['a header without a colon', withoutBody('Content-Length 0')],
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
