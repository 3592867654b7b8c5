import { bitLength } from '../arithmetic.ts'
import type { Fault } from '../types.ts'
import { makeNewKey } from './fault.ts'

/** RFC 7518 sections 3.3 and 3.5: "A key of size 2048 bits or larger MUST be used". */
const minimumBits = 2048
/** Every reader pays for a large modulus; Go's TLS and SSH stop here (CVE-2023-29409). */
export const maximumBits = 8192
/** FIPS 186-5 A.1.1: 2^16 < e < 2^256. */
const minimumExponent = 65537n
/** What verifiers with a signed 32-bit exponent still read (Go's crypto/rsa). */
const maximumExponent = 2n ** 31n - 1n

/** Size and parity of the modulus (BR 6.1.5 and 6.1.6, SP 800-89 section 5.3.3). */
export function checkModulusForm(n: bigint): Fault[] {
  if (n <= 0n) {
    const detail = `The RSA modulus must be a positive number. ${makeNewKey}`
    return [{ code: 'rsa_modulus_not_positive', detail }]
  }
  const size = checkSize(bitLength(n))
  if ((n & 1n) === 1n) return size
  const detail = `The RSA modulus is even, so one of its primes is 2. ${makeNewKey}`
  return [...size, { code: 'rsa_modulus_even', detail }]
}

function checkSize(bits: number): Fault[] {
  if (bits < minimumBits) {
    const detail = `The RSA key has ${bits} bits; at least ${minimumBits} are needed. ${makeNewKey}`
    return [{ code: 'rsa_modulus_too_small', detail }]
  }
  if (bits > maximumBits) {
    const detail = `The RSA key has ${bits} bits; at most ${maximumBits} are allowed. ${makeNewKey}`
    return [{ code: 'rsa_modulus_too_large', detail }]
  }
  if (bits % 8 !== 0) {
    const detail = `The RSA key has ${bits} bits; the number must be a multiple of 8. ${makeNewKey}`
    return [{ code: 'rsa_modulus_bits_unsupported', detail }]
  }
  return []
}

/** The public exponent (BR 6.1.6, FIPS 186-5 A.1.1). At most one fault. */
export function checkExponent(n: bigint, e: bigint): Fault[] {
  const remedy = `Use ${minimumExponent}. ${makeNewKey}`
  if (e === 1n) {
    const detail = `The RSA exponent 1 lets anybody forge signatures. ${remedy}`
    return [{ code: 'rsa_exponent_invalid', detail }]
  }
  if (e < 3n || (e & 1n) === 0n) {
    const found = e < 0n ? 'negative' : `${e === 0n ? 'zero' : 'even'}`
    const detail = `The RSA exponent is ${found}; it must be an odd positive number. ${remedy}`
    return [{ code: 'rsa_exponent_invalid', detail }]
  }
  if (e < minimumExponent) {
    const detail = `The RSA exponent is ${e}; at least ${minimumExponent} is needed. ${remedy}`
    return [{ code: 'rsa_exponent_too_small', detail }]
  }
  if (e > maximumExponent || (n > 0n && e >= n)) {
    const found = `The RSA exponent has ${bitLength(e)} bits`
    const limit = e > maximumExponent ? `${maximumExponent} (2^31 - 1)` : 'the modulus less 1'
    const detail = `${found}; it may be at most ${limit}, as verifiers do not read more. ${remedy}`
    return [{ code: 'rsa_exponent_too_large', detail }]
  }
  return []
}
