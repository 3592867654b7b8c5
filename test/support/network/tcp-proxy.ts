import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { endLater } from '../ending.ts'

/** A TCP proxy in front of a server that can simulate network faults. */
export interface TcpProxy {
  port: number
  /** Breaks open connections and refuses new ones. */
  cut(): void
  /** Drops all data silently, like a firewall. */
  block(): void
  restore(): void
  /** Makes the round trips of new connections take at least this long. */
  delay(roundTripMs: number): void
  /** Limits how fast each new connection receives data. */
  throttle(bytesPerMs: number): void
  /**
   * Breaks the connection of the next client that sends the text: before the server receives it, or
   * after the server has acted on it, so that its response is lost. Calls `then` at that moment.
   */
  cutAt(text: string, when: 'before' | 'after', then?: () => void): void
  /** How many connections clients have opened so far. */
  connections(): number
  /** Reports everything that clients send. */
  watch(watcher: (chunk: Buffer) => void): void
  /** Reports everything that the server sends. */
  watchAnswers(watcher: (chunk: Buffer) => void): void
  close(): Promise<void>
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'blocked' = 'open'
  let watcher: (chunk: Buffer) => void = () => {}
  let answerWatcher: (chunk: Buffer) => void = () => {}
  let roundTripMs = 0
  let speed: number | undefined
  let connections = 0
  let trap: { text: string; when: 'before' | 'after'; then: () => void } | undefined
  /** Forwards data from the client, unless it springs the trap. */
  function forward(chunk: Buffer, near: Socket, far: Socket): void {
    watcher(chunk)
    if (trap === undefined || !chunk.includes(trap.text)) {
      far.write(chunk)
      return
    }
    const { when, then } = trap
    trap = undefined
    near.pause()
    far.unpipe()
    if (when === 'after') far.write(chunk)
    const cut = () => {
      then()
      near.destroy()
      far.destroy()
    }
    setTimeout(cut, when === 'after' ? 150 : 0)
  }
  const server = createServer((near) => {
    connections += 1
    if (state === 'cut') return near.destroy()
    sockets.add(near)
    if (state === 'blocked') return near.on('error', () => {})
    const far = connect(target, '127.0.0.1')
    sockets.add(far)
    near.on('data', (chunk: Buffer) => forward(chunk, near, far))
    far.on('data', (chunk: Buffer) => answerWatcher(chunk))
    const response = roundTripMs === 0 ? far : far.pipe(delayed(roundTripMs))
    const arriving = speed === undefined ? response : response.pipe(throttled(speed))
    arriving.pipe(near)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    return undefined
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return {
    port: address.port,
    cut() {
      state = 'cut'
      for (const socket of sockets) socket.destroy()
    },
    block() {
      state = 'blocked'
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    delay(ms) {
      roundTripMs = ms
    },
    throttle(bytesPerMs) {
      speed = bytesPerMs
    },
    restore() {
      state = 'open'
      for (const socket of sockets) socket.destroy()
    },
    cutAt(text, when, then = () => {}) {
      trap = { text, when, then }
    },
    connections: () => connections,
    watch(next) {
      watcher = next
    },
    watchAnswers(next) {
      answerWatcher = next
    },
    close: endLater(async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }),
  }
}

/** Passes every chunk on after the delay. */
function delayed(delayMs: number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      setTimeout(() => this.push(chunk), delayMs)
      done()
    },
    flush: (done) => void setTimeout(done, delayMs),
  })
}

/** Passes a chunk on before it takes the next one. */
function throttled(bytesPerMs: number): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) =>
      void setTimeout(() => done(null, chunk), chunk.length / bytesPerMs),
  })
}
