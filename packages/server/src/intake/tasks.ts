import type { Algorithm } from '@pubring/intake/algorithms'
import { base64urlToBigInt } from '@pubring/intake/encoding'
import { sharesPrime } from '@pubring/intake/shared-primes'

/** One key for a worker thread to examine. */
export interface IntakeTask {
  text: string
  algorithm?: Algorithm | undefined
}

/** How a worker thread examines keys. */
export interface IntakeSettings {
  /** The operator's block list: records that `createBlocklist` has checked, in shared memory. */
  records: Uint8Array
}

/** RSA moduli in base64url: each from index `from` on is compared with all before it. */
export interface PrimesTask {
  moduli: string[]
  from: number
}

/** For each modulus from `from` on, the index of an earlier one that shares a prime with it. */
export function findSharedPrimes({ moduli, from }: PrimesTask): (number | undefined)[] {
  const numbers = moduli.map(base64urlToBigInt)
  return numbers.slice(from).map((n, index) => sharesPrime(n, numbers.slice(0, from + index)))
}
