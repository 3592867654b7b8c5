import { isInCommonJwks, type JwsAlgorithm } from '@pubring/intake/algorithms'
import { isActive, isoTime, latest } from '../../kernel/values/times.ts'
import { kidOf } from './kids.ts'
import type { KeyRecord } from './stored.ts'

/** Every replica serves a change within this time. */
const propagationSeconds = 1

/**
 * From this time on every verifier that honors the cache headers knows the key's current state: its
 * last change (an expiry is one) plus the propagation time and `jwksMaxAge` (seconds).
 */
export function convergedTime(key: KeyRecord, time: string, jwksMaxAge: number): string {
  const expired = key.expireTime !== undefined && key.expireTime <= time
  const changed = expired ? latest(key.publishTime, key.expireTime ?? '') : key.publishTime
  return convergence(changed, jwksMaxAge)
}

/** The time from which every verifier knows of a change at `changeTime` (ISO 8601). */
export function convergence(changeTime: string, jwksMaxAge: number): string {
  return isoTime(Date.parse(changeTime) + (propagationSeconds + jwksMaxAge) * 1000)
}

/** The same for its last activation alone: a new `expireTime` does not make an active key unknown. */
export function activationConvergedTime(key: KeyRecord, jwksMaxAge: number): string {
  return convergence(activationTime(key), jwksMaxAge)
}

/** When an active key became active. */
export function activationTime({ activateTime, publishTime }: KeyRecord): string {
  return activateTime ?? publishTime
}

/** The key's entry in the JWKS (RFC 7517): public members only. */
export function jwksEntry(key: KeyRecord): Record<string, string> {
  const { kty, ...members } = key.jwk
  return { kty, use: 'sig', kid: kidOf(key), ...members, alg: key.jwsAlgorithm }
}

/** The members that decide the size of a key's JWKS entry; `jwkText` is the stored JSON of its JWK. */
export type JwksMember = Pick<
  KeyRecord,
  'id' | 'publishedKid' | 'jwsAlgorithm' | 'enabled' | 'expireTime'
> & { jwkText: string }

export function withJwkText(key: KeyRecord): KeyRecord & JwksMember {
  return { ...key, jwkText: JSON.stringify(key.jwk) }
}

const emptyJwksBytes = '{"keys":[]}'.length

/**
 * The length of the full JWKS, which is never shorter than the other, without parsing or writing a
 * JWK. With `before`, the size of a JWKS of other keys, the size once these join it.
 */
export function jwksBytes(
  keys: readonly JwksMember[],
  now: string,
  before = emptyJwksBytes,
): number {
  let bytes = before
  for (const key of keys) {
    if (!isActive(key, now)) continue
    const comma = bytes === emptyJwksBytes ? 0 : 1
    bytes += comma + entryBytes(key)
  }
  return bytes
}

/** The stored JWK and the members added to it; one comma replaces the two braces between them. */
function entryBytes(key: JwksMember): number {
  const { jwsAlgorithm, jwkText } = key
  // The JWK of an AKP key holds `alg` already (RFC 9964).
  const alg = jwkText.includes('"alg":') ? {} : { alg: jwsAlgorithm }
  return jwkText.length + JSON.stringify({ use: 'sig', kid: kidOf(key), ...alg }).length - 1
}

/** The issuer of a project's tokens. It holds the id, because names change. */
export function issuerOf(publicUrl: string, projectId: string): string {
  return `${publicUrl}/v1/projects/${projectId}`
}

/**
 * The discovery document, with the members that lead verifiers to the keys. It lists the allowed
 * algorithms and those of published keys, since common verifiers read it once and then reject every
 * other algorithm; and RS256, as OpenID Connect Discovery 1.0 section 3 requires.
 */
export function discoveryText(
  issuer: string,
  published: readonly JwsAlgorithm[],
  allowed: readonly JwsAlgorithm[],
): string {
  const all = ['RS256' as const, ...allowed, ...published]
  const common = all.filter((algorithm) => isInCommonJwks({ algorithm }))
  return JSON.stringify({
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(common)].sort(),
  })
}
