import { describe, expect, it } from 'vitest'
import { bitLength, modPow } from '../../../packages/intake/src/arithmetic.ts'
import { checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import { product, smallPrimes } from '../../../packages/intake/src/rsa/primes.ts'
import { hasRocaFingerprint } from '../../../packages/intake/src/rsa/roca.ts'
import { codes, nextPrime, seeded } from './seeded.ts'

const random = seeded('roca')
const primesTo167 = smallPrimes().filter((prime) => prime <= 167)
const modulus = product(primesTo167.map(BigInt))

/** A prime k·M + (65537^a mod M) of 1024 bits, as RSALib makes them; `count` primes in M. */
function rsaLibPrime(count: number): bigint {
  const primorial = product(smallPrimes().slice(0, count).map(BigInt))
  const start = random.odd(1024)
  const power = modPow(65537n, random.number(200), primorial)
  return nextPrime(start - (start % primorial) + power, primorial)
}

describe('ROCA', () => {
  it('rejects a key of two RSALib primes', () => {
    const n = rsaLibPrime(126) * rsaLibPrime(126)
    expect(bitLength(n)).toBe(2048)
    expect(codes(checkRsa(n, 65537n))).toEqual(['rsa_roca'])
  })

  it('rejects the shortest form, where M has 39 primes', () => {
    expect(codes(checkRsa(rsaLibPrime(39) * rsaLibPrime(39), 65537n))).toEqual(['rsa_roca'])
  })

  it('accepts a key with only one RSALib prime', () => {
    expect(checkRsa(rsaLibPrime(126) * random.prime(1024), 65537n)).toEqual([])
  })

  it('accepts residues that fit each prime but no common exponent', () => {
    // Another power of 65537 modulo each prime: the first stage alone would refuse it.
    const mixed = primesTo167.reduce((sum, p) => {
      const prime = BigInt(p)
      const cofactor = modulus / prime
      const residue = modPow(65537n, random.number(16), prime)
      return sum + residue * cofactor * modPow(cofactor, prime - 2n, prime)
    }, 0n)
    for (const p of primesTo167.slice(1)) {
      const powers = new Set(
        Array.from({ length: p }, (_, i) => modPow(65537n, BigInt(i), BigInt(p))),
      )
      expect(powers.has(mixed % BigInt(p))).toBe(true)
    }
    expect(hasRocaFingerprint(mixed % modulus)).toBe(false)
    expect(hasRocaFingerprint(modPow(65537n, 123456789n, modulus))).toBe(true)
  })
})
