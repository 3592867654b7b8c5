import type { Algorithm } from '../../contract/algorithms.ts'
import { base64urlToBigInt } from '../../intake/encoding/bytes.ts'
import { examineKey } from '../../intake/index.ts'
import { auditRsa, type SharedPrime, sharedPrimes } from '../../intake/rsa/index.ts'
import type { Fault } from '../../intake/types.ts'

export interface KeyToExamine {
  publicKeyPem: string
  algorithm: Algorithm
}

/** The block lists are asked about every key at every audit, so not here as well. */
const noBlocklist = { has: () => false }

/**
 * What today's rules say of a stored key, and for RSA the searches that are too slow for intake:
 * 0.4 s of computing at 2048 bits, 3 s at 8192.
 */
export function examineSlowly({ publicKeyPem, algorithm }: KeyToExamine): Fault[] {
  const verdict = examineKey(publicKeyPem, algorithm, noBlocklist)
  if (!verdict.ok) return verdict.faults
  const { jwk } = verdict.key
  return jwk.kty === 'RSA' ? auditRsa(base64urlToBigInt(jwk.n), base64urlToBigInt(jwk.e)) : []
}

export function findSharedPrimes(moduli: readonly bigint[]): SharedPrime[] {
  return sharedPrimes(moduli)
}
