import { describe, expect, it } from 'vitest'
import { sharedPrimes, sharesPrime } from '../../../packages/intake/src/rsa/shared-primes.ts'
import { seeded } from './seeded.ts'

const random = seeded('shared primes')
const primes = Array.from({ length: 300 }, () => random.prime(96))
const prime = (index: number) => primes[index] ?? 1n
/** Moduli without a prime in common: 0·1, 2·3, … */
const unrelated = Array.from({ length: 149 }, (_, i) => prime(2 * i) * prime(2 * i + 1))

describe('sharesPrime', () => {
  const n = prime(298) * prime(299)

  it('finds nothing among unrelated moduli, in an empty list or in the key itself', () => {
    expect(sharesPrime(n, unrelated)).toBeUndefined()
    expect(sharesPrime(n, [])).toBeUndefined()
    expect(sharesPrime(n, [n, ...unrelated, n])).toBeUndefined()
  })

  it.each([0, 1, 63, 64, 65, 127, 128, 148])('finds the modulus at index %i', (index) => {
    const related = prime(299) * 7n
    const others = unrelated.toSpliced(index, 1, related)
    expect(sharesPrime(n, others)).toBe(index)
    expect(sharesPrime(n, [n, ...others])).toBe(index + 1)
  })

  it('finds the first of two moduli that share one prime each', () => {
    const others = unrelated.toSpliced(20, 1, prime(298) * 7n).toSpliced(30, 1, prime(299) * 11n)
    expect(sharesPrime(n, others)).toBe(20)
    const apart = unrelated.toSpliced(70, 1, prime(298) * 7n).toSpliced(140, 1, prime(299) * 11n)
    expect(sharesPrime(n, apart)).toBe(70)
  })

  it('finds stored moduli that are shorter or longer than the new one', () => {
    expect(sharesPrime(n, [prime(298) * prime(0) * prime(1) * prime(2)])).toBe(0)
    expect(sharesPrime(n, [prime(298) * 3n])).toBe(0)
  })
})

describe('sharedPrimes', () => {
  it('finds nothing among unrelated moduli', () => {
    expect(sharedPrimes(unrelated)).toEqual([])
    expect(sharedPrimes([])).toEqual([])
    expect(sharedPrimes(unrelated.slice(0, 1))).toEqual([])
  })

  it('does not count the same modulus twice as shared', () => {
    const [first = 1n, second = 1n] = unrelated
    expect(sharedPrimes([first, second, first])).toEqual([])
  })

  it('names both keys and the prime that they share', () => {
    const moduli = [...unrelated, prime(10) * prime(298)]
    expect(sharedPrimes(moduli)).toEqual([
      { index: 5, factor: prime(10) },
      { index: 149, factor: prime(10) },
    ])
  })

  it('factors a modulus that shares both primes, in lists of every length', () => {
    for (let length = 3; length < 40; length++) {
      const moduli = [...unrelated.slice(0, length - 1), prime(1) * prime(2)]
      const shared = sharedPrimes(moduli)
      expect(shared.map(({ index }) => index)).toEqual([0, 1, length - 1])
      for (const { index, factor } of shared) {
        const n = moduli[index] ?? 1n
        expect(factor > 1n && factor < n && n % factor === 0n).toBe(true)
      }
    }
  })

  it('reports every copy of a weak modulus', () => {
    const [first = 1n] = unrelated
    const shared = sharedPrimes([first, prime(0) * prime(298), first])
    expect(shared.map(({ index }) => index)).toEqual([0, 1, 2])
  })
})
