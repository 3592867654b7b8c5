import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { makeCertificate } from './certificates.ts'
import { serveLocally } from './http-server.ts'

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
  const server = createServer({ cert, key }, (incoming, outgoing) =>
    forward(target, incoming, outgoing),
  )
  const { port, close } = await serveLocally(server, 'localhost')
  return {
    url: `https://localhost:${port}`,
    cert,
    forwardTo(origin) {
      target = origin
    },
    close,
  }
}

/** Sends a request on to the server at `origin`, and its response back. */
export function forward(origin: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, headers, url } = incoming
  const forwarded = request(`${origin}${url}`, { method, headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(outgoing)
  })
  forwarded.on('error', () => outgoing.destroy())
  incoming.pipe(forwarded)
}
