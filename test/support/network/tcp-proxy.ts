import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A line to a server that can be cut, as a network can be. */
export interface TcpProxy {
  port: number
  /** Breaks what is open and refuses what comes. */
  cut(): void
  /** Lets nothing through, and says so to nobody: as a firewall that drops packets. */
  block(): void
  restore(): void
  /**
   * Cuts the line of the next client that sends the text: before the server has it, or when the
   * server has had the time to act on it and its answer is lost. `then` is called with the cut.
   */
  cutAt(text: string, when: 'before' | 'after', then?: () => void): void
  /** Shows all that clients send. */
  watch(seen: (chunk: Buffer) => void): void
  close(): Promise<void>
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'blocked' = 'open'
  let watcher: (chunk: Buffer) => void = () => {}
  let trap: { text: string; when: 'before' | 'after'; then: () => void } | undefined
  /** Passes on what the client sends, unless the trap snaps. */
  function pass(chunk: Buffer, near: Socket, far: Socket): void {
    watcher(chunk)
    if (trap === undefined || !chunk.includes(trap.text)) {
      far.write(chunk)
      return
    }
    const { when, then } = trap
    trap = undefined
    near.pause()
    far.unpipe(near)
    if (when === 'after') far.write(chunk)
    const cut = () => {
      then()
      near.destroy()
      far.destroy()
    }
    setTimeout(cut, when === 'after' ? 150 : 0)
  }
  const server = createServer((near) => {
    if (state === 'cut') return near.destroy()
    sockets.add(near)
    if (state === 'blocked') return near.on('error', () => {})
    const far = connect(target, '127.0.0.1')
    sockets.add(far)
    near.on('data', (chunk: Buffer) => pass(chunk, near, far))
    far.pipe(near)
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
    restore() {
      state = 'open'
      for (const socket of sockets) socket.destroy()
    },
    cutAt(text, when, then = () => {}) {
      trap = { text, when, then }
    },
    watch(seen) {
      watcher = seen
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
