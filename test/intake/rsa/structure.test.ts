import { describe, expect, it } from 'vitest'
import { bitLength } from '../../../packages/intake/src/arithmetic.ts'
import { writePem } from '../../../packages/intake/src/encoding/pem-writer.ts'
import { parsedRsaKey } from '../../../packages/intake/src/kinds/rsa.ts'
import { checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import {
  describeStructure,
  factorWithDenominator,
  hasBiasedBits,
  longestEqualRun,
  simpleDenominator,
  warnOfVanity,
  zeroFilledLimbSize,
} from '../../../packages/intake/src/rsa/structure.ts'
import { examine } from '../../support/keys/intake.ts'
import { codes, nextPrime, seeded } from './seeded.ts'

const random = seeded('structure')
const f4 = 65537n

/** A modulus of 2048 bits that begins with a prefix: the upper half can be chosen. */
function vanity(prefix: string): bigint {
  const p = random.prime(1024)
  const rest = 2048 - 4 * prefix.length
  const target = (BigInt(`0x${prefix}`) << BigInt(rest)) + random.number(rest)
  return p * nextPrime((target / p) | 1n)
}

const repeatedWord = (word: bigint, bits: number) => {
  return BigInt(
    `0x${word
      .toString(16)
      .padStart(bits / 4, '0')
      .repeat(1024 / bits)}`,
  )
}

describe('runs of equal bytes', () => {
  const head = 'c3a1b2d4e5f60718'
  it('rejects 16 in a row and accepts 15', () => {
    const sixteen = vanity(`${head}${'ab'.repeat(16)}17`)
    expect(longestEqualRun(sixteen)).toBe(16)
    expect(codes(checkRsa(sixteen, f4))).toEqual(['rsa_modulus_structured'])
    expect(checkRsa(sixteen, f4)[0]?.detail).toContain('16 equal bytes')
    const fifteen = vanity(`${head}${'ab'.repeat(15)}17`)
    expect(longestEqualRun(fifteen)).toBe(15)
    expect(checkRsa(fifteen, f4)).toEqual([])
  })

  it('accepts readable text in the upper third of a product of random primes', () => {
    const text = 'This modulus was chosen so that it spells a whole sentence. '
    expect(checkRsa(vanity(`c3${Buffer.from(text).toString('hex')}`), f4)).toEqual([])
  })
})

describe('share of one bits', () => {
  /** A prime with random top bits and about 20 one bits below them. */
  function sparsePrime(): bigint {
    let value = random.odd(96) << 928n
    for (let i = 0; i < 16; i++) value |= 1n << (random.number(16) % 900n)
    return nextPrime(value | 1n)
  }

  it('rejects primes with few one bits', () => {
    const n = sparsePrime() * sparsePrime()
    expect(longestEqualRun(n)).toBeLessThan(16)
    expect(zeroFilledLimbSize(n)).toBeUndefined()
    expect(simpleDenominator(n)).toBeUndefined()
    expect(codes(checkRsa(n, f4))).toEqual(['rsa_modulus_structured'])
  })

  it('finds a bias to either side, unless only the upper half has it', () => {
    expect(hasBiasedBits(2n ** 2047n + 1n)).toBe(true)
    expect(hasBiasedBits(2n ** 2048n - 1n)).toBe(true)
    expect(hasBiasedBits((1n << 2047n) + random.number(1024))).toBe(false)
    const fewer = random.number(1024) & (random.number(1023) | random.number(1023))
    expect(hasBiasedBits(fewer)).toBe(true)
    expect(hasBiasedBits((random.number(1024) << 1024n) + fewer)).toBe(false)
    expect(hasBiasedBits(random.number(2048))).toBe(false)
  })
})

describe('vanity keys', () => {
  /** A modulus whose upper half has about an eighth of one bits, or of zero bits. */
  const chosen = (invert: boolean) => {
    const few = random.number(960) & random.number(960) & random.number(960)
    const prefix = (1n << 999n) | (invert ? (1n << 996n) - 1n - few : few)
    return vanity(prefix.toString(16))
  }

  it.each([false, true])('are accepted with a warning (mostly ones: %s)', (invert) => {
    const n = chosen(invert)
    expect(hasBiasedBits(n)).toBe(false)
    const verdict = examine(writePem(parsedRsaKey(n, f4).spki))
    if (!verdict.ok) throw new Error(JSON.stringify(verdict.faults))
    expect(verdict.warnings).toMatchObject([{ code: 'rsa_modulus_structured' }])
    expect(verdict.warnings[0]?.detail).toMatch(/a vanity key.*openssl genpkey/)
  })

  it('are not those with text in the upper third, or random ones', () => {
    const text = 'This modulus was chosen so that it spells a whole sentence. '
    expect(warnOfVanity(vanity(`c3${Buffer.from(text).toString('hex')}`))).toBeUndefined()
    for (let i = 0; i < 50; i++) expect(warnOfVanity(random.odd(2048))).toBeUndefined()
  })

  it('are not those that are biased as a whole, which are rejected', () => {
    expect(warnOfVanity(2n ** 2047n + 1n)).toBeUndefined()
  })
})

describe('zero-filled limbs', () => {
  it.each([32, 64, 128, 256])('finds limbs of %i bits with a zero upper half', (size) => {
    // The lower halves are nearly full, so that the share of one bits is normal.
    const limb = (2n ** BigInt(size / 2) - 1n).toString(16).padStart(size / 4, '0')
    const filled = BigInt(`0xc${limb.slice(1)}${limb.repeat(2048 / size - 1)}`)
    expect(hasBiasedBits(filled)).toBe(false)
    expect(zeroFilledLimbSize(filled)).toBe(size)
    if (longestEqualRun(filled) > 15) return
    expect(describeStructure(filled)).toContain(`${size}-bit words`)
  })

  it('rejects a product of polynomials in 2^128', () => {
    const polynomial = () => {
      let value = random.odd(28)
      for (let degree = 0; degree < 8; degree++) value = (value << 128n) + random.number(28)
      return nextPrime(value | 1n)
    }
    const n = polynomial() * polynomial()
    expect(bitLength(n)).toBe(2104)
    expect(zeroFilledLimbSize(n)).toBe(128)
    expect(codes(checkRsa(n, f4))).toEqual(['rsa_modulus_structured'])
  })

  it('finds no limbs in random numbers', () => {
    for (let i = 0; i < 50; i++) expect(zeroFilledLimbSize(random.number(2048))).toBeUndefined()
  })
})

describe('continued fraction', () => {
  it('rejects and factors primes that repeat a word', () => {
    const p = nextPrime(repeatedWord(0xe5a7n, 16) | 1n)
    const q = nextPrime(repeatedWord(0xd1c3n, 16) | 1n)
    const n = p * q
    expect(longestEqualRun(n)).toBeLessThan(16)
    expect(hasBiasedBits(n)).toBe(false)
    const [fault, ...others] = checkRsa(n, f4)
    expect(fault?.code).toBe('rsa_modulus_structured')
    expect(fault?.detail).toContain('was factored')
    expect(others).toEqual([])
    const factor = factorWithDenominator(n, simpleDenominator(n) ?? 0n)
    expect([p, q]).toContain(factor)
  })

  it('rejects a long repetition in the modulus', () => {
    const n = vanity(Buffer.from('\xc1twenty characters!!!'.repeat(5), 'latin1').toString('hex'))
    expect(codes(checkRsa(n, f4))).toEqual(['rsa_modulus_structured'])
  })

  it('finds no simple fraction in random numbers', () => {
    for (let i = 0; i < 50; i++) expect(simpleDenominator(random.odd(2048))).toBeUndefined()
  })
})
