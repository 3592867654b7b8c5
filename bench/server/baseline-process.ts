/**
 * The least that a Node service can cost: node:http with one handler that writes a ready string.
 * The parent sends the response to serve and receives the port.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import type { CapturedResponse } from './capture.ts'

let content: CapturedResponse = { status: 204, headers: [], body: '' }

const server = createServer((_request, response) => {
  response.writeHead(content.status, content.headers)
  response.end(content.body)
})
server.keepAliveTimeout = 72_000
server.listen(0, '127.0.0.1', () => {
  process.on('message', (next: CapturedResponse) => {
    content = next
    const { port } = server.address() as AddressInfo
    process.send?.(port)
  })
  process.send?.('ready')
})
process.once('disconnect', () => process.exit())
