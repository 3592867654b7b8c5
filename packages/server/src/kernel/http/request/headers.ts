import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Address6 } from 'ip-address'
import { PubringError } from '../../../errors.ts'

/** A longer header selects JSON: real clients send a few hundred characters. */
const maxLength = 500

/**
 * Whether the `Accept` header (RFC 9110 section 12.5.1) names the media type and gives it more
 * weight than JSON, which wildcards select.
 */
export function prefers(accept: string | undefined, type: string): boolean {
  if (accept === undefined || accept.length > maxLength) return false
  return quality(accept, type) > quality(accept, 'application/json')
}

/** The weight of the named type, from 0 to 1; 0 if the header does not name it. */
function quality(accept: string, type: string): number {
  const weights = accept.split(',').map((range) => {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (name !== type) return 0
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    if (weight === undefined) return 1
    return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0
  })
  return Math.max(0, ...weights)
}

/**
 * Identifies a client by its IPv4 address or the /64 of its IPv6 address, as far as trusted proxies
 * reveal it. Clients that share a proxy or a NAT share an address.
 */
export function clientAddress({ ip }: Pick<FastifyRequest, 'ip'>): string {
  const version = isIP(ip)
  if (version !== 6) return version === 4 ? ip : 'unknown'
  const withoutZone = ip.replace(/%.*$/, '')
  const address = new Address6(withoutZone)
  if (address.isMapped4()) return address.to4().correctForm()
  return new Address6(`${withoutZone}/64`).startAddress().correctForm()
}

/**
 * RFC 9110 section 7.2: a host, which may be empty, and a port. Node joins two Host lines with a
 * comma and a blank, which no host contains.
 */
const validHost = /^(?:\[[\w:.%~-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d{0,5})?$/i

/**
 * The fault that a server must reject in any request (RFC 9112 sections 2.3, 3.2 and 6.1) and Node's
 * parser accepts. Undefined if there is none.
 */
export function protocolFault({ headers, httpVersion }: IncomingMessage): PubringError | undefined {
  const { host, 'transfer-encoding': coding } = headers
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new PubringError('invalid_request', 'Send the request as HTTP/1.1.')
  }
  if (host === undefined && httpVersion === '1.1') {
    return new PubringError('invalid_request', 'An HTTP/1.1 request needs a Host header.')
  }
  if (host !== undefined && !validHost.test(host)) {
    return new PubringError(
      'invalid_request',
      'The Host header is not valid: send one, with the host and port of the URL.',
    )
  }
  if (coding !== undefined && httpVersion === '1.0') {
    return new PubringError(
      'invalid_request',
      'HTTP/1.0 has no Transfer-Encoding: send Content-Length.',
    )
  }
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return new PubringError(
      'unsupported_transfer_encoding',
      'The only Transfer-Encoding accepted is chunked. Send the body without compression.',
    )
  }
  return undefined
}

/**
 * Whether the request asks for another protocol. The server does not change to one, but Node discards
 * what the client sends on this connection after the request.
 */
export function requestsUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '')
}

/** Whether the client sends the body only once it is asked for it (RFC 9110 section 10.1.1). */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}

/** The cookie with the secret of a session. */
export function sessionCookie(publicUrl: string) {
  return createCookie('pubring-session', publicUrl)
}

/** The cookie that ties a sign-in at the provider to the browser that began it. */
export function signInCookie(publicUrl: string) {
  return createCookie('pubring-sign-in', publicUrl)
}

/**
 * The cookie with the secret of the session of a registration link. Each link has its own, so that a
 * browser may have several open. Only pages of this site send it.
 */
export function registrationCookie(publicUrl: string, linkId: string) {
  return createCookie(`pubring_registration_${linkId}`, publicUrl, 'Strict')
}

/**
 * Scripts cannot read it (HttpOnly). Browsers send it only from this site and, unless it is `Strict`, when a
 * person follows a link to it (SameSite=Lax); over https, only there (Secure), and no other host or path can set a
 * cookie of the same name (`__Host-`, RFC 6265bis section 4.1.3). Below a path of a shared host, it is
 * restricted to that path instead (`__Secure-`).
 */
function createCookie(base: string, publicUrl: string, sameSite: 'Lax' | 'Strict' = 'Lax') {
  const { protocol, pathname } = new URL(`${publicUrl}/`)
  const isSecure = protocol === 'https:'
  const prefix = isSecure ? (pathname === '/' ? '__Host-' : '__Secure-') : ''
  const name = `${prefix}${base}`
  const attributes = `Path=${pathname}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
  const write = (reply: FastifyReply, value: string, maxAge: number) =>
    void reply.header('set-cookie', `${name}=${value}; Max-Age=${maxAge}; ${attributes}`)
  return {
    /** Undefined unless the request has exactly one cookie of this name. */
    read({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
      const values = (headers.cookie ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
      // Two of one name: another host or path has set one of them, and either may come first.
      return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined
    },
    /** Sets it for this many seconds. */
    set: write,
    clear: (reply: FastifyReply) => write(reply, '', 0),
  }
}

/**
 * Throws `cross_site_request` for a request that a browser sent for a page of another origin. The
 * header `X-Api-Key: session` is a barrier too: other origins cannot send it without a preflight
 * request, which is never granted.
 */
export function requireSameOrigin({ headers }: FastifyRequest, publicUrl: string): void {
  const site = headers['sec-fetch-site'] ?? 'none'
  const isSameSite = site === 'same-origin' || site === 'none'
  const { origin } = headers
  if (isSameSite && (origin === undefined || isSameOrigin(origin, publicUrl))) return
  throw new PubringError(
    'cross_site_request',
    `A session is accepted only from pages of this server. Open the console at ${publicUrl}/console/, or use an API key.`,
  )
}

/** On one's own machine, `localhost` and the addresses of loopback are the same. */
function isSameOrigin(origin: string, publicUrl: string): boolean {
  const own = new URL(publicUrl)
  if (origin === own.origin) return true
  const other = URL.parse(origin)
  const isLoopback = ({ hostname }: URL) =>
    /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (other?.origin !== origin || !isLoopback(own) || !isLoopback(other)) return false
  return other.protocol === own.protocol && other.port === own.port
}
