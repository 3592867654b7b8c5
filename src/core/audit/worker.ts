import type { Algorithm } from '../../contract/algorithms.ts'
import { base64urlToBigInt } from '../../intake/encoding/bytes.ts'
import { examineKey } from '../../intake/index.ts'
import { auditRsa } from '../../intake/rsa/index.ts'
import type { Fault } from '../../intake/types.ts'

export { sharedPrimes } from '../../intake/rsa/index.ts'

export interface KeyToExamine {
  publicKeyPem: string
  algorithm: Algorithm
}

/** Every audit checks every key against the block lists before it examines any. */
const noBlocklist = { has: () => false }

/**
 * The faults of a stored key by the current intake rules and, for RSA, by searches that are too slow
 * for intake: 0.4 s of computing at 2048 bits, 3 s at 8192.
 */
export function examineSlowly({ publicKeyPem, algorithm }: KeyToExamine): Fault[] {
  const verdict = examineKey(publicKeyPem, algorithm, noBlocklist)
  if (!verdict.ok) return verdict.faults
  const { jwk } = verdict.key
  return jwk.kty === 'RSA' ? auditRsa(base64urlToBigInt(jwk.n), base64urlToBigInt(jwk.e)) : []
}
