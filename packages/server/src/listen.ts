import { lookup } from 'node:dns/promises'
import { createServer } from 'node:net'
import type { HttpApp } from './app.ts'

/**
 * Listens on the host, and on all addresses of `localhost`: with a server factory, Fastify listens
 * only on the first. Rejects if it cannot listen on the first.
 */
export async function listenOn(
  app: HttpApp,
  { host, port }: { host: string; port: number },
): Promise<void> {
  await app.listen({ host, port })
  const first = app.server.address()
  if (host !== 'localhost' || first === null || typeof first === 'string') return
  for (const { address } of await lookup(host, { all: true })) {
    if (address === first.address) continue
    const forwarder = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      app.server.emit('connection', socket)
    })
    forwarder.on('error', (error) => app.log.warn({ err: error, address }, 'cannot listen'))
    forwarder.listen(first.port, address)
    app.server.once('close', () => forwarder.close())
  }
}
