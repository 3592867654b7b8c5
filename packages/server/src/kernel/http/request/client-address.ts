import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { Address6 } from 'ip-address'

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
