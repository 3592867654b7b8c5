import { bitLength, exactSquareRoot, isqrt } from '../arithmetic.ts'
import { addResidues, type Residues, squareSieve } from './square-sieve.ts'

/** Bits of (p + q)/2 that may be unknown from √n and from the square root modulo 2^k. */
const freeBits = 3

/**
 * A square root of n = 1 (mod 8) modulo 2^bits, by Newton's iteration for 1/√n in the 2-adic
 * numbers: y ← y·(3 - n·y²)/2, and √n = n·y. The others are its negative and both plus 2^(bits-1).
 */
export function squareRootModuloPowerOfTwo(n: bigint, bits: number): bigint {
  let inverse = 1n
  // A step takes a root that is right modulo 2^precision to one modulo 2^(2·precision - 2).
  for (let precision = 3; precision < bits + 1; precision = 2 * precision - 2) {
    const width = 2 * precision
    const error = BigInt.asUintN(width, 3n - n * inverse * inverse)
    inverse = BigInt.asUintN(width - 1, (inverse * error) >> 1n)
  }
  return BigInt.asUintN(bits, n * inverse)
}

/**
 * A factor of odd `n` = p·q if p and q have the same top r and bottom s bits, r + s ≥ bits/4. Then
 * (p + q)/2 has the top bits of √n and the bottom bits of a square root of n modulo a power of two:
 * the search starts at ⌈√n⌉ and adjusts one bottom bit after the other (paranoid_crypto,
 * `FactorHighAndLowBitsEqual`). Equal bottom bits imply n = 1 (mod 8), which excludes three keys in
 * four.
 */
export function factorWithEqualEnds(n: bigint): bigint | undefined {
  if (n % 8n !== 1n) return undefined
  const bits = (bitLength(n) + 1) >> 1
  const root = squareRootModuloPowerOfTwo(n, bits)
  const start = isqrt(n - 1n) + 1n
  const otherRoot = (1n << BigInt(bits)) - root
  return searchFrom(n, start, root, bits) ?? searchFrom(n, start, otherRoot, bits)
}

function searchFrom(n: bigint, start: bigint, root: bigint, bits: number): bigint | undefined {
  const sieve = squareSieve(n)
  let s = start
  let residues = sieve.residues(s)
  // residuesOf[i] holds the residues of 2^i.
  const residuesOf: Residues[] = [sieve.residues(1n)]
  for (let bit = 0; bit < bits; bit++) {
    const power = residuesOf[bit] ?? []
    residuesOf.push(addResidues(power, power))
    if ((((s ^ root) >> BigInt(bit)) & 1n) === 0n) continue
    const free = Math.min(freeBits, bit)
    const step = residuesOf[bit - free] ?? []
    for (let i = 1; i <= 2 ** free; i++) {
      if (!sieve.allows(residues, step, i)) continue
      const candidate = s + (BigInt(i) << BigInt(bit - free))
      const difference = exactSquareRoot(candidate * candidate - n)
      if (difference !== undefined && candidate - difference > 1n) return candidate - difference
    }
    s += 1n << BigInt(bit)
    residues = addResidues(residues, power)
  }
  return undefined
}

/** Primes of which one was derived from the other, or both from one seed. */
export function describeEqualEnds(n: bigint): string | undefined {
  if (factorWithEqualEnds(n) === undefined) return undefined
  return 'The two primes of this key have the same first and last bits, so they can be computed.'
}
