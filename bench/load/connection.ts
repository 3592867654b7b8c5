import { once } from 'node:events'
import { connect } from 'node:net'
import { findMismatch, type PreparedCall, parseResponse } from './response.ts'

/** A keep-alive connection with at most one request in flight. */
export interface Connection {
  send(call: PreparedCall): void
  close(): void
}

interface ConnectionEvents {
  onResponse(connection: Connection, body: () => string): void
  onFailure(reason: string): void
}

export async function openConnection(port: number, events: ConnectionEvents): Promise<Connection> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.setNoDelay()
  let call: PreparedCall | undefined
  let received: Buffer | undefined

  socket.on('data', (chunk: Buffer) => {
    received = received === undefined ? chunk : Buffer.concat([received, chunk])
    const bytes = received
    const response = parseResponse(bytes)
    if (response === undefined) return
    const mismatch =
      call === undefined ? 'a response without a request' : findMismatch(call, bytes, response)
    call = undefined
    received = undefined
    if (mismatch !== undefined) events.onFailure(mismatch)
    else events.onResponse(connection, () => bytes.toString('utf8', response.start, response.end))
  })
  socket.on('error', (error) => events.onFailure(error.message))
  socket.on('end', () => events.onFailure('the server ended a connection'))
  const connection: Connection = {
    send(next) {
      call = next
      socket.write(next.request)
    },
    close() {
      socket.removeAllListeners('end')
      socket.destroy()
    },
  }
  return connection
}
