import { bitLength, exactSquareRoot, integerRoot } from '../arithmetic.ts'
import { lazy } from './lazy.ts'
import { smallPrimes } from './primes.ts'

/** A root above 65537 has more than 16 bits, so a power of 8192 bits has a degree below 512. */
const minRootBits = 16
const maxDegree = 511
const witnessesPerDegree = 16

interface Degree {
  readonly k: number
  /** Primes q = 1 (mod k): one number in k is a k-th power modulo q. */
  readonly witnesses: readonly number[]
}

const oddDegrees = lazy((): readonly Degree[] => {
  const degrees = smallPrimes().filter((k) => k > 2 && k <= maxDegree)
  return Object.freeze(degrees.map((k) => ({ k, witnesses: witnessesFor(k) })))
})

function witnessesFor(k: number): number[] {
  const candidates = smallPrimes().values()
  return [...candidates.filter((q) => q % k === 1).take(witnessesPerDegree)]
}

/** base^exponent mod modulus with Numbers; the modulus is at most 65537. */
function modPowSmall(base: number, exponent: number, modulus: number): number {
  let result = 1
  let square = base % modulus
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/** Whether `n` is a k-th power modulo every witness (Euler's criterion for k-th powers). */
function mayBePower(n: bigint, { k, witnesses }: Degree): boolean {
  return witnesses.every((q) => {
    const residue = Number(n % BigInt(q))
    return residue === 0 || modPowSmall(residue, (q - 1) / k, q) === 1
  })
}

/**
 * The smallest prime k < 512 for which odd `n` is the k-th power of a number above 65536. Computes a
 * root only if the residues allow one: about 30 µs instead of milliseconds.
 */
export function powerDegree(n: bigint): number | undefined {
  if (exactSquareRoot(n) !== undefined) return 2
  const limit = Math.floor(bitLength(n) / minRootBits)
  for (const degree of oddDegrees()) {
    if (degree.k > limit) return undefined
    if (mayBePower(n, degree) && integerRoot(n, degree.k) ** BigInt(degree.k) === n) return degree.k
  }
  return undefined
}

/** n = p^k (SP 800-89 section 5.3.3 and BR 6.1.6: "not the power of a prime"). */
export function describePower(n: bigint): string | undefined {
  const k = powerDegree(n)
  if (k === undefined) return undefined
  const degree = k === 2 ? 'the square' : `the ${k}${k === 3 ? 'rd' : 'th'} power`
  return `The RSA modulus is ${degree} of a number, so anyone can factor it.`
}
