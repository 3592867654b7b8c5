import { gcd, modPow } from '../arithmetic.ts'
import type { Fault } from '../types.ts'
import { makeNewKey } from './fault.ts'
import { lazy } from './lazy.ts'
import { product, smallPrimes } from './primes.ts'

/** RSALib made every prime as k·M + (65537^a mod M), M the product of the first primes. */
const generator = 65537n
/** The last prime in the M of 512-bit keys; the M of every larger size is a multiple of it. */
const largestPrime = 167

interface RocaTables {
  /** Product of the primes up to 167. */
  readonly modulus: bigint
  /** Primes where the powers of 65537 are not all residues, with a set of those powers. */
  readonly informative: readonly { readonly prime: bigint; readonly powers: ReadonlySet<bigint> }[]
  /** Order of 65537 modulo `modulus`. */
  readonly order: bigint
  /** For each prime power r of the order: order / r and all powers of 65537^(order / r). */
  readonly parts: readonly { readonly cofactor: bigint; readonly powers: ReadonlySet<bigint> }[]
}

function powersOf(base: bigint, modulus: bigint): Set<bigint> {
  const powers = new Set<bigint>()
  for (let power = 1n % modulus; !powers.has(power); power = (power * base) % modulus) {
    powers.add(power)
  }
  return powers
}

/** The largest power of `prime` that divides `n`. */
function primePart(n: bigint, prime: bigint): bigint {
  let part = 1n
  while (n % (part * prime) === 0n) part *= prime
  return part
}

const tables = lazy((): RocaTables => {
  const primes = smallPrimes().filter((prime) => prime <= largestPrime)
  const modulus = product(primes.map(BigInt))
  const subgroups = primes.map(BigInt).map((prime) => ({
    prime,
    powers: powersOf(generator % prime, prime),
  }))
  const orders = subgroups.map(({ powers }) => BigInt(powers.size))
  const order = orders.reduce((all, next) => (all * next) / gcd(all, next), 1n)
  const parts = primes
    .map((prime) => primePart(order, BigInt(prime)))
    .filter((part) => part > 1n)
    .map((part) => {
      const cofactor = order / part
      return { cofactor, powers: powersOf(modPow(generator, cofactor, modulus), modulus) }
    })
  const informative = subgroups.filter(({ prime, powers }) => BigInt(powers.size) < prime - 1n)
  return Object.freeze({ modulus, informative, order, parts })
})

/**
 * Whether `n` is a power of 65537 modulo every prime up to 167 at once: what a product of two
 * RSALib primes is, and a random number with a chance of 2^-154. The first stage asks prime by
 * prime (17 of 39 primes carry information, chance 2^-27); only what passes it is asked whether one
 * exponent fits all primes, by the Sylow parts of the cyclic group (Pohlig-Hellman).
 */
export function hasRocaFingerprint(n: bigint): boolean {
  const { modulus, informative, order, parts } = tables()
  const residue = n % modulus
  if (!informative.every(({ prime, powers }) => powers.has(residue % prime))) return false
  if (modPow(residue, order, modulus) !== 1n) return false
  return parts.every(({ cofactor, powers }) => powers.has(modPow(residue, cofactor, modulus)))
}

/**
 * Keys of Infineon's RSALib, CVE-2017-15361 (Nemec, Sys, Svenda, Klinec, Matyas: "The Return of
 * Coppersmith's Attack", CCS 2017).
 */
export function checkRoca(n: bigint): Fault | undefined {
  if (!hasRocaFingerprint(n)) return undefined
  const found =
    'This key was made by faulty Infineon hardware (ROCA, CVE-2017-15361) and can be factored.'
  const advice = 'Make a new key on other hardware or in software'
  return { code: 'rsa_roca', detail: `${found} ${makeNewKey.replace('Make a new key', advice)}` }
}
