import { bitLength } from '../arithmetic.ts'
import type { Fault } from '../types.ts'
import { checkGuessedGap } from './differences.ts'
import { checkComposite, checkSmallFactor } from './factors.ts'
import { auditFermatRounds, checkFermat, intakeFermatRounds } from './fermat.ts'
import { checkExponent, checkModulusForm, maximumBits } from './limits.ts'
import { checkPower } from './powers.ts'
import { checkEqualEnds } from './related.ts'
import { checkRoca } from './roca.ts'
import { checkCommonSmoothPart, checkPollard } from './smooth.ts'
import { checkStructure } from './structure.ts'

export { type SharedPrime, sharedPrimes, sharesPrime } from './shared-primes.ts'

type Check = (n: bigint) => Fault | undefined

/** Below this size the chances that the checks name no longer hold, and the key is refused anyway. */
const minimumBitsToExamine = 1024

/** Reasons why the modulus is not a product of two primes at all; they exclude one another. */
const shapeChecks: readonly Check[] = [checkSmallFactor, checkPower, checkComposite]

/** Searches that a wrong relation of the primes ends; the first that finds them says it. */
const checkRelation: Check = (n) =>
  checkFermat(n, intakeFermatRounds) ?? checkGuessedGap(n) ?? checkEqualEnds(n)

/** Independent signs that the primes are known or can be found. */
const primeChecks: readonly Check[] = [
  checkRoca,
  checkRelation,
  checkStructure,
  checkCommonSmoothPart,
]

/**
 * All independent faults of an RSA public key, sizes and exponent first. The numeric checks run on
 * odd moduli of 1024 to 8192 bits only, so that nobody can buy time with a bad size: a key costs
 * about 5 ms at 2048 bits and up to 0.3 s at 8192, which is why this belongs in a worker thread.
 */
export function checkRsa(n: bigint, e: bigint): Fault[] {
  return [...checkModulusForm(n), ...checkExponent(n, e), ...checkPrimes(n)]
}

function checkPrimes(n: bigint): Fault[] {
  if (!isWorthExamining(n)) return []
  for (const check of shapeChecks) {
    const fault = check(n)
    if (fault !== undefined) return [fault]
  }
  return primeChecks.map((check) => check(n)).filter((fault) => fault !== undefined)
}

function isWorthExamining(n: bigint): boolean {
  if (n <= 0n || (n & 1n) === 0n) return false
  const bits = bitLength(n)
  return bits >= minimumBitsToExamine && bits <= maximumBits
}

/**
 * What `checkRsa` says of a stored key by the rules of today, and what is too slow for intake:
 * 100,000 rounds of Fermat's method and Pollard's p - 1 method to 2^16. Takes 0.4 s at 2048 bits
 * and 3 s at 8192.
 */
export function auditRsa(n: bigint, e: bigint): Fault[] {
  const faults = checkRsa(n, e)
  if (faults.length > 0 || !isWorthExamining(n)) return faults
  const slow = [checkFermat(n, auditFermatRounds), checkPollard(n)]
  return slow.filter((fault) => fault !== undefined)
}
