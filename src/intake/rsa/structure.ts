import { bitLength, exactSquareRoot, gcd } from '../arithmetic.ts'
import { minimalBytes } from '../encoding/bytes.ts'
import type { Fault } from '../types.ts'
import { makeNewKey } from './fault.ts'

/** A run of so many equal bytes has a chance of 2^-112 in a random modulus of 2048 bits. */
const longestRun = 15
/** Share of one bits outside which a modulus is no product of random primes; 9 standard deviations. */
const bitShare = { least: 0.4, most: 0.6 }
const limbSizes: readonly number[] = Object.freeze([32, 64, 128, 256])
/** Share of limbs with an empty upper half from which a modulus counts as zero-filled. */
const emptyLimbShare = 0.6
/** A partial quotient as large has a chance of 2^-37 in the expansion of a random fraction. */
const largestQuotient = 1n << 48n

/** Length of the longest run of one byte value in the big-endian bytes of `n`. */
export function longestEqualRun(n: bigint): number {
  let longest = 0
  let run = 0
  let previous = -1
  for (const byte of minimalBytes(n)) {
    run = byte === previous ? run + 1 : 1
    previous = byte
    longest = Math.max(longest, run)
  }
  return longest
}

function shareOfOnes(bytes: Uint8Array): number {
  let ones = 0
  for (let byte of bytes) for (; byte > 0; byte &= byte - 1) ones++
  return ones / (8 * bytes.length)
}

const isBiased = (share: number) => share < bitShare.least || share > bitShare.most

/**
 * Whether one bits are too rare or too frequent in all of `n` and in its lower half. A bias of the
 * upper half alone is a vanity modulus, which can belong to random primes.
 */
export function hasBiasedBits(n: bigint): boolean {
  const bytes = minimalBytes(n)
  return isBiased(shareOfOnes(bytes)) && isBiased(shareOfOnes(bytes.subarray(bytes.length >> 1)))
}

/** The limb size in bits for which most limbs of `n` have an empty upper half, if there is one. */
export function zeroFilledLimbSize(n: bigint): number | undefined {
  return limbSizes.find((size) => {
    const hex = n.toString(16)
    const digits = size / 4
    const limbs = Math.ceil(hex.length / digits)
    const padded = hex.padStart(limbs * digits, '0')
    const empty = '0'.repeat(digits / 2)
    let count = 0
    for (let limb = 0; limb < limbs; limb++) if (padded.startsWith(empty, limb * digits)) count++
    return count >= emptyLimbShare * limbs
  })
}

/**
 * The denominator v of the convergent before the first partial quotient of 2^48 or more in the
 * continued fraction of n/2^bits: n is then u/v·2^bits within 2^-48/v², as it happens when both primes
 * repeat a word (Bernstein et al., "Factoring RSA keys from certified smart cards", 2013;
 * paranoid_crypto, `CheckContinuedFraction`).
 */
export function simpleDenominator(n: bigint): bigint | undefined {
  let [dividend, divisor] = [n, 1n << BigInt(bitLength(n))]
  let [v, previousV] = [0n, 1n]
  while (divisor !== 0n) {
    const quotient = dividend / divisor
    if (quotient >= largestQuotient) return v
    ;[dividend, divisor] = [divisor, dividend - quotient * divisor]
    ;[v, previousV] = [quotient * v + previousV, v]
  }
  return undefined
}

/** Quotient and remainder with the remainder nearest to zero. */
function roundedDivision(dividend: bigint, divisor: bigint): [quotient: bigint, rest: bigint] {
  const quotient = (2n * dividend + divisor) / (2n * divisor)
  return [quotient, dividend - quotient * divisor]
}

/** Fractions of the primes with a common factor leave a denominator that is too small by it. */
const denominatorMultiples = 64n

/**
 * A factor of `n` from such a denominator v: n·v = a·x² + b·x + c with x = 2^(bits/2) and small a, b, c
 * splits over the rationals when both primes are near simple fractions of x.
 */
export function factorWithDenominator(n: bigint, v: bigint): bigint | undefined {
  const x = 1n << BigInt(bitLength(n) >> 1)
  for (let multiple = v; multiple <= v * denominatorMultiples; multiple += v) {
    const [high, c] = roundedDivision(n * multiple, x)
    const [a, b] = roundedDivision(high, x)
    const root = exactSquareRoot(b * b - 4n * a * c)
    if (root === undefined) continue
    for (const signed of [root, -root]) {
      const factor = gcd(n, (((2n * a * x + b + signed) % n) + n) % n)
      if (factor > 1n && factor < n) return factor
    }
  }
  return undefined
}

/** What is not random about the bits of `n`, in words. */
function structureOf(n: bigint): string | undefined {
  const run = longestEqualRun(n)
  if (run > longestRun) return `contains ${run} equal bytes in a row`
  if (hasBiasedBits(n)) return 'has far from as many one bits as zero bits'
  const limbSize = zeroFilledLimbSize(n)
  if (limbSize !== undefined)
    return `has zeros in the upper half of most of its ${limbSize}-bit words`
  const denominator = simpleDenominator(n)
  if (denominator === undefined) return undefined
  if (factorWithDenominator(n, denominator) === undefined) return 'repeats a pattern'
  return 'is the product of two primes that repeat a pattern, and was factored'
}

/** A modulus whose bits show how it was made (badkeys `pattern`, `rsabias`, `rsapoly`). */
export function checkStructure(n: bigint): Fault | undefined {
  const structure = structureOf(n)
  if (structure === undefined) return undefined
  const found = `The RSA modulus ${structure}, which does not happen with random primes.`
  return { code: 'rsa_modulus_structured', detail: `${found} ${makeNewKey}` }
}
