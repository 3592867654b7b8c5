import { once } from 'node:events'
import { connect } from 'node:net'
import { faultOf, type PreparedCall, readAnswer } from './answer.ts'

/** One connection, which has one request under way at most. */
export interface Lane {
  send(call: PreparedCall): void
  close(): void
}

interface LaneEvents {
  answered(lane: Lane, body: () => string): void
  spoiled(why: string): void
}

export async function openLane(port: number, events: LaneEvents): Promise<Lane> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.setNoDelay()
  let call: PreparedCall | undefined
  let received: Buffer | undefined

  socket.on('data', (chunk: Buffer) => {
    received = received === undefined ? chunk : Buffer.concat([received, chunk])
    const whole = received
    const answer = readAnswer(whole)
    if (answer === undefined) return
    const fault = call === undefined ? 'an answer without a request' : faultOf(call, whole, answer)
    call = undefined
    received = undefined
    if (fault !== undefined) events.spoiled(fault)
    else events.answered(lane, () => whole.toString('utf8', answer.begin, answer.end))
  })
  socket.on('error', (error) => events.spoiled(error.message))
  socket.on('end', () => events.spoiled('the server ended a connection'))
  const lane: Lane = {
    send(next) {
      call = next
      socket.write(next.request)
    },
    close() {
      socket.removeAllListeners('end')
      socket.destroy()
    },
  }
  return lane
}
