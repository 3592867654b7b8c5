import { describe, expect, it } from 'vitest'
import { bitLength } from '../../../packages/intake/src/arithmetic.ts'
import { isProbablePrime, smallFactor } from '../../../packages/intake/src/rsa/factors.ts'
import { checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import { powerDegree } from '../../../packages/intake/src/rsa/powers.ts'
import { product, smallPart, smallPrimes } from '../../../packages/intake/src/rsa/primes.ts'
import { codes, nextPrime, seeded } from './seeded.ts'

const random = seeded('shape')
const f4 = 65537n
/** A modulus of 2048 bits that is `factor` times a prime. */
const multipleOf = (factor: bigint) => {
  return nextPrime(((2n ** 2048n - random.number(2040)) / factor) | 1n) * factor
}

describe('small factors', () => {
  it('rejects a factor up to 65537 and accepts larger ones', () => {
    for (const factor of [3n, 751n, 757n, 65521n, 65537n]) {
      expect(codes(checkRsa(multipleOf(factor), f4))).toEqual(['rsa_small_factor'])
    }
    expect(checkRsa(multipleOf(65539n), f4)).toEqual([])
  })

  it('finds every prime up to 65537, alone and together', () => {
    expect(smallPrimes()).toHaveLength(6543)
    expect(smallPrimes().at(-1)).toBe(65537)
    const cofactor = random.prime(2032)
    for (const prime of smallPrimes().filter((_, i) => i % 97 === 0)) {
      expect(smallFactor(cofactor * BigInt(prime))).toBe(prime)
    }
    const chosen = [2, 3, 167, 751, 30011, 65521, 65537]
    const number = chosen.reduce((all, prime) => all * BigInt(prime) ** 2n, cofactor)
    expect(smallPart(number)).toBe(product(chosen.map(BigInt)))
    expect(smallPart(product(chosen.map(BigInt)))).toBe(product(chosen.map(BigInt)))
    expect(smallPart(cofactor)).toBe(1n)
    expect(smallFactor(cofactor)).toBeUndefined()
  })
})

describe('powers', () => {
  it('rejects the square and the cube of a prime', () => {
    expect(codes(checkRsa(random.prime(1024) ** 2n, f4))).toEqual(['rsa_modulus_power'])
    const cubeRoot = nextPrime((2n ** 688n - random.number(680)) | 1n)
    expect(bitLength(cubeRoot ** 3n)).toBe(2064)
    expect(codes(checkRsa(cubeRoot ** 3n, f4))).toEqual(['rsa_modulus_power'])
  })

  it('finds every prime degree up to 127 of a 2048-bit modulus, and none for n ± 2', () => {
    for (const k of smallPrimes().filter((prime) => prime <= 127)) {
      const root = random.odd(Math.ceil(2048 / k))
      const power = (root > 65537n ? root : 65539n) ** BigInt(k)
      expect(powerDegree(power)).toBe(k)
      expect(powerDegree(power + 2n)).toBeUndefined()
      expect(powerDegree(power - 2n)).toBeUndefined()
    }
  })

  it('finds the degrees that only larger moduli can have', () => {
    for (const k of [131, 257, 509]) expect(powerDegree(65539n ** BigInt(k))).toBe(k)
    expect(powerDegree(65539n ** 6n)).toBe(2)
    expect(powerDegree(65539n ** 15n)).toBe(3)
  })

  it('accepts a number that only has the residues of a power', () => {
    const one = product(smallPrimes().slice(0, 1000).map(BigInt)) * 3n + 1n
    expect(powerDegree(one)).toBeUndefined()
  })

  it('names the degree', () => {
    expect(checkRsa(random.prime(1024) ** 2n, f4)[0]?.detail).toContain('the square of')
  })
})

describe('prime modulus', () => {
  it('rejects a prime', () => {
    const prime = random.prime(2048)
    expect(codes(checkRsa(prime, f4))).toEqual(['rsa_modulus_not_composite'])
  })

  it('distinguishes primes from products above the limit for OpenSSL', () => {
    const prime = 5n * 2n ** 4687n + 1n
    expect(isProbablePrime(prime)).toBe(true)
    expect(isProbablePrime(prime * random.prime(1024))).toBe(false)
    expect(isProbablePrime(prime + 2n)).toBe(false)
  })
})
