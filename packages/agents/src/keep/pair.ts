import { createPrivateKey, createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import {
  isAlgorithm,
  type JwsAlgorithm,
  jwsAlgorithmOf,
  matchingAlgorithms,
} from '@pubring/intake/algorithms'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose'

/** A key pair, by its private JWK (RFC 7517). */
export interface Pair {
  jwk: JWK
  alg: JwsAlgorithm
  /** Undefined until it is registered. */
  kid?: string
}

export async function newPair(alg: JwsAlgorithm): Promise<Pair> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 3_072 })
  return { jwk: await exportJWK(privateKey), alg }
}

/** The pair of a private key, for the usual algorithm of such keys unless another is named. */
export function pairOf(key: KeyObject, alg?: JwsAlgorithm): Pair {
  const jwk = key.export({ format: 'jwk' })
  const [usual] = Object.entries(matchingAlgorithms).find(([kind]) => kind === jwk.crv)?.[1] ?? []
  return { jwk, alg: alg ?? jwsAlgorithmOf(isAlgorithm(jwk.alg) ? jwk.alg : (usual ?? 'RSA')) }
}

export function formatPair({ jwk, alg, kid }: Pair): string {
  return `${JSON.stringify({ ...jwk, use: 'sig', alg, kid }, null, 2)}\n`
}

/** The pair that `formatPair` wrote; undefined for any other text. */
export function parsePair(text = ''): Pair | undefined {
  const value = parseJson(text)
  if (!isObject(value)) return undefined
  const { use: _use, alg, kid, ...jwk } = value
  if (!isAlgorithm(alg)) return undefined
  // An AKP key has `alg` among its own members.
  const own: JWK = jwk.kty === 'AKP' ? { ...jwk, alg } : jwk
  return { jwk: own, alg: jwsAlgorithmOf(alg), ...(typeof kid === 'string' && { kid }) }
}

export const thumbprintOf = ({ jwk }: Pick<Pair, 'jwk'>) => calculateJwkThumbprint(jwk)

export function publicPem(pair: Pair): string {
  const publicKey = createPublicKey(privateKeyOf(pair))
  return publicKey.export({ type: 'spki', format: 'pem' }).toString()
}

export function privatePem(pair: Pair): string {
  return privateKeyOf(pair).export({ type: 'pkcs8', format: 'pem' }).toString()
}

function privateKeyOf({ jwk }: Pair): KeyObject {
  return createPrivateKey({ key: { ...jwk }, format: 'jwk' })
}

/** A JWT. Leaves out claims that are undefined. */
export function sign(
  key: KeyObject,
  header: JWTHeaderParameters,
  claims: Record<string, unknown>,
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader(header).sign(key)
}

/** Seconds that a proof is valid; at most 5 minutes are accepted. */
const proofSeconds = 120

/** A token of this type by which the key speaks for itself to the server. */
export function signProof(
  pair: Pair,
  typ: string,
  { issuer, nowMs, ...claims }: { issuer: string; nowMs: number } & Record<string, unknown>,
): Promise<string> {
  const { alg, kid } = pair
  const aud = issuer.replace(/\/v1\/projects\/[^/]*$/, '')
  const exp = Math.floor(nowMs / 1_000) + proofSeconds
  const header = { alg, typ, ...(kid !== undefined && { kid }) }
  return sign(privateKeyOf(pair), header, { ...claims, iss: issuer, aud, exp, jti: randomUUID() })
}
