import { bitLength } from '../arithmetic.ts'
import type { Fault } from '../types.ts'
import { checkComposite, checkSmallFactor } from './factors.ts'
import { auditFermatRounds, checkFermat, intakeFermatRounds } from './fermat.ts'
import { checkGuessedGap } from './guessed-gaps.ts'
import { checkExponent, checkModulusForm, maxBits } from './limits.ts'
import { checkPower } from './powers.ts'
import { checkEqualEnds } from './related.ts'
import { checkRoca } from './roca.ts'
import { checkCommonSmoothPart, checkPollard } from './smooth.ts'
import { checkStructure } from './structure.ts'

export { type SharedPrime, sharedPrimes, sharesPrime } from './shared-primes.ts'

type Check = (n: bigint) => Fault | undefined

/** Smaller keys are rejected anyway, and the checks would find false positives. */
const minBitsToCheck = 1024

/** Check that the modulus is a product of two large primes; at most one of them fails. */
const shapeChecks: readonly Check[] = [checkSmallFactor, checkPower, checkComposite]

/** Searches for related primes and stops at the first result. */
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
 * All independent faults of an RSA public key, size and exponent first. The numeric checks run only
 * on odd moduli of 1024 to 8192 bits, so that an invalid size cannot cost time. They take about 5 ms
 * at 2048 bits and up to 0.3 s at 8192: run them in a worker thread.
 */
export function checkRsa(n: bigint, e: bigint): Fault[] {
  return [...checkModulusForm(n), ...checkExponent(n, e), ...checkPrimes(n)]
}

function checkPrimes(n: bigint): Fault[] {
  if (!isCheckable(n)) return []
  for (const check of shapeChecks) {
    const fault = check(n)
    if (fault !== undefined) return [fault]
  }
  return primeChecks.map((check) => check(n)).filter((fault) => fault !== undefined)
}

function isCheckable(n: bigint): boolean {
  if (n <= 0n || (n & 1n) === 0n) return false
  const bits = bitLength(n)
  return bits >= minBitsToCheck && bits <= maxBits
}

/**
 * The faults of a stored key: those of `checkRsa`, and if there are none, those that take too long
 * for intake to find, by 100,000 rounds of Fermat's method and Pollard's p - 1 method to 2^16. Takes
 * 0.4 s at 2048 bits and 3 s at 8192.
 */
export function auditRsa(n: bigint, e: bigint): Fault[] {
  const faults = checkRsa(n, e)
  if (faults.length > 0 || !isCheckable(n)) return faults
  const slow = [checkFermat(n, auditFermatRounds), checkPollard(n)]
  return slow.filter((fault) => fault !== undefined)
}
