import { isIP } from 'node:net'
import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'

/**
 * Identifies a client by its IPv4 address or the /64 of its IPv6 address, as far as trusted proxies
 * reveal it. Clients that share a proxy or a NAT share an address.
 */
export function clientAddress({ ip }: Pick<FastifyRequest, 'ip'>): string {
  return isIP(ip) === 0 ? 'unknown' : normalizeIP(ip.replace(/%.*$/, ''))
}
