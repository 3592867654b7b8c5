import type { FastifyRequest } from 'fastify'
import { clientAddress } from '../../../kernel/http/request/headers.ts'
import { present } from '../../../runtime/present.ts'
import type { Device } from '../stored.ts'

type Names = readonly (readonly [pattern: RegExp, name: string])[]

/** In an order in which those come later that others imitate. */
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

/** The browser and its system, by names of ours: nothing of the header itself is stored. */
export function browserOf(userAgent: string): string | undefined {
  const nameIn = (names: Names) => names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? []
  const known = [nameIn(browsers), nameIn(systems)].flat().join(' on ')
  return known === '' ? undefined : known
}

/** By what people tell the sessions apart that begin with such requests. */
export function deviceOf(request: Pick<FastifyRequest, 'headers' | 'ip'>): Device {
  const client = browserOf(request.headers['user-agent'] ?? '')
  return present({ client, address: clientAddress(request) })
}
