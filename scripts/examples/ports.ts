import { once } from 'node:events'
import { createServer } from 'node:net'
import process from 'node:process'

/** Below the ports that systems give to outgoing connections, which could take one before its use. */
let next = 12_000 + (process.pid % 150) * 100

/** A TCP port that was free a moment ago, and is returned only once. */
export async function freePort(): Promise<number> {
  for (;;) {
    next += 1
    const port = next
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}
