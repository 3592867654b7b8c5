import { canonicalJson } from '../log/chain.ts'
import { type Bytes, base64urlDigest } from '../log/encoding.ts'
import type { Jwk } from '../types.ts'
import { KeySetError } from './errors.ts'

/** A WebCrypto public key for verification. */
export type VerifyKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** The members that make up the key. Others, such as `use`, are treated differently by runtimes. */
const members = new Map([
  ['RSA', ['kty', 'n', 'e']],
  ['EC', ['kty', 'crv', 'x', 'y']],
  ['OKP', ['kty', 'crv', 'x']],
  ['AKP', ['kty', 'alg', 'pub']],
])

type KeyMembers = Record<string, string | undefined>

/** RFC 7638, SHA-256, base64url. */
export function thumbprintOf(jwk: KeyMembers): Promise<string> {
  return base64urlDigest(canonicalJson(keyMaterial(jwk)))
}

function keyMaterial(jwk: KeyMembers): Record<string, string> {
  const names = members.get(jwk.kty ?? '') ?? []
  return Object.fromEntries(names.map((name) => [name, jwk[name] ?? '']))
}

/** WebCrypto's parameters for the algorithms of RFC 7518, RFC 8037, RFC 9864 and RFC 9964. */
function importParameters(alg: string) {
  const hash = `SHA-${alg.slice(2)}`
  if (/^RS(256|384|512)$/.test(alg)) return { name: 'RSASSA-PKCS1-v1_5', hash }
  if (/^PS(256|384|512)$/.test(alg)) return { name: 'RSA-PSS', hash }
  if (alg === 'ES256') return { name: 'ECDSA', namedCurve: 'P-256' }
  if (alg === 'ES384') return { name: 'ECDSA', namedCurve: 'P-384' }
  if (alg === 'ES512') return { name: 'ECDSA', namedCurve: 'P-521' }
  if (alg === 'EdDSA' || alg === 'Ed25519') return { name: 'Ed25519' }
  if (/^ML-DSA-(44|65|87)$/.test(alg)) return { name: alg }
  return undefined
}

/** Throws `algorithm_unsupported` if the runtime does not support the key's algorithm. */
export async function importKey(jwk: Jwk): Promise<VerifyKey> {
  const parameters = importParameters(jwk.alg)
  if (parameters === undefined) throw unsupported(jwk)
  try {
    return await crypto.subtle.importKey('jwk', keyMaterial(jwk), parameters, false, ['verify'])
  } catch (cause) {
    throw unsupported(jwk, cause)
  }
}

/** Whether the key, whose algorithm is `alg`, has made the signature (RFC 7518, RFC 8037, RFC 9964). */
export function isSignature(
  key: VerifyKey,
  alg: string,
  signature: Bytes,
  signed: Bytes,
): Promise<boolean> {
  const bits = Number(alg.slice(2))
  const parameters = /^[RPE]S\d/.test(alg) ? { hash: `SHA-${bits}`, saltLength: bits / 8 } : {}
  const algorithm = { name: key.algorithm.name, ...parameters }
  return crypto.subtle.verify(algorithm, key, signature, signed)
}

function unsupported({ alg, kid }: Jwk, cause?: unknown): KeySetError {
  return new KeySetError(
    'algorithm_unsupported',
    `The WebCrypto of this runtime does not support ${alg}, the algorithm of the key ${kid}. Use a newer runtime (ML-DSA: Node 24.7 or later), or sign with another algorithm.`,
    { cause },
  )
}
