import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { endLater } from '../ending.ts'
import { makeCertificate } from './certificates.ts'

export interface TlsProxy {
  /** `https://localhost:PORT`, trusted by this process. */
  url: string
  /** Its certificate, as PEM. */
  cert: string
  /** Sets the server behind it: `http://127.0.0.1:PORT`. */
  forwardTo(origin: string): void
  close(): Promise<void>
}

/** A TLS proxy with its own certificate, as in front of Pubring in production. */
export async function startTlsProxy(): Promise<TlsProxy> {
  const { cert, key } = makeCertificate()
  setDefaultCACertificates([...getCACertificates('default'), cert])
  let target = ''
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    const { method, headers, url } = incoming
    const forwarded = request(`${target}${url}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return {
    url: `https://localhost:${address.port}`,
    cert,
    forwardTo(origin) {
      target = origin
    },
    close: endLater(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}
