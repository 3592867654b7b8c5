import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import {
  createOutboundFetch,
  type OutboundOptions,
} from '../../../packages/server/src/outbound/outbound.ts'
import { endLater } from '../ending.ts'
import { signedCertificate } from './certificates.ts'

/** A real HTTPS server with an authority of its own, on 127.0.0.1, under several names. */
export interface HttpsServer {
  port: number
  /** The authority's certificate, as PEM. */
  ca: string
  /** `https://HOST:PORT`; the host is one of those of the certificate. */
  urlOf(host: string): string
  /** Paths of all requests, with their host. */
  requests: string[]
  /**
   * Trusts the authority and reaches the server under its names, of which the first one is allowed to
   * have a private address.
   */
  fetchWith(options?: Partial<OutboundOptions>): ReturnType<typeof createOutboundFetch>
  close(): Promise<void>
}

export async function startHttpsServer(
  hosts: readonly [string, ...string[]],
  listener: RequestListener,
): Promise<HttpsServer> {
  const { ca, cert, key } = signedCertificate(hosts)
  const requests: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(`${request.headers.host?.replace(/:.*/, '')}${request.url}`)
    listener(request, response)
  })
  const port = await listenOnUnusedPort(server)
  return {
    port,
    ca,
    requests,
    urlOf: (host) => `https://${host}:${port}`,
    fetchWith: (options = {}) =>
      createOutboundFetch({ allow: [hosts[0]], ca, resolve: resolveLocally, ...options }),
    close: endLater(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}

/** Ports of earlier servers. Rules that a test stored for one of them do not apply to another. */
const usedPorts = new Set<number>()

async function listenOnUnusedPort(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  const { port } = address
  if (!usedPorts.has(port)) {
    usedPorts.add(port)
    return port
  }
  server.close()
  await once(server, 'close')
  return listenOnUnusedPort(server)
}

export const loopback: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }]
const resolveLocally = async () => loopback
