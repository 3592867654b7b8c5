import { examineKey, type Fault, type PublicJwk } from '@pubring/intake'
import type { Algorithm } from '@pubring/intake/algorithms'
import { base64urlToBigInt } from '@pubring/intake/encoding'
import { auditRsa } from '@pubring/intake/rsa'

export { sharedPrimes } from '@pubring/intake/shared-primes'

export interface KeyToExamine {
  publicKeyPem: string
  algorithm: Algorithm
  jwk: PublicJwk
}

/** Every audit checks every key against the block lists before it examines any. */
const noBlocklist = { has: () => false }

/**
 * The faults of a stored key by the current intake rules and, for RSA, by searches that are too slow
 * for intake: 0.4 s of computing at 2048 bits, 3 s at 8192.
 */
export function examineSlowly({ publicKeyPem, algorithm, jwk }: KeyToExamine): Fault[] {
  const verdict = examineKey(publicKeyPem, algorithm, noBlocklist)
  const faults = verdict.ok ? [] : verdict.faults
  if (jwk.kty !== 'RSA') return faults
  const numeric = auditRsa(base64urlToBigInt(jwk.n), base64urlToBigInt(jwk.e))
  const known = new Set(faults.map(({ code }) => code))
  return [...faults, ...numeric.filter(({ code }) => !known.has(code))]
}
