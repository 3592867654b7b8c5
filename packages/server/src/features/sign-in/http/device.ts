import type { FastifyRequest } from 'fastify'
import { clientAddress } from '../../../kernel/http/request/headers.ts'
import { present } from '../../../runtime/present.ts'
import type { Device } from '../stored.ts'

type Names = readonly (readonly [pattern: RegExp, name: string])[]

/** A browser also names those that it imitates, so these come later. */
const browsers: Names = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/.* Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
]
const systems: Names = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Names the browser and its system, so that nothing of the header itself is stored. */
export function browserOf(userAgent: string): string | undefined {
  const nameIn = (names: Names) => names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? []
  const known = [nameIn(browsers), nameIn(systems)].flat().join(' on ')
  return known === '' ? undefined : known
}

/** The browser and the address of a request that signs in. */
export function deviceOf(request: Pick<FastifyRequest, 'headers' | 'ip'>): Device {
  const client = browserOf(request.headers['user-agent'] ?? '')
  return present({ client, address: clientAddress(request) })
}
