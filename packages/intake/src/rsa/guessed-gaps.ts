import { bitLength, exactSquareRoot, gcd, isqrt } from '../arithmetic.ts'

/**
 * Guesses for the difference of the primes, in bits below their size. FIPS 186-5 A.1.3 requires
 * |p - q| > 2^(bits/2 - 100), and a careless generator takes the next prime after
 * p + 2^(bits/2 - 100) as q; the other guesses are variants of that mistake (paranoid_crypto,
 * `CheckSmallUpperDifferences`).
 */
const guessedGaps: readonly number[] = Object.freeze([100, 128, 160, 256, 2, 3])

/**
 * Finds a factor of `n` near `guess`: within about n^(1/6) for factors of equal size, farther if p/q
 * is near a simple fraction. With a convergent u/v of guess/(n/guess), u·q and v·p are so close that
 * one step of Fermat's method on 4uvn splits them (Lehman, "Factoring large integers", Math. Comp.
 * 28, 1974).
 */
function factorNear(n: bigint, guess: bigint): bigint | undefined {
  const cofactor = n / guess
  const bound = 1n << BigInt(Math.floor(bitLength(n) / 3))
  const [u, v] = firstConvergentWithin(guess, cofactor, bound)
  const multiple = 4n * u * v * n
  const floor = isqrt(multiple)
  const s = floor * floor === multiple ? floor : floor + 1n
  const t = exactSquareRoot(s * s - multiple)
  if (t === undefined) return undefined
  const factor = gcd(s + t, n)
  return factor > 1n && factor < n ? factor : undefined
}

/**
 * The first convergent u/v of a/b with |u·b - v·a| < bound. That difference is the remainder in
 * Euclid's algorithm, so the comparison needs no multiplication.
 */
function firstConvergentWithin(a: bigint, b: bigint, bound: bigint): [u: bigint, v: bigint] {
  let [u, v, previousU, previousV] = [1n, 0n, 0n, 1n]
  let [dividend, divisor] = [a, b]
  while (divisor >= bound || v === 0n) {
    const quotient = dividend / divisor
    ;[dividend, divisor] = [divisor, dividend - quotient * divisor]
    ;[u, previousU] = [quotient * u + previousU, u]
    ;[v, previousV] = [quotient * v + previousV, v]
  }
  return [u, v]
}

/** A factor of `n` whose primes differ by 2^k ± n^(1/6) for one of the guesses. */
export function factorByGuessedGap(n: bigint): { factor: bigint; k: number } | undefined {
  const half = bitLength(n) >> 1
  for (const gap of guessedGaps) {
    const k = half - gap
    const halfGap = 1n << BigInt(k - 1)
    const factor = factorNear(n, isqrt(n + halfGap * halfGap) + halfGap)
    if (factor !== undefined) return { factor, k }
  }
  return undefined
}

/** Primes that differ by a power of two that a standard names as a bound. */
export function describeGuessedGap(n: bigint): string | undefined {
  const result = factorByGuessedGap(n)
  if (result === undefined) return undefined
  return `The two primes of this key differ by almost exactly 2^${result.k}, so they are easy to find.`
}
