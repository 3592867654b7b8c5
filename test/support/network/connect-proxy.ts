import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { endLater } from '../ending.ts'

/** A proxy that connects every tunnel to one server of this machine, so that hosts need no DNS. */
export interface ConnectProxy {
  port: number
  /** Host and port of each tunnel, with the `Proxy-Authorization` that came with it. */
  tunnels: [string, string | undefined][]
  close(): Promise<void>
}

export async function startConnectProxy(target: number): Promise<ConnectProxy> {
  const tunnels: ConnectProxy['tunnels'] = []
  const sockets = new Set<Duplex>()
  const proxy = createServer()
  proxy.on('connect', (request, socket, head) => {
    tunnels.push([request.url ?? '', request.headers['proxy-authorization']])
    const upstream = connect(target, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    for (const one of [upstream, socket]) one.on('error', () => upstream.destroy())
    sockets.add(socket.on('close', () => upstream.destroy()))
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: Object(proxy.address()).port,
    tunnels,
    close: endLater(async () => {
      for (const socket of sockets) socket.destroy()
      proxy.closeAllConnections()
      proxy.close()
      await once(proxy, 'close')
    }),
  }
}
