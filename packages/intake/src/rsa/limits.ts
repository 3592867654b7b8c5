import { bitLength } from '../arithmetic.ts'
import type { IntakeCode } from '../codes.ts'
import { commands } from '../commands.ts'
import type { Fault } from '../types.ts'

/** RFC 7518 sections 3.3 and 3.5: "A key of size 2048 bits or larger MUST be used". */
const minBits = 2048
/** A large modulus slows down every verifier; Go's TLS and SSH stop here (CVE-2023-29409). */
export const maxBits = 8192
/** FIPS 186-5 A.1.1: 2^16 < e < 2^256. */
const minExponent = 65537n
/** Verifiers with a signed 32-bit exponent read no more (Go's crypto/rsa). */
const maxExponent = 2n ** 31n - 1n

/** A fault that only a new key removes. */
export function weakness(code: IntakeCode, finding: string): Fault {
  return { code, detail: `${finding} Generate a new key: ${commands.generateRsa}` }
}

/** Checks size and parity of the modulus (BR 6.1.5 and 6.1.6, SP 800-89 section 5.3.3). */
export function checkModulusForm(n: bigint): Fault[] {
  if (n <= 0n) {
    const found = n === 0n ? 'zero' : 'negative'
    const detail = `The RSA modulus is ${found}: the key is damaged. Export it again from the private key: ${commands.exportPublic}`
    return [{ code: 'rsa_modulus_not_positive', detail }]
  }
  const size = checkSize(bitLength(n))
  if ((n & 1n) === 1n) return size
  return [...size, weakness('rsa_modulus_even', 'The RSA modulus is even, so one prime is 2.')]
}

function checkSize(bits: number): Fault[] {
  const found = `The RSA key has ${bits} bits;`
  if (bits < minBits) {
    return [weakness('rsa_modulus_too_small', `${found} at least ${minBits} are required.`)]
  }
  if (bits > maxBits) {
    return [weakness('rsa_modulus_too_large', `${found} at most ${maxBits} are allowed.`)]
  }
  if (bits % 8 === 0) return []
  return [weakness('rsa_modulus_bits_unsupported', `${found} a multiple of 8 is required.`)]
}

/** Checks the public exponent (BR 6.1.6, FIPS 186-5 A.1.1). Returns at most one fault. */
export function checkExponent(n: bigint, e: bigint): Fault[] {
  const remedy = `Use ${minExponent}.`
  if (e === 1n) {
    const found = 'With the RSA exponent 1, anyone can forge signatures.'
    return [weakness('rsa_exponent_invalid', `${found} ${remedy}`)]
  }
  if (e < 3n || (e & 1n) === 0n) {
    const found = e < 0n ? 'negative' : e === 0n ? 'zero' : 'even'
    return [weakness('rsa_exponent_invalid', `The RSA exponent is ${found}. ${remedy}`)]
  }
  if (e < minExponent) {
    const found = `The RSA exponent is ${e}; at least ${minExponent} is required.`
    return [weakness('rsa_exponent_too_small', `${found} ${remedy}`)]
  }
  if (e > maxExponent || (n > 0n && e >= n)) {
    const limit = e > maxExponent ? `${maxExponent} (2^31 - 1)` : 'the modulus less 1'
    const found = `The RSA exponent has ${bitLength(e)} bits; verifiers read at most ${limit}.`
    return [weakness('rsa_exponent_too_large', `${found} ${remedy}`)]
  }
  return []
}
