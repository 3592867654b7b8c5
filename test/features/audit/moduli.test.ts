import { describe, expect, test } from 'vitest'
import { sharedPrimes } from '../../../packages/intake/src/rsa/shared-primes.ts'
import {
  findReusedModuli,
  findWeakModuli,
  type StoredModulus,
} from '../../../packages/server/src/features/audit/moduli.ts'
import { seeded } from '../../intake/rsa/seeded.ts'

const random = seeded('moduli of an audit')
const prime = () => random.prime(96)

function stored(n: bigint, kid: string, spkiSha256 = `spki ${n}`): StoredModulus {
  const subject = { projectId: `id of ${kid}`, projectName: `project of ${kid}`, kid }
  return { subject, n, spkiSha256, materialSha256: `material ${n}` }
}

/** The found keys, and the size of the largest batch. */
async function shared(moduli: readonly StoredModulus[], bitsPerSearch?: number) {
  let longest = 0
  const search = async (batch: readonly bigint[]) => {
    longest = Math.max(longest, batch.length)
    return sharedPrimes(batch)
  }
  const findings = await findWeakModuli(moduli, search, bitsPerSearch)
  return { kids: findings.map(({ subject }) => subject.kid), findings, longest }
}

describe('shared primes', () => {
  const strangers = Array.from({ length: 40 }, (_, i) => stored(prime() * prime(), `stranger ${i}`))
  const p = prime()
  const pair = [stored(p * prime(), 'first'), stored(p * prime(), 'last')]

  test('both keys are found, and each detail names the other', async () => {
    const { findings } = await shared([...strangers, ...pair])
    expect(findings.map(({ subject, fault }) => [subject.kid, fault.code])).toEqual([
      ['first', 'rsa_shared_prime'],
      ['last', 'rsa_shared_prime'],
    ])
    expect(findings[0]?.fault.detail).toContain('the key last of the project project of last')
  })

  test('both are found in bounded batches, however far apart they are', async () => {
    const [first, last] = pair
    if (first === undefined || last === undefined) throw new Error('no pair')
    const { kids, longest } = await shared([first, ...strangers, last], 192 * 10)
    expect(kids).toEqual(['first', 'last'])
    expect(longest).toBeLessThanOrEqual(10)
    expect((await shared(strangers, 192 * 10)).kids).toEqual([])
  })

  test('a modulus in two projects is compared once, and both keys are found', async () => {
    const copy = stored(pair[0]?.n ?? 0n, 'copy')
    expect((await shared([...pair, copy])).kids).toEqual(['first', 'last', 'copy'])
  })

  test('a foreign modulus times a prime is found; the foreign key is not', async () => {
    const [victim] = strangers
    if (victim === undefined) throw new Error('no stranger')
    const forged = stored(victim.n * prime(), 'forged')
    const another = stored(victim.n * prime(), 'another')
    expect((await shared([...strangers, forged, another])).kids).toEqual(['forged', 'another'])
    expect((await shared([...strangers, forged, another], 192 * 10)).kids).toEqual([
      'forged',
      'another',
    ])
  })

  test('such a multiple does not hide a prime that the foreign key shares', async () => {
    const [first, last] = pair
    if (first === undefined || last === undefined) throw new Error('no pair')
    const forged = stored(first.n * prime(), 'forged')
    const sharers = ['first', 'last', 'forged']
    expect((await shared([first, last, forged])).kids).toEqual(sharers)
    const inBatches = [first, ...strangers.slice(0, 20), last, ...strangers.slice(20), forged]
    expect((await shared(inBatches, 192 * 10)).kids).toEqual(sharers)
  })
})

describe('reused moduli', () => {
  const n = prime() * prime()

  test('every key of a modulus with several exponents or forms is found', () => {
    const keys = [stored(n, 'rsa'), stored(n, 'pss', 'other spki'), stored(prime(), 'stranger')]
    expect(findReusedModuli(keys).map(({ subject, fault }) => [subject.kid, fault.code])).toEqual([
      ['rsa', 'rsa_modulus_reused'],
      ['pss', 'rsa_modulus_reused'],
    ])
  })

  test('the same key in two projects is no finding', () => {
    expect(findReusedModuli([stored(n, 'here'), stored(n, 'there')])).toEqual([])
  })
})
