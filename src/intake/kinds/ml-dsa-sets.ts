import { oid } from '../encoding/oids.ts'

/** A parameter set of ML-DSA (FIPS 204 table 1). */
export interface MlDsa {
  name: 'ML-DSA-44' | 'ML-DSA-65' | 'ML-DSA-87'
  oid: string
  /** Bytes of a public key: 32 for rho and 320 for each row of t1. */
  length: number
  /** Bytes of an expanded private key. */
  expandedLength: number
  /** The low-order rounding range. */
  gamma2: number
}

export const mlDsaSets: readonly MlDsa[] = [
  { name: 'ML-DSA-44', oid: oid.mlDsa44, length: 1312, expandedLength: 2560, gamma2: 95_232 },
  { name: 'ML-DSA-65', oid: oid.mlDsa65, length: 1952, expandedLength: 4032, gamma2: 261_888 },
  { name: 'ML-DSA-87', oid: oid.mlDsa87, length: 2592, expandedLength: 4896, gamma2: 261_888 },
]
