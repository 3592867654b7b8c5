import { bitLength } from '../arithmetic.ts'
import { checkFactoredPrimes } from '../blocklists/factored-primes.ts'
import type { IntakeCode } from '../codes.ts'
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

/** Searches for related primes and stops at the first result. */
const checkRelation: Check = (n) =>
  checkFermat(n, intakeFermatRounds) ?? checkGuessedGap(n) ?? checkEqualEnds(n)

/** The codes of `checkSlowly`, the primality test first. */
export const slowCodes = [
  'rsa_modulus_not_composite',
  'rsa_primes_too_close',
  'rsa_primes_related',
  'rsa_modulus_structured',
] as const satisfies readonly IntakeCode[]

/**
 * The faults of an RSA public key that take less than 10 ms to find, size and exponent first. The
 * numbers are examined only for odd moduli of 1024 to 8192 bits, so that no size can cost time.
 */
export function checkQuickly(n: bigint, e: bigint): Fault[] {
  return [...checkModulusForm(n), ...checkExponent(n, e), ...checkModulus(n)]
}

function checkModulus(n: bigint): Fault[] {
  if (!isCheckable(n)) return []
  const wrongShape = checkSmallFactor(n) ?? checkPower(n)
  return wrongShape === undefined
    ? faultsOf([checkRoca, checkCommonSmoothPart, checkFactoredPrimes], n)
    : [wrongShape]
}

/**
 * Independent signs that the primes of a modulus are known or can be found, for moduli without other
 * faults. Takes about 5 ms at 2048 bits and up to 0.3 s at 8192: run it in a worker thread.
 */
export function checkSlowly(n: bigint): Fault[] {
  const prime = checkComposite(n)
  if (prime !== undefined) return [{ ...prime, skipped: slowCodes.slice(1) }]
  return faultsOf([checkRelation, checkStructure], n)
}

/** All faults of an RSA public key, the slow ones too if others reject it. */
export function checkRsa(n: bigint, e: bigint): Fault[] {
  const quick = checkModulus(n)
  const slow = quick.length > 0 || !isCheckable(n) ? [] : checkSlowly(n)
  return [...checkModulusForm(n), ...checkExponent(n, e), ...quick, ...slow]
}

function faultsOf(checks: readonly Check[], n: bigint): Fault[] {
  return checks.map((check) => check(n)).filter((fault) => fault !== undefined)
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
