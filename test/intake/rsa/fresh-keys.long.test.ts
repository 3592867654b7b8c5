import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { base64urlToBigInt } from '../../../packages/intake/src/encoding/bytes.ts'
import { auditRsa } from '../../../packages/intake/src/rsa/index.ts'
import { sharedPrimes } from '../../../packages/intake/src/rsa/shared-primes.ts'
import { smoothBitsBelow } from '../../../packages/intake/src/rsa/smooth.ts'
import { seeded } from './seeded.ts'

const minutes = 60_000

/** Modulus and exponent of a new key of the platform's. */
function freshKey(modulusLength: number): [n: bigint, e: bigint] {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength })
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' })
  return [base64urlToBigInt(n), base64urlToBigInt(e)]
}

describe('new keys have no faults', () => {
  it(
    'in the audit',
    () => {
      const keys = Array.from({ length: 12 }, () => freshKey(2048))
      for (const [n, e] of keys) expect(auditRsa(n, e), n.toString(16)).toEqual([])
      expect(sharedPrimes(keys.map(([n]) => n))).toEqual([])
    },
    5 * minutes,
  )

  it(
    'the common smooth part stays far below its limit in 20,000 numbers',
    () => {
      const random = seeded('smooth parts')
      let most = 0
      for (let i = 0; i < 20_000; i++) most = Math.max(most, smoothBitsBelow(random.odd(2048)))
      expect(most).toBeGreaterThan(60)
      expect(most).toBeLessThan(130)
    },
    2 * minutes,
  )
})
