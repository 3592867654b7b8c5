import { bitLength, gcd, modPow } from '../arithmetic.ts'
import { lazy } from './lazy.ts'
import { product, smallPart, smallPrimes } from './primes.ts'

/** Bound of Pollard's p - 1 method. */
const smoothnessBound = 65536

/**
 * If the product of the small primes that divide n - 1 has more bits, p = q = 1 modulo that product.
 * Random primes reach 2^60 once in 600 keys, 2^100 once in a million and 2^160 once in 4·10^11; an
 * attack needs n^(1/4), which is 2^512 for the smallest key (McKee and Pinch, "Further attacks on
 * server-aided RSA cryptosystems", 1998).
 */
const maxCommonSmoothBits = 160

/** Length in bits of the product of the distinct primes below 65536 that divide n - 1. */
export function smoothBitsBelow(n: bigint): number {
  const part = smallPart(n - 1n)
  return bitLength(part % 65537n === 0n ? part / 65537n : part)
}

/** Whether p - 1 and q - 1, and therefore n - 1, are divisible by the same many small primes. */
export function describeCommonSmoothPart(n: bigint): string | undefined {
  const bits = smoothBitsBelow(n)
  if (bits <= maxCommonSmoothBits) return undefined
  return `Both primes of this key are 1 modulo the same ${bits}-bit product of small primes.`
}

const smoothExponent = lazy(() => {
  const powers = smallPrimes()
    .filter((prime) => prime <= smoothnessBound)
    .map(
      (prime) => BigInt(prime) ** BigInt(Math.floor(Math.log(smoothnessBound) / Math.log(prime))),
    )
  return product(powers)
})

/**
 * Pollard's p - 1 method to the bound 2^16 (0.4 s for 2048 bits, 3 s for 8192). The exponent also
 * contains n - 1, which covers p - 1 = b·m for smooth b and an m that divides q - 1, too. Returns a
 * factor of odd `n`, or `n` itself if the method finds all its primes at once.
 */
export function pollardFactor(n: bigint): bigint | undefined {
  const power = modPow(2n, smoothExponent() * (n - 1n), n)
  const factor = gcd(n, (power + n - 1n) % n)
  return factor > 1n ? factor : undefined
}

/** A prime p with only small factors in p - 1 (FIPS 186-5 A.1.1 requires auxiliary primes). */
export function describeSmoothPrime(n: bigint): string | undefined {
  if (pollardFactor(n) === undefined) return undefined
  return "A prime p of this key has only small factors in p - 1 (found by Pollard's method)."
}
