import { bitLength, gcd, powerOfTwo } from '../arithmetic.ts'
import type { Fault } from '../types.ts'
import { makeNewKey } from './fault.ts'
import { lazy } from './lazy.ts'
import { product, smallPrimeDivisors, smallPrimes } from './primes.ts'

/** Bound of Pollard's p - 1 method: every prime power up to it. */
const smoothnessBound = 65536

/**
 * Size in bits from which the product of the small primes that divide n - 1 betrays p = q = 1 modulo
 * that product. Random primes come to 2^60 once in 600 keys, to 2^100 once in a million, to 2^160
 * once in 4·10^11; an attack needs n^(1/4), 2^512 for the smallest key (McKee and Pinch, "Further
 * attacks on server-aided RSA cryptosystems", 1998).
 */
const largestCommonSmoothBits = 160

/** Bits in the product of the distinct primes below 65536 that divide n - 1. */
export function smoothBitsBelow(n: bigint): number {
  let common = 1n
  for (const prime of smallPrimeDivisors(n - 1n)) {
    if (prime <= smoothnessBound) common *= BigInt(prime)
  }
  return bitLength(common)
}

/** p - 1 and q - 1 are divisible by the same many small primes, so that n - 1 is, too. */
export function checkCommonSmoothPart(n: bigint): Fault | undefined {
  const bits = smoothBitsBelow(n)
  if (bits <= largestCommonSmoothBits) return undefined
  const found = `Both primes of this key are 1 modulo the same ${bits}-bit product of small primes.`
  return { code: 'rsa_primes_smooth', detail: `${found} ${makeNewKey}` }
}

const exponentHex = lazy((): string => {
  const powers = smallPrimes()
    .filter((prime) => prime <= smoothnessBound)
    .map(
      (prime) => BigInt(prime) ** BigInt(Math.floor(Math.log(smoothnessBound) / Math.log(prime))),
    )
  return product(powers).toString(16)
})

/**
 * Pollard's p - 1 method to the bound 2^16 (0.4 s for 2048 bits, 3 s for 8192). The exponent also
 * holds n - 1, which covers p - 1 = b·m with a smooth b and an m that divides q - 1 as well. Returns a
 * factor of odd `n`, or `n` itself when all its primes fall together.
 */
export function pollardFactor(n: bigint): bigint | undefined {
  const power = powerOfTwo((BigInt(`0x${exponentHex()}`) * (n - 1n)).toString(16), n)
  const factor = gcd(n, (power + n - 1n) % n)
  return factor > 1n ? factor : undefined
}

/** A prime p with only small factors in p - 1 (FIPS 186-5 A.1.1 wants auxiliary primes instead). */
export function checkPollard(n: bigint): Fault | undefined {
  if (pollardFactor(n) === undefined) return undefined
  const found = "A prime p of this key has only small factors in p - 1 (found by Pollard's method)."
  return { code: 'rsa_primes_smooth', detail: `${found} ${makeNewKey}` }
}
