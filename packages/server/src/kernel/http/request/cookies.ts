import type { FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'

/** The cookie with the secret of a session. */
export function sessionCookie(publicUrl: string) {
  return createCookie('pubring-session', publicUrl)
}

/** The cookie that ties a sign-in at the provider to the browser that began it. */
export function signInCookie(publicUrl: string) {
  return createCookie('pubring-sign-in', publicUrl)
}

/**
 * Scripts cannot read it (HttpOnly). Browsers send it only from this site, and when a person follows a
 * link to it (SameSite=Lax); over https, only there (Secure), and no other host or path can set a
 * cookie of the same name (`__Host-`, RFC 6265bis section 4.1.3). Below a path of a shared host, it is
 * restricted to that path instead (`__Secure-`).
 */
function createCookie(base: string, publicUrl: string) {
  const { protocol, pathname } = new URL(`${publicUrl}/`)
  const isSecure = protocol === 'https:'
  const prefix = isSecure ? (pathname === '/' ? '__Host-' : '__Secure-') : ''
  const name = `${prefix}${base}`
  const attributes = `Path=${pathname}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
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
  if (other === null || !isLoopback(own) || !isLoopback(other)) return false
  return other.protocol === own.protocol && other.port === own.port
}
