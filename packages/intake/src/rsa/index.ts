import { bitLength } from '../arithmetic.ts'
import { describeFactoredPrime } from '../blocklists/factored-primes.ts'
import type { IntakeCode } from '../codes.ts'
import type { Fault } from '../types.ts'
import { describePrime, describeSmallFactor } from './factors.ts'
import { auditFermatRounds, describeClosePrimes, intakeFermatRounds } from './fermat.ts'
import { describeGuessedGap } from './guessed-gaps.ts'
import { checkExponent, checkModulusForm, maxBits, weakness } from './limits.ts'
import { describePower } from './powers.ts'
import { describeEqualEnds } from './related.ts'
import { describeRoca } from './roca.ts'
import { describeCommonSmoothPart, describeSmoothPrime } from './smooth.ts'
import { describeStructure } from './structure.ts'

/** A rule, and what a modulus that breaks it is, in a sentence; undefined for any other. */
type Rule = readonly [code: IntakeCode, describe: (n: bigint) => string | undefined]

/** A modulus that breaks one of these is not the product of two large primes. */
const shape: readonly Rule[] = [
  ['rsa_small_factor', describeSmallFactor],
  ['rsa_modulus_power', describePower],
]

/** Independent signs that the primes are known or can be found, which take less than 10 ms. */
const quick: readonly Rule[] = [
  ['rsa_roca', describeRoca],
  ['rsa_primes_smooth', describeCommonSmoothPart],
  ['rsa_shared_prime', describeFactoredPrime],
]

const primality: Rule = ['rsa_modulus_not_composite', describePrime]

/** Searches for related primes; the first result ends them. */
const relations: readonly Rule[] = [
  ['rsa_primes_too_close', (n) => describeClosePrimes(n, intakeFermatRounds)],
  ['rsa_primes_too_close', describeGuessedGap],
  ['rsa_primes_related', describeEqualEnds],
]

const structure: Rule = ['rsa_modulus_structured', describeStructure]

/** Searches that take too long for intake. */
const audited: readonly Rule[] = [
  ['rsa_primes_too_close', (n) => describeClosePrimes(n, auditFermatRounds)],
  ['rsa_primes_smooth', describeSmoothPrime],
]

/** The codes of `checkSlowly`, the primality test first. */
export const slowCodes: readonly IntakeCode[] = [
  ...new Set([primality, ...relations, structure].map(([code]) => code)),
]

/** Smaller keys are rejected anyway, and the checks would find false positives. */
const minBitsToCheck = 1024

/**
 * The faults of an RSA public key that take less than 10 ms to find, size and exponent first. The
 * numbers are examined only for odd moduli of 1024 to 8192 bits, so that no size can cost time.
 */
export function checkQuickly(n: bigint, e: bigint): Fault[] {
  return [...checkModulusForm(n), ...checkExponent(n, e), ...checkModulus(n)]
}

function checkModulus(n: bigint): Fault[] {
  if (!isCheckable(n)) return []
  const wrongShape = firstFaultOf(shape, n)
  return wrongShape.length > 0 ? wrongShape : faultsOf(quick, n)
}

/**
 * Independent signs that the primes of a modulus are known or can be found, for moduli without other
 * faults. Takes about 5 ms at 2048 bits and up to 0.3 s at 8192: run it in a worker thread.
 */
export function checkSlowly(n: bigint): Fault[] {
  const prime = faultOf(primality, n)
  if (prime !== undefined) return [{ ...prime, skipped: slowCodes.slice(1) }]
  return [...firstFaultOf(relations, n), ...faultsOf([structure], n)]
}

/** All faults of an RSA public key, the slow ones too if others reject it. */
export function checkRsa(n: bigint, e: bigint): Fault[] {
  const quick = checkModulus(n)
  const slow = quick.length > 0 || !isCheckable(n) ? [] : checkSlowly(n)
  return [...checkModulusForm(n), ...checkExponent(n, e), ...quick, ...slow]
}

function faultOf([code, describe]: Rule, n: bigint): Fault | undefined {
  const finding = describe(n)
  return finding === undefined ? undefined : weakness(code, finding)
}

function faultsOf(rules: readonly Rule[], n: bigint): Fault[] {
  return rules.map((rule) => faultOf(rule, n)).filter((fault) => fault !== undefined)
}

/** The fault by the first rule that is broken, without checking the others. */
function firstFaultOf(rules: readonly Rule[], n: bigint): Fault[] {
  const faults = rules.values().map((rule) => faultOf(rule, n))
  return faults
    .filter((fault) => fault !== undefined)
    .take(1)
    .toArray()
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
  return faults.length > 0 || !isCheckable(n) ? faults : faultsOf(audited, n)
}
