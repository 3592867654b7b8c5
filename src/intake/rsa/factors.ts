import { checkPrimeSync } from 'node:crypto'
import { bitLength, powerOfTwo } from '../arithmetic.ts'
import type { Fault } from '../types.ts'
import { makeNewKey } from './fault.ts'
import { smallPrimeDivisors } from './primes.ts'

/** The smallest prime up to 65537 that divides `n`, if there is one. */
export function smallFactor(n: bigint): number | undefined {
  for (const prime of smallPrimeDivisors(n)) return prime
  return undefined
}

/**
 * A modulus with a small prime factor is damaged or was never an RSA modulus (BR 6.1.6 asks for no
 * factor below 752; Boulder's goodkey, badkeys `smallfactors`).
 */
export function checkSmallFactor(n: bigint): Fault | undefined {
  const factor = smallFactor(n)
  if (factor === undefined) return undefined
  const found = `The RSA modulus is divisible by ${factor}: it is damaged or no RSA modulus at all.`
  return { code: 'rsa_small_factor', detail: `${found} ${makeNewKey}` }
}

/** Above this size OpenSSL's proof that a prime is prime takes seconds, not rounds. */
const largestForOpenSsl = 4096

/**
 * Whether odd `n` is a prime. OpenSSL finds a composite number in one round, but tries 64 to 128
 * rounds on a prime (11 s for 8192 bits), which would let a key hold a thread. Larger numbers
 * therefore get one Fermat test to the base 2 in BigInt (0.2 s for 8192 bits): it knows every prime,
 * and a product of two random primes passes it with no chance worth naming.
 */
export function isProbablePrime(n: bigint): boolean {
  if (bitLength(n) <= largestForOpenSsl) return checkPrimeSync(n, { checks: 1 })
  return powerOfTwo((n - 1n).toString(16), n) === 1n
}

/** With a prime modulus the private exponent is e^-1 mod (n - 1) (SP 800-89 section 5.3.3). */
export function checkComposite(n: bigint): Fault | undefined {
  if (!isProbablePrime(n)) return undefined
  const found = 'The RSA modulus is a prime number, so anybody can compute the private key.'
  return { code: 'rsa_modulus_not_composite', detail: `${found} ${makeNewKey}` }
}
