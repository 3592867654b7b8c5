import type { KeyRecord } from '../records.ts'
import { isoTime, latest } from '../times.ts'

/** Seconds within which every replica serves a change: the contract's bound on the JWKS. */
const propagationSeconds = 1

/**
 * The one rule of what is trusted: switched on, and not expired. The list, the JWKS and the token
 * check all ask it. A key is no longer active at the very millisecond of its `expireTime`.
 */
export function isActive(key: Pick<KeyRecord, 'enabled' | 'expireTime'>, now: string): boolean {
  return key.enabled && (key.expireTime === undefined || key.expireTime > now)
}

/**
 * When the last verifier that honours the cache headers has the key's present state: the last
 * change of it (an expiry that has passed is one) + propagation + the JWKS's max-age in seconds.
 */
export function convergedTime(key: KeyRecord, time: string, jwksMaxAge: number): string {
  const expired = key.expireTime !== undefined && key.expireTime <= time
  const changed = expired ? latest(key.publishTime, key.expireTime ?? '') : key.publishTime
  return isoTime(Date.parse(changed) + (propagationSeconds + jwksMaxAge) * 1000)
}

/** The key's entry in the JWKS (RFC 7517): its own public members and nothing internal. */
function jwksEntry(key: KeyRecord): Record<string, string> {
  const { kty, ...members } = key.jwk
  return { kty, use: 'sig', kid: key.id, ...members, alg: key.jwsAlgorithm }
}

/** The JWKS document as text: one entry per active key, in list order, the same on every process. */
export function jwksText(keys: readonly KeyRecord[], now: string): string {
  return JSON.stringify({ keys: keys.filter((key) => isActive(key, now)).map(jwksEntry) })
}

/** A key as far as its place in the JWKS goes; its JWK as the text that is stored. */
export type JwksPart = Pick<KeyRecord, 'id' | 'jwsAlgorithm' | 'enabled' | 'expireTime'> & {
  jwkText: string
}

/** `jwksText(keys, now).length`, without reading or writing any JWK. */
export function jwksOctets(parts: readonly JwksPart[], now: string): number {
  const active = parts.filter((part) => isActive(part, now))
  const commas = Math.max(0, active.length - 1)
  return active.reduce((sum, part) => sum + entryOctets(part), jwksText([], now).length + commas)
}

/** The JWK with the members that an entry has besides: a comma in place of their braces. */
function entryOctets({ id, jwsAlgorithm, jwkText }: JwksPart): number {
  // That of an AKP key has its algorithm already (RFC 9964).
  const alg = jwkText.includes('"alg":') ? {} : { alg: jwsAlgorithm }
  return jwkText.length + JSON.stringify({ use: 'sig', kid: id, ...alg }).length - 1
}

/**
 * Counts the octets of the JWKS as keys join it: `jwksText(keys, now).length` without writing the
 * whole of it for each key.
 */
export function jwksLength(keys: readonly KeyRecord[], now: string) {
  const active = keys.filter((key) => isActive(key, now))
  const entryLength = (key: KeyRecord) => JSON.stringify(jwksEntry(key)).length
  let length = jwksText([], now).length + active.reduce((sum, key) => sum + entryLength(key), 0)
  let entries = active.length
  const withCommas = (octets: number, count: number) => octets + Math.max(0, count - 1)
  return {
    now: () => withCommas(length, entries),
    /** What it would be with the key as well. */
    with: (key: KeyRecord) =>
      isActive(key, now)
        ? withCommas(length + entryLength(key), entries + 1)
        : withCommas(length, entries),
    add(key: KeyRecord) {
      if (!isActive(key, now)) return
      length += entryLength(key)
      entries += 1
    },
  }
}

/** The issuer of a project's tokens: from configuration alone, by id, since names change. */
export function issuerOf(publicUrl: string, projectId: string): string {
  return `${publicUrl}/v1/projects/${projectId}`
}

/**
 * The discovery document (OpenID Connect Discovery 1.0 section 3): what verifiers need to find the
 * keys, and no endpoint that does not exist. RS256 is listed always, since that section demands it.
 */
export function discoveryText(issuer: string, keys: readonly KeyRecord[], now: string): string {
  const present = keys.filter((key) => isActive(key, now)).map((key) => key.jwsAlgorithm)
  return JSON.stringify({
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(['RS256', ...present])].sort(),
  })
}
