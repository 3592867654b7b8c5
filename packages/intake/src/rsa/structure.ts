import { bitLength, exactSquareRoot, gcd } from '../arithmetic.ts'
import { commands } from '../commands.ts'
import { minimalBytes } from '../encoding/bytes.ts'
import type { Fault } from '../types.ts'

/** A longer run of equal bytes has probability 2^-112 in a random modulus of 2048 bits. */
const maxRun = 15
/** Share of one bits in a product of random primes; the bounds are 9 standard deviations away. */
const shareOfOnes = { min: 0.4, max: 0.6 }
const limbSizes: readonly number[] = Object.freeze([32, 64, 128, 256])
/** Share of limbs with a zero upper half at which a modulus counts as zero-filled. */
const minEmptyLimbShare = 0.6
/** A partial quotient of this size has probability 2^-37 for a random fraction. */
const minLargeQuotient = 1n << 48n

/** Length of the longest run of equal bytes in `n`. */
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

function countShareOfOnes(bytes: Uint8Array): number {
  let ones = 0
  for (let byte of bytes) for (; byte > 0; byte &= byte - 1) ones++
  return ones / (8 * bytes.length)
}

function isBiased(bytes: Uint8Array): boolean {
  const share = countShareOfOnes(bytes)
  return share < shareOfOnes.min || share > shareOfOnes.max
}

/**
 * Whether one bits are too rare or too frequent, both in `n` and in its lower half. A bias in the
 * upper half alone is a vanity modulus, which random primes can have.
 */
export function hasBiasedBits(n: bigint): boolean {
  const bytes = minimalBytes(n)
  return isBiased(bytes) && isBiased(bytes.subarray(bytes.length >> 1))
}

/**
 * A warning for a modulus whose upper half alone is biased (badkeys `rsa-vanity`): its primes can be
 * random, but no common key generator makes such a modulus.
 */
export function warnOfVanity(n: bigint): Fault | undefined {
  if (!isBiased(minimalBytes(n)) || hasBiasedBits(n)) return undefined
  const detail =
    'The upper half of the RSA modulus was chosen (a vanity key). If you did not choose it, generate a new key'
  return { code: 'rsa_modulus_structured', detail: `${detail}: ${commands.generateRsa}` }
}

/** The limb size in bits for which most limbs of `n` have a zero upper half. */
export function zeroFilledLimbSize(n: bigint): number | undefined {
  return limbSizes.find((size) => {
    const hex = n.toString(16)
    const digits = size / 4
    const limbs = Math.ceil(hex.length / digits)
    const padded = hex.padStart(limbs * digits, '0')
    const empty = '0'.repeat(digits / 2)
    let count = 0
    for (let limb = 0; limb < limbs; limb++) if (padded.startsWith(empty, limb * digits)) count++
    return count >= minEmptyLimbShare * limbs
  })
}

/**
 * The denominator v of the convergent before the first partial quotient of 2^48 or more in the
 * continued fraction of n/2^bits: n is then u/v·2^bits within 2^-48/v², as for primes that both
 * repeat a word (Bernstein et al., "Factoring RSA keys from certified smart cards", 2013;
 * paranoid_crypto, `CheckContinuedFraction`).
 */
export function simpleDenominator(n: bigint): bigint | undefined {
  let [dividend, divisor] = [n, 1n << BigInt(bitLength(n))]
  let [v, previousV] = [0n, 1n]
  while (divisor !== 0n) {
    const quotient = dividend / divisor
    if (quotient >= minLargeQuotient) return v
    ;[dividend, divisor] = [divisor, dividend - quotient * divisor]
    ;[v, previousV] = [quotient * v + previousV, v]
  }
  return undefined
}

/** Quotient and remainder, with the remainder closest to zero. */
function roundedDivision(dividend: bigint, divisor: bigint): [quotient: bigint, rest: bigint] {
  const quotient = (2n * dividend + divisor) / (2n * divisor)
  return [quotient, dividend - quotient * divisor]
}

/** The denominator may lack a common factor of the fractions of both primes. */
const maxDenominatorMultiple = 64n

/**
 * A factor of `n` from such a denominator v: n·v = a·x² + b·x + c with x = 2^(bits/2) and small a, b
 * and c splits over the rationals if both primes are near simple fractions of x.
 */
export function factorWithDenominator(n: bigint, v: bigint): bigint | undefined {
  const x = 1n << BigInt(bitLength(n) >> 1)
  for (let multiple = v; multiple <= v * maxDenominatorMultiple; multiple += v) {
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

/** The oddity of the bits of `n`, as a predicate. */
function patternOf(n: bigint): string | undefined {
  const run = longestEqualRun(n)
  if (run > maxRun) return `contains ${run} equal bytes in a row`
  if (hasBiasedBits(n)) return 'has far more one bits than zero bits, or far fewer'
  const limbSize = zeroFilledLimbSize(n)
  if (limbSize !== undefined)
    return `has zeros in the upper half of most of its ${limbSize}-bit words`
  const denominator = simpleDenominator(n)
  if (denominator === undefined) return undefined
  if (factorWithDenominator(n, denominator) === undefined) return 'repeats a pattern'
  return 'is the product of two primes that repeat a pattern, and was factored'
}

/** A modulus whose bits reveal how it was generated (badkeys `pattern`, `rsabias`, `rsapoly`). */
export function describeStructure(n: bigint): string | undefined {
  const pattern = patternOf(n)
  if (pattern === undefined) return undefined
  return `The RSA modulus ${pattern}, which does not happen with random primes.`
}
