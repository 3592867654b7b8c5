import { createPrivateKey, createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { identifyKey } from '@pubring/intake'
import { type JwsAlgorithm, jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { AgentError } from '../error.ts'

/** A private JWK (RFC 7517) of a signing key. It has a `kid` once it is registered. */
export type Pair = JWK & { alg: JwsAlgorithm }

export async function newPair(alg: JwsAlgorithm): Promise<Pair> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: 3_072 })
  return { ...(await exportJWK(privateKey)), use: 'sig', alg }
}

/** The pair of a private key, for its usual algorithm unless another is named. */
export function pairOf(key: KeyObject, alg = usualAlgorithm(key)): Pair {
  if (alg === undefined) throw new AgentError('error', 'The key of --from cannot sign tokens.')
  return { ...key.export({ format: 'jwk' }), use: 'sig', alg }
}

/**
 * The first algorithm of the key, but EdDSA rather than Ed25519 (RFC 9864), which fewer verifiers know;
 * undefined if it cannot sign tokens.
 */
export function usualAlgorithm(key: KeyObject): JwsAlgorithm | undefined {
  const usual = identifyKey(publicPem(key))?.algorithms.find((name) => name !== 'Ed25519')
  return usual && jwsAlgorithmOf(usual)
}

export function privateKeyOf(pair: Pair): KeyObject {
  return createPrivateKey({ key: { ...pair }, format: 'jwk' })
}

export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
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
