import process from 'node:process'
import { describe, expect, it } from 'vitest'
import { checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import { expectWithin } from '../../support/timing.ts'
import { codes, nextPrime, seeded } from './seeded.ts'

const random = seeded('limits')
/** A modulus of two primes with exactly this many bits. */
const modulus = (bits: number) => random.prime(Math.ceil(bits / 2)) * random.prime(bits >> 1)
const n2048 = modulus(2048)
const f4 = 65537n

describe('size of the modulus', () => {
  it('accepts 2048 bits and rejects 2047', () => {
    expect(checkRsa(n2048, f4)).toEqual([])
    const small = nextPrime(2n ** 1023n + 1n) * nextPrime(2n ** 1023n + 2n ** 500n + 1n)
    expect(small.toString(2)).toHaveLength(2047)
    expect(codes(checkRsa(small, f4))).toContain('rsa_modulus_too_small')
  })

  it('accepts 8192 bits and rejects 8200', () => {
    const parts = [random.prime(2048), random.prime(2048), random.prime(2048)]
    const product = parts.reduce((all, part) => all * part, 1n)
    const fits = nextPrime((random.odd(8192) / product) | 1n) * product
    expect(fits.toString(2)).toHaveLength(8192)
    expect(codes(checkRsa(fits, f4))).toEqual([])
    expect(codes(checkRsa((fits << 8n) | 1n, f4))).toEqual(['rsa_modulus_too_large'])
  })

  it('accepts only multiples of 8 bits', () => {
    expect(checkRsa(modulus(2056), f4)).toEqual([])
    expect(codes(checkRsa(modulus(2050), f4))).toEqual(['rsa_modulus_bits_unsupported'])
  })

  it('names the actual and the required size', () => {
    expect(checkRsa(modulus(1024), f4)[0]?.detail).toContain('1024 bits; at least 2048')
  })

  it('rejects zero, negative and even moduli', () => {
    expect(codes(checkRsa(0n, f4))).toEqual(['rsa_modulus_not_positive'])
    expect(codes(checkRsa(-n2048, f4))).toEqual(['rsa_modulus_not_positive'])
    expect(codes(checkRsa(n2048 - 1n, f4))).toEqual(['rsa_modulus_even'])
    expect(codes(checkRsa(15n, 7n))).toEqual(['rsa_modulus_too_small', 'rsa_exponent_too_small'])
  })

  it('does not check the numbers of a modulus with a wrong size or parity', () => {
    const random65536 = seeded('large').odd(65536)
    const start = process.cpuUsage()
    for (const n of [random65536, random65536 - 1n, n2048 - 1n, 1n, 3n, 2n]) checkRsa(n, f4)
    // Checking the largest one takes minutes.
    expectWithin(2_000, process.cpuUsage(start).user / 1_000)
  })
})

describe('public exponent', () => {
  const invalid = [-65537n, -1n, 0n, 1n, 2n, 4n, 65536n, 2n ** 31n, n2048 - 1n]
  it.each(invalid)('rejects invalid exponent %#', (e) => {
    expect(codes(checkRsa(n2048, e))).toEqual(['rsa_exponent_invalid'])
  })

  it.each([3n, 17n, 257n, 65535n])('rejects %s as too small', (e) => {
    expect(codes(checkRsa(n2048, e))).toEqual(['rsa_exponent_too_small'])
  })

  it.each([65537n, 65539n, 2n ** 31n - 1n])('accepts %s', (e) => {
    expect(checkRsa(n2048, e)).toEqual([])
  })

  const tooLarge = [2n ** 31n + 1n, 2n ** 32n - 5n, 2n ** 256n + 1n, n2048, n2048 + 2n]
  it.each(tooLarge)('rejects too large exponent %#', (e) => {
    expect(codes(checkRsa(n2048, e))).toEqual(['rsa_exponent_too_large'])
  })

  it('explains that anyone can forge signatures for e = 1', () => {
    expect(checkRsa(n2048, 1n)[0]?.detail).toContain('anyone can forge')
  })
})
