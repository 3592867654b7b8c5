import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  exactSquareRoot,
  gcd,
  integerRoot,
  isqrt,
  modPow,
} from '../../packages/intake/src/arithmetic.ts'

const natural = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) })

describe('arithmetic', () => {
  it('computes the floor of a square root at every size', () => {
    for (let n = 0n; n < 5000n; n++) {
      const root = isqrt(n)
      expect(root * root <= n && (root + 1n) ** 2n > n).toBe(true)
    }
    fc.assert(
      fc.property(natural(9000), (n) => {
        const root = isqrt(n)
        return root * root <= n && (root + 1n) ** 2n > n
      }),
    )
    expect(() => isqrt(-1n)).toThrow(RangeError)
  })

  it('recognizes perfect squares', () => {
    fc.assert(
      fc.property(natural(2100), (root) => {
        const square = root * root
        expect(exactSquareRoot(square)).toBe(root)
        expect(exactSquareRoot(square + 2n * root + 2n)).toBeUndefined()
        if (root > 1n) expect(exactSquareRoot(square - 1n)).toBeUndefined()
      }),
    )
    expect(exactSquareRoot(-4n)).toBeUndefined()
  })

  it('computes the floor of a k-th root', () => {
    fc.assert(
      fc.property(natural(600), fc.integer({ min: 2, max: 40 }), (n, k) => {
        const root = integerRoot(n, k)
        return root ** BigInt(k) <= n && (root + 1n) ** BigInt(k) > n
      }),
    )
  })

  it('agrees with BigInt on powers and divisors', () => {
    fc.assert(
      fc.property(natural(64), fc.bigInt(0n, 300n), fc.bigInt(1n, 2n ** 64n), (base, power, m) => {
        expect(modPow(base, power, m)).toBe(base ** power % m)
        const odd = 2n * m + 1n
        expect(modPow(2n, power, odd)).toBe(2n ** power % odd)
        expect(gcd(base * m, power * m) % m).toBe(0n)
      }),
    )
    expect(gcd(0n, 7n)).toBe(7n)
    expect(gcd(2n ** 64n * 3n, 6n)).toBe(6n)
  })
})
