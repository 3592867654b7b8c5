import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../core/context.ts'

/** How long a client may accept nothing of what is ready for it. */
const maxStalledMs = 20_000

const sampleIntervalMs = 1_000

/** What a client had accepted when it was last seen to accept something. */
interface Progress {
  accepted: string
  /** Monotonic milliseconds. */
  since: number
}

/**
 * Disconnects clients that do not read their responses: Node waits for them forever. A slow client
 * that accepts some bytes between two samples is not disconnected, nor is one that awaits a response.
 */
export function disconnectStalledReaders(app: FastifyInstance, clock: Clock): void {
  const sockets = new Set<Socket>()
  const stalled = new WeakMap<Socket, Progress>()

  function sample(socket: Socket, time: number): void {
    if (socket.writableLength === 0) return void stalled.delete(socket)
    const accepted = acceptedBytes(socket)
    const known = stalled.get(socket)
    if (known?.accepted !== accepted) stalled.set(socket, { accepted, since: time })
    else if (time - known.since >= maxStalledMs) socket.destroy()
  }
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const timer = setInterval(() => {
    const time = clock.monotonic()
    for (const socket of sockets) sample(socket, time)
  }, sampleIntervalMs)
  timer.unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

/**
 * Changes whenever the system accepts bytes for the client. Node's public counters change only after
 * a whole chunk; its internal handle knows how much of the current chunk is left.
 */
function acceptedBytes(socket: Socket): string {
  const handle: unknown = Reflect.get(socket, '_handle')
  const queued = typeof handle === 'object' && handle && Reflect.get(handle, 'writeQueueSize')
  return `${socket.bytesWritten - socket.writableLength} ${queued}`
}
