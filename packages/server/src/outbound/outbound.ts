import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { decodeUtf8, parseJson } from '../runtime/json.ts'

/** For a whole request, from the look-up of the name to the last byte. */
const defaultTimeoutMs = 5_000

/** Bytes of a response body. */
const maxBytes = 256 * 1024

export interface OutboundOptions {
  /** Host names in lower case whose addresses may be private. Behind a proxy, the only hosts. */
  allow: readonly string[]
  /** `http://USER:PASSWORD@HOST:PORT`; it resolves the names. */
  proxy?: string | undefined
  /** PEM of authorities that are trusted besides those of the system. */
  ca?: string | undefined
  /** All addresses of a host; by default from the system's resolver. */
  resolve?: (host: string) => Promise<LookupAddress[]>
  /** By default 5 seconds. */
  timeoutMs?: number
}

/**
 * The `fetch` that every request to another server uses: only https with a verified certificate, to
 * public addresses or allowed hosts, 5 seconds and 256 KiB at most. Redirects are returned, never
 * followed. The response is complete. Rejects with an `OutboundError`.
 */
export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** A failed request; the message is a sentence for an administrator, without secrets. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
}

/** The server was reached, and its answer cannot be used. */
export class AnswerError extends OutboundError {}

export function createOutboundFetch(options: OutboundOptions): OutboundFetch {
  const connection = connectionOptions(options)
  const { timeoutMs = defaultTimeoutMs } = options
  return async (input, init) => {
    const url = new URL(input)
    requirePermitted(url, options)
    const request = new Request(url, init)
    const body = Buffer.from(await request.arrayBuffer())
    const deadline = AbortSignal.timeout(timeoutMs)
    const headers = Object.fromEntries(request.headers)
    const { method } = request
    const signal = AbortSignal.any([deadline, request.signal])
    try {
      const response = await send(url, { ...connection, method, headers, signal }, body)
      return await readResponse(response, url)
    } catch (error) {
      if (error instanceof OutboundError || request.signal.aborted) throw error
      const reason = deadline.aborted
        ? `did not send a complete response within ${timeoutMs / 1_000} seconds`
        : `could not be reached (${codeOf(error)})`
      const isUntrusted = /SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(codeOf(error))
      const advice = isUntrusted
        ? ' No authority that is trusted issued its certificate: name its authority in PUBRING_OUTBOUND_CA_FILE.'
        : ''
      throw new OutboundError(`${url.host} ${reason}.${advice}`, { cause: error })
    }
  }
}

/** Throws an `OutboundError` for addresses that are never connected to. */
function requirePermitted(url: URL, { allow, proxy }: OutboundOptions): void {
  if (url.username !== '' || url.password !== '') {
    throw new OutboundError(`The address of ${url.host} must not hold a user name or a password.`)
  }
  if (url.protocol !== 'https:') {
    throw new OutboundError(`The address ${url.origin}${url.pathname} must begin with https://.`)
  }
  if (allow.includes(url.hostname)) return
  if (proxy !== undefined) {
    throw new OutboundError(
      `${url.hostname} is not in PUBRING_OUTBOUND_ALLOW. Behind a proxy, which resolves the names, only the hosts listed there are reached.`,
    )
  }
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0) requirePublic(url.hostname, [literal])
}

function requirePublic(host: string, addresses: readonly string[]): void {
  const refused = addresses.find((address) => !isPublicAddress(address))
  if (refused === undefined) return
  throw new OutboundError(
    `${host} has the address ${refused}, which is not public. If it is a server of yours, list ${host} in PUBRING_OUTBOUND_ALLOW.`,
  )
}

function connectionOptions(options: OutboundOptions): RequestOptions {
  const { ca, proxy } = options
  // Made once: parsing all authorities takes some 20 ms of CPU.
  const trust =
    ca === undefined
      ? {}
      : { secureContext: createSecureContext({ ca: [...getCACertificates('default'), ca] }) }
  if (proxy !== undefined) {
    const agent = new Agent({ ...trust, proxyEnv: { HTTPS_PROXY: proxy } })
    return { ...trust, agent, rejectUnauthorized: true }
  }
  // Without an agent there is no connection to reuse that was made to another address.
  return { ...trust, agent: false, rejectUnauthorized: true, lookup: checkedLookup(options) }
}

/**
 * The addresses that are checked are the ones that the socket connects to, so a name cannot resolve to
 * a public address for the check and to a private one for the connection (DNS rebinding).
 */
function checkedLookup({ allow, resolve = resolveAll }: OutboundOptions): LookupFunction {
  return (host, { all }, callback) => {
    const checked = resolve(host).then((found) => {
      const addresses = found.map(({ address }) => address)
      if (!allow.includes(host)) requirePublic(host, addresses)
      return found
    })
    checked.then(
      (found) => {
        const [first = { address: '', family: 0 }] = found
        if (all) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, ''),
    )
  }
}

const resolveAll = (host: string) => systemLookup(host, { all: true })

function send(url: URL, options: RequestOptions, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpsRequest(url, options, resolve).on('error', reject).end(body)
  })
}

/** Statuses whose responses have no body (Fetch standard). */
const bodiless = [204, 205, 304]

async function readResponse(message: IncomingMessage, { host }: URL): Promise<Response> {
  const { statusCode: status = 0, headersDistinct } = message
  const parts: Buffer[] = []
  let length = 0
  for await (const part of message) {
    parts.push(part)
    length += part.length
    if (length > maxBytes) {
      message.destroy()
      throw new OutboundError(`${host} sent more than ${maxBytes / 1_024} KiB.`)
    }
  }
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return new Response(bodiless.includes(status) ? null : Buffer.concat(parts), { status, headers })
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'the connection failed'
}

/** Fetches a JSON document. Rejects with an `OutboundError` if the response is anything else. */
export async function fetchJson(
  fetch: OutboundFetch,
  url: string,
): Promise<{ value: unknown; headers: Headers }> {
  const response = await fetch(url, { headers: { accept: 'application/json' } })
  const { status, headers } = response
  if (status >= 300 && status < 400) {
    throw new AnswerError(`${url} redirects, which is not followed. Name the final address.`)
  }
  if (status !== 200) {
    const Failure = status < 500 ? AnswerError : OutboundError
    throw new Failure(`${url} responded with the status ${status}.`)
  }
  const text = decodeUtf8(new Uint8Array(await response.arrayBuffer()))
  const value = text === undefined ? undefined : parseJson(text)
  if (value === undefined) throw new AnswerError(`${url} does not serve JSON.`)
  return { value, headers }
}

/**
 * Networks without public hosts, from the IANA special-purpose registries (RFC 6890): private, shared,
 * loopback, link-local (with the metadata services of clouds), documentation, multicast, reserved.
 */
const specialNetworks: readonly [network: string, bits: number, family: 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
  // Tunnels that carry an IPv4 address (Teredo, 6to4), and documentation.
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
]

const special = new BlockList()
for (const [network, bits, family] of specialNetworks) special.addSubnet(network, bits, family)

/** The only IPv6 addresses assigned to public hosts (RFC 4291 section 2.4): not mapped, ULA or NAT64. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/** Whether the address may belong to a host of the public Internet. */
function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !special.check(address, 'ipv4')
  // A zone (`fe80::1%eth0`) exists only for addresses that are not public.
  if (version !== 6 || address.includes('%')) return false
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
}
