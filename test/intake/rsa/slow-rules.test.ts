import { describe, expect, test } from 'vitest'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { parsedRsaKey } from '../../../packages/intake/src/kinds/rsa.ts'
import { checkQuickly, checkSlowly, slowCodes } from '../../../packages/intake/src/rsa/index.ts'
import { codeOf, emptyBlocklist, examine, fixture, pem } from '../../support/keys/intake.ts'
import { modulusOf } from '../../support/keys/weak-keys.ts'
import { codes } from './seeded.ts'

const modulus = (name: string) => modulusOf(fixture(`keys/rsa/${name}.pem`))
const prime = modulus('prime-modulus')
const closePrimes = fixture('keys/rsa/fermat-5.pem')
const keyOf = (n: bigint, e: bigint) => pem(parsedRsaKey(n, e).spki)

describe('slow rules are skipped, and the report says so, for', () => {
  test('an exponent that is too small', () => {
    expect(codes(checkSlowly(prime))).toEqual(['rsa_modulus_not_composite'])
    const verdict = examine(keyOf(prime, 3n))
    expect(verdict).toMatchObject({
      ok: false,
      faults: [{ code: 'rsa_exponent_too_small', skipped: slowCodes }],
    })
  })

  test('an algorithm that does not match', () => {
    expect(codeOf(closePrimes)).toBe('rsa_primes_too_close')
    const verdict = examine(closePrimes, 'ES256')
    expect(verdict).toMatchObject({
      ok: false,
      faults: [{ code: 'algorithm_mismatch', skipped: slowCodes }],
    })
  })

  test('a key on a block list', () => {
    const verdict = examineKey(closePrimes, undefined, { ...emptyBlocklist, has: () => true })
    expect(verdict).toMatchObject({
      ok: false,
      faults: [{ code: 'key_known_compromised', skipped: slowCodes }],
    })
  })

  test('a size that is not allowed, beside other quick faults', () => {
    const verdict = examine(fixture('keys/rsa/bits-1024.pem'))
    expect(verdict).toMatchObject({ faults: [{ skipped: slowCodes }] })
    const even = examine(keyOf(prime - 1n, 3n))
    expect(even).toMatchObject({
      faults: [
        { code: 'rsa_modulus_even', skipped: slowCodes },
        { code: 'rsa_exponent_too_small' },
      ],
    })
  })
})

test('a prime modulus is not searched for its primes, and the report says so', () => {
  expect(examine(keyOf(prime, 65537n))).toMatchObject({
    faults: [{ code: 'rsa_modulus_not_composite', skipped: slowCodes.slice(1) }],
  })
})

test('nothing was skipped where the slow rules were checked, and for other kinds of keys', () => {
  const files = ['rsa/fermat-5', 'rsa/primes-high-low-equal', 'ec/p256-private-key-1']
  for (const file of files) {
    const verdict = examine(fixture(`keys/${file}.pem`))
    if (verdict.ok) throw new Error(file)
    expect(verdict.faults.map(({ skipped }) => skipped)).toEqual([undefined])
  }
})

test('each slow rule reports one of the slow codes, and no quick rule does', () => {
  const slow = [
    prime,
    ...['fermat-5', 'primes-high-low-equal', 'repeating-pattern-primes'].map(modulus),
  ]
  expect(new Set(slow.flatMap((n) => codes(checkSlowly(n))))).toEqual(new Set(slowCodes))
  for (const n of slow) expect(checkQuickly(n, 65537n)).toEqual([])
})
