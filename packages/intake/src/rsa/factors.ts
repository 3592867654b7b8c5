import { checkPrimeSync } from 'node:crypto'
import { bitLength, modPow } from '../arithmetic.ts'
import { smallPart, smallPrimes } from './primes.ts'

/** The smallest prime up to 65537 that divides `n`. */
export function smallFactor(n: bigint): number | undefined {
  const part = smallPart(n)
  return part === 1n ? undefined : smallPrimes().find((prime) => part % BigInt(prime) === 0n)
}

/**
 * A modulus with a small prime factor is damaged or not an RSA modulus (BR 6.1.6 requires no factor
 * below 752; Boulder's goodkey, badkeys `smallfactors`).
 */
export function describeSmallFactor(n: bigint): string | undefined {
  const factor = smallFactor(n)
  if (factor === undefined) return undefined
  return `The RSA modulus is divisible by ${factor}: it is damaged or not an RSA modulus.`
}

/** For a larger prime, OpenSSL's test takes seconds. */
const maxBitsForOpenssl = 4096

/**
 * Whether odd `n` is prime. OpenSSL detects a composite number in one round but runs 64 to 128
 * rounds on a prime (11 s for 8192 bits), which would let a key block a thread. Larger numbers
 * therefore get one Fermat test to the base 2 with BigInt (0.2 s for 8192 bits): it detects every
 * prime, and a product of two random primes passes it with negligible probability.
 */
export function isProbablePrime(n: bigint): boolean {
  if (bitLength(n) <= maxBitsForOpenssl) return checkPrimeSync(n, { checks: 1 })
  return modPow(2n, n - 1n, n) === 1n
}

/** With a prime modulus, the private exponent is e^-1 mod (n - 1) (SP 800-89 section 5.3.3). */
export function describePrime(n: bigint): string | undefined {
  if (!isProbablePrime(n)) return undefined
  return 'The RSA modulus is a prime number, so anyone can compute the private key.'
}
