import type { Fault } from '@pubring/intake'
import { bitLength } from '@pubring/intake/encoding'
import type { SharedPrime } from '@pubring/intake/shared-primes'
import type { AuditSubject } from './records.ts'

/** The parts of an RSA key that an audit compares. */
export interface StoredModulus {
  subject: AuditSubject
  n: bigint
  spkiSha256: string
  materialSha256: string
}

interface ModulusFinding {
  subject: AuditSubject
  fault: Fault
}

type SharedPrimesSearch = (moduli: readonly bigint[]) => Promise<SharedPrime[]>

/**
 * Bits of all moduli that one search multiplies: 131,072 keys of 2048 bits, whose product tree takes
 * about 0.6 GB and some minutes. More moduli are searched in pairs of batches of half that size.
 */
const maxBitsPerSearch = 2 ** 28

/**
 * Finds keys that share a modulus but differ in exponent or form (PSS beside plain RSA), so that the
 * private key of one is that of the others. The same key in two projects may be intended, and is no
 * finding.
 */
export function findReusedModuli(stored: readonly StoredModulus[]): ModulusFinding[] {
  const groups = Map.groupBy(stored, ({ materialSha256 }) => materialSha256)
  return [...groups.values()].flatMap((group) =>
    group.flatMap(({ subject, spkiSha256 }) => {
      const other = group.find((candidate) => candidate.spkiSha256 !== spkiSha256)
      if (other === undefined) return []
      const detail = `The key has the same modulus as ${named(other.subject)}, with another exponent or form: the private key of one is that of the other. Generate a new pair for one of them.`
      return [{ subject, fault: { code: 'rsa_modulus_reused', detail } }]
    }),
  )
}

/**
 * Finds keys that share one prime with another key, which breaks both. A modulus that divides a
 * longer one is no finding: anyone can multiply a public modulus by a prime, and must not get the
 * key of another project deactivated that way.
 */
export async function findWeakModuli(
  stored: readonly StoredModulus[],
  search: SharedPrimesSearch,
  bitsPerSearch = maxBitsPerSearch,
): Promise<ModulusFinding[]> {
  const factors = new Map<bigint, bigint>()
  const distinct = [...new Set(stored.map(({ n }) => n))]
  for (const moduli of batches(distinct, bitsPerSearch)) {
    for (const { index, factor } of await search(moduli)) {
      const n = moduli[index]
      if (n !== undefined && (factors.get(n) ?? n) === n) factors.set(n, factor)
    }
  }
  const related = stored.filter(({ n }) => factors.has(n))
  return related.flatMap(({ subject, n }) => {
    const factor = factors.get(n) ?? n
    if (factor === n) return []
    const sharer = related.find((candidate) => candidate.n !== n && candidate.n % factor === 0n)
    const name = sharer === undefined ? 'another key' : named(sharer.subject)
    const detail = `The key shares a prime with ${name}, so both can be broken. Generate new pairs for both on a machine with a sound random number generator.`
    return [{ subject, fault: { code: 'rsa_shared_prime', detail } }]
  })
}

function named({ kid, projectName }: AuditSubject): string {
  return `the key ${kid} of the project ${projectName}`
}

/** Batches of bounded size that hold every two moduli together at least once. */
function* batches(moduli: readonly bigint[], maxBits: number): Generator<bigint[]> {
  const halves = split(moduli, maxBits / 2)
  if (halves.length < 3) {
    yield halves.flat()
    return
  }
  for (const [index, first] of halves.entries()) {
    for (const second of halves.slice(index + 1)) yield [...first, ...second]
  }
}

function split(moduli: readonly bigint[], maxBits: number): bigint[][] {
  const parts: bigint[][] = []
  let bits = Number.POSITIVE_INFINITY
  for (const n of moduli) {
    const length = bitLength(n)
    if (bits + length > maxBits) {
      parts.push([])
      bits = 0
    }
    parts.at(-1)?.push(n)
    bits += length
  }
  return parts
}
