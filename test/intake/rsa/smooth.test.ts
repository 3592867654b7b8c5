import { describe, expect, it } from 'vitest'
import { bitLength } from '../../../packages/intake/src/arithmetic.ts'
import { isProbablePrime } from '../../../packages/intake/src/rsa/factors.ts'
import { auditRsa, checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import { smallPrimes } from '../../../packages/intake/src/rsa/primes.ts'
import {
  describeCommonSmoothPart,
  pollardFactor,
  smoothBitsBelow,
} from '../../../packages/intake/src/rsa/smooth.ts'
import { codes, nextPrime, seeded } from './seeded.ts'

const random = seeded('smooth')
const f4 = 65537n

/** Product of primes from 173 on with at least `bits` bits, without 2: even by the factor 2. */
function smoothNumber(bits: number): bigint {
  let all = 2n
  for (const prime of smallPrimes().filter((p) => p >= 173)) {
    if (bitLength(all) >= bits) break
    all *= BigInt(prime)
  }
  return all
}

/** A prime of 1024 bits that is 1 modulo `m`. */
const primeOneModulo = (m: bigint) => {
  const start = random.odd(1024)
  return nextPrime(start - (start % m) + 1n, m)
}

describe('common smooth part', () => {
  it('rejects primes that are both 1 modulo a product of more than 160 bits', () => {
    const m = smoothNumber(170)
    const n = primeOneModulo(m) * primeOneModulo(m)
    expect(smoothBitsBelow(n)).toBeGreaterThan(169)
    expect(codes(checkRsa(n, f4))).toEqual(['rsa_primes_smooth'])
  })

  it('accepts 60 bits in common, which one new key in 600 has', () => {
    const m = smoothNumber(64)
    const n = primeOneModulo(m) * primeOneModulo(m)
    expect(smoothBitsBelow(n)).toBeGreaterThan(63)
    expect(checkRsa(n, f4)).toEqual([])
  })

  it('rejects 161 bits and accepts 160', () => {
    const most = smoothNumber(144)
    const number = (bits: number) => {
      const unused = smallPrimes().filter((prime) => prime > 1000)
      return most * BigInt(unused.find((p) => bitLength(most * BigInt(p)) === bits) ?? 1) + 1n
    }
    expect([160, 161].map((bits) => smoothBitsBelow(number(bits)))).toEqual([160, 161])
    expect(describeCommonSmoothPart(number(160))).toBeUndefined()
    expect(describeCommonSmoothPart(number(161))).toContain('161-bit product')
  })

  it('counts each small prime below n once', () => {
    expect(smoothBitsBelow(2n ** 5n * 3n ** 4n * 65521n + 1n)).toBe(bitLength(6n * 65521n))
    expect(smoothBitsBelow(2n * 65537n * 65539n + 1n)).toBe(2)
  })
})

describe('p - 1', () => {
  /** A prime of 1024 bits whose predecessor has only factors below 65536, none of them twice. */
  function smoothPrime(): bigint {
    const primes = smallPrimes().map(BigInt)
    const predecessor = primes.slice(3000, 3068).reduce((all, prime) => all * prime, 2n)
    for (const prime of primes.slice(3100, 6500)) {
      for (const other of primes.slice(2, 40)) {
        const candidate = predecessor * prime * other + 1n
        if (candidate >> 1022n === 3n && isProbablePrime(candidate)) return candidate
      }
    }
    throw new Error('no smooth prime')
  }

  it('leaves a smooth p - 1 to the audit if q is ordinary', () => {
    const p = smoothPrime()
    const n = p * random.prime(1024)
    expect(checkRsa(n, f4)).toEqual([])
    expect(pollardFactor(n)).toBe(p)
    expect(codes(auditRsa(n, f4))).toEqual(['rsa_primes_smooth'])
  })

  it('finds no factor of an ordinary key', () => {
    expect(auditRsa(random.prime(1024) * random.prime(1024), f4)).toEqual([])
  })
})
