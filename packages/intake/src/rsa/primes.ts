import { gcd } from '../arithmetic.ts'
import { lazy } from './lazy.ts'

/** The largest prime in the search for small factors: 2^16 + 1. */
const maxSmallPrime = 65537

/** All primes up to 65537 in order (sieve of Eratosthenes). */
export const smallPrimes = lazy((): readonly number[] => {
  const composite = new Uint8Array(maxSmallPrime + 1)
  const primes: number[] = []
  for (let candidate = 2; candidate <= maxSmallPrime; candidate++) {
    if (composite[candidate] === 1) continue
    primes.push(candidate)
    for (let multiple = candidate ** 2; multiple <= maxSmallPrime; multiple += candidate) {
      composite[multiple] = 1
    }
  }
  return Object.freeze(primes)
})

const productOfSmallPrimes = lazy(() => product(smallPrimes().map(BigInt)))

/**
 * The product of the distinct primes up to 65537 that divide `n` > 0. Takes 0.2 ms at 2048 bits, since
 * the product of all small primes, which has 94,043 bits, is first reduced modulo `n`.
 */
export function smallPart(n: bigint): bigint {
  return gcd(n, productOfSmallPrimes() % n)
}

/** The product of all numbers, by a balanced tree: multiplication is fastest for equal lengths. */
export function product(numbers: readonly bigint[]): bigint {
  let level = numbers
  while (level.length > 1) {
    const next: bigint[] = []
    for (let i = 0; i < level.length; i += 2) next.push((level[i] ?? 1n) * (level[i + 1] ?? 1n))
    level = next
  }
  return level[0] ?? 1n
}
