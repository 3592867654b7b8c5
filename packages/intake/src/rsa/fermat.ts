import { exactSquareRoot, isqrt } from '../arithmetic.ts'
import { squareSieve } from './square-sieve.ts'

/** Rounds at intake. BR 6.1.1.3 requires 100; Boulder runs 110. */
export const intakeFermatRounds = 10_000
/** Rounds in the audit. */
export const auditFermatRounds = 100_000

interface FermatResult {
  factor: bigint
  /** 0 if ⌊√n⌋² = n; otherwise the distance of the mean of both factors from ⌊√n⌋. */
  round: number
}

/**
 * Fermat's method: odd n = a² - b² for a = ⌊√n⌋, ⌊√n⌋ + 1, …, ⌊√n⌋ + `rounds`, with the factors a - b
 * and a + b. Finds primes that differ by less than about √(8·rounds)·n^(1/4) (Böck, "Fermat
 * Factorization in the Wild", 2023, CVE-2022-26320).
 */
export function fermatFactor(n: bigint, rounds: number): FermatResult | undefined {
  const root = isqrt(n)
  if (root * root === n) return { factor: root, round: 0 }
  const sieve = squareSieve(n)
  const start = sieve.residues(root)
  const one = sieve.residues(1n)
  for (let round = 1; round <= rounds; round++) {
    if (!sieve.allows(start, one, round)) continue
    const a = root + BigInt(round)
    const b = exactSquareRoot(a * a - n)
    if (b !== undefined) return { factor: a - b, round }
  }
  return undefined
}

/** Primes so close together that Fermat's method finds them (FIPS 186-5 A.1.3, BR 6.1.1.3). */
export function describeClosePrimes(n: bigint, rounds: number): string | undefined {
  const result = fermatFactor(n, rounds)
  if (result === undefined) return undefined
  const steps = `${result.round} ${result.round === 1 ? 'step' : 'steps'} of Fermat's method`
  return `The two primes of this key are too close together (found in ${steps}).`
}
