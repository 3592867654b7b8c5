import { describe, expect, it } from 'vitest'
import { isqrt } from '../../../packages/intake/src/arithmetic.ts'
import { fermatFactor } from '../../../packages/intake/src/rsa/fermat.ts'
import { factorByGuessedGap } from '../../../packages/intake/src/rsa/guessed-gaps.ts'
import { auditRsa, checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import {
  factorWithEqualEnds,
  squareRootModuloPowerOfTwo,
} from '../../../packages/intake/src/rsa/related.ts'
import { codes, nextPrime, seeded } from './seeded.ts'

const random = seeded('relation')
const f4 = 65537n

/** Two primes that Fermat's method finds in exactly `rounds` rounds, with n = 5 (mod 8). */
function primesAfter(rounds: number): { n: bigint; p: bigint } {
  const p = nextPrime(random.odd(1024))
  // The half difference b of round r obeys b² = 2·a·r; half a round below the next step is safe.
  const half = isqrt(p * BigInt(2 * rounds - 1))
  const target = p + 2n * half
  const wanted = (5n * p) % 8n
  const q = nextPrime(target - (target % 8n) + wanted, 8n)
  return { n: p * q, p }
}

describe('Fermat', () => {
  it.each([1, 2, 100, 5000, 10_000])('rejects primes that %i rounds find', (rounds) => {
    const { n, p } = primesAfter(rounds)
    expect(fermatFactor(n, rounds)).toEqual({ factor: p, round: rounds })
    expect(fermatFactor(n, rounds - 1)).toBeUndefined()
    const [fault, ...others] = checkRsa(n, f4)
    expect(fault?.code).toBe('rsa_primes_too_close')
    expect(fault?.detail).toContain(`found in ${rounds} step`)
    expect(others).toEqual([])
  })

  it('leaves primes that 10,001 rounds find to the audit', () => {
    const { n } = primesAfter(10_001)
    expect(checkRsa(n, f4)).toEqual([])
    expect(codes(auditRsa(n, f4))).toEqual(['rsa_primes_too_close'])
  })

  it('limits the audit to 100,000 rounds', () => {
    expect(codes(auditRsa(primesAfter(100_000).n, f4))).toEqual(['rsa_primes_too_close'])
    expect(auditRsa(primesAfter(100_001).n, f4)).toEqual([])
  })

  it('agrees with the plain method on small numbers', () => {
    for (let p = 3n; p < 200n; p += 2n) {
      for (let q = p; q < 400n; q += 14n) {
        const mean = (p + q) / 2n
        const result = fermatFactor(p * q, Number(mean - isqrt(p * q)))
        expect(result && (p * q) % result.factor).toBe(0n)
      }
    }
  })
})

describe('guessed gaps', () => {
  it.each([2, 3, 100, 128, 160, 256])('rejects q = next prime after p + 2^(1024 - %i)', (gap) => {
    const p = nextPrime(2n ** 1024n - 2n ** 1022n - random.odd(1019))
    const q = nextPrime(p + 2n ** BigInt(1024 - gap))
    const [fault, ...others] = checkRsa(p * q, f4)
    expect(fault?.code).toBe('rsa_primes_too_close')
    expect(fault?.detail).toContain(`2^${1024 - gap}`)
    expect(others).toEqual([])
  })

  it('finds the gap within n^(1/6)', () => {
    const p = random.prime(1024)
    const gap = 2n ** 896n
    expect(factorByGuessedGap(p * nextPrime(p + gap + 2n ** 330n))?.k).toBe(896)
    expect(factorByGuessedGap(p * nextPrime(p + gap - 2n ** 330n))?.k).toBe(896)
    expect(factorByGuessedGap(p * nextPrime(p + gap + 2n ** 600n))).toBeUndefined()
  })
})

describe('equal ends', () => {
  /** Two primes with `top` equal bits at the top and `bottom` equal ones at the bottom. */
  function relatives(top: number, bottom: number): bigint {
    const p = random.prime(1024)
    const step = 2n ** BigInt(bottom)
    const middle = random.number(1024 - top) ^ (1n << BigInt(1024 - top - 1))
    const high = (p >> BigInt(1024 - top)) << BigInt(1024 - top)
    const flipped = (~p >> BigInt(1024 - top - 1)) & 1n
    const start = high + (flipped << BigInt(1024 - top - 1)) + (middle >> 1n)
    return p * nextPrime(start - (start % step) + (p % step), step)
  }

  it.each([
    [256, 256],
    [100, 412],
    [412, 100],
    [480, 32],
    [256, 300],
  ])('rejects primes with %i top and %i bottom bits in common', (top, bottom) => {
    expect(codes(checkRsa(relatives(top, bottom), f4))).toEqual(['rsa_primes_related'])
  })

  it.each([
    [256, 200],
    [100, 360],
    [400, 60],
  ])('accepts primes with only %i and %i', (top, bottom) => {
    expect(checkRsa(relatives(top, bottom), f4)).toEqual([])
  })

  it('finds most keys that are two bits short, because it guesses three bits', () => {
    const moduli = Array.from({ length: 16 }, () => relatives(256, 254))
    const found = moduli.filter((n) => factorWithEqualEnds(n) !== undefined)
    expect(found.length).toBeGreaterThanOrEqual(10)
  })

  it('returns a factor', () => {
    const n = relatives(300, 218)
    const factor = factorWithEqualEnds(n)
    expect(factor && n % factor).toBe(0n)
    expect(factor).toBeGreaterThan(1n)
    expect(factor).toBeLessThan(n)
  })

  it('computes square roots in the 2-adic numbers', () => {
    for (const bits of [4, 5, 17, 64, 1000, 1024]) {
      const n = random.number(1100) * 8n + 1n
      const root = squareRootModuloPowerOfTwo(n, bits)
      expect(BigInt.asUintN(bits, root * root - n)).toBe(0n)
    }
  })
})
