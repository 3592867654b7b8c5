import { bitLength } from '../../intake/arithmetic.ts'
import type { SharedPrime } from '../../intake/rsa/index.ts'
import type { Fault } from '../../intake/types.ts'
import type { AuditSubject } from './records.ts'

/** An RSA key, as far as it is compared with all the others of the registry. */
export interface StoredModulus {
  subject: AuditSubject
  n: bigint
  spkiSha256: string
  materialSha256: string
}

/** What a comparison found wrong with one key. */
export interface ModulusFinding {
  subject: AuditSubject
  fault: Fault
}

export type SharedPrimesSearch = (moduli: readonly bigint[]) => Promise<SharedPrime[]>

/**
 * Bits of all moduli that are multiplied at once: 131,072 keys of 2048 bits, whose product tree
 * takes about 0.6 GB and some minutes. Of more, every half of that size meets every other one.
 */
const maxBitsAtOnce = 2 ** 28

/**
 * Keys that have their modulus in common and are not the same key: another exponent, or PSS beside
 * plain RSA. Whoever holds one private key holds the others. The same key in two projects is no
 * finding: it may well be meant.
 */
export function findReused(stored: readonly StoredModulus[]): ModulusFinding[] {
  const groups = Map.groupBy(stored, ({ materialSha256 }) => materialSha256)
  return [...groups.values()].flatMap((group) =>
    group.flatMap(({ subject, spkiSha256 }) => {
      const other = group.find((candidate) => candidate.spkiSha256 !== spkiSha256)
      if (other === undefined) return []
      const detail = `The key has the same modulus as ${named(other.subject)}, with another exponent or form: whoever holds one private key holds both. Make a new pair for one of them.`
      return [{ subject, fault: { code: 'rsa_modulus_reused', detail } }]
    }),
  )
}

/**
 * Keys one prime of which is in another key as well, so that both are broken. A modulus that merely
 * divides a longer one is not: anybody can multiply a public number by a prime of his own, and must
 * not get the key of somebody else switched off by it.
 */
export async function findShared(
  stored: readonly StoredModulus[],
  search: SharedPrimesSearch,
  bitsAtOnce = maxBitsAtOnce,
): Promise<ModulusFinding[]> {
  const factors = new Map<bigint, bigint>()
  const distinct = [...new Set(stored.map(({ n }) => n))]
  for (const moduli of batches(distinct, bitsAtOnce)) {
    for (const { index, factor } of await search(moduli)) {
      const n = moduli[index]
      if (n !== undefined && (factors.get(n) ?? n) === n) factors.set(n, factor)
    }
  }
  const related = stored.filter(({ n }) => factors.has(n))
  return related.flatMap(({ subject, n }) => {
    const factor = factors.get(n) ?? n
    if (factor === n) return []
    const other = related.find((candidate) => candidate.n !== n && candidate.n % factor === 0n)
    const whom = other === undefined ? 'another key' : named(other.subject)
    const detail = `The key shares a prime with ${whom}: both can be broken. Make new pairs for both, on a machine with a working random generator.`
    return [{ subject, fault: { code: 'rsa_shared_prime', detail } }]
  })
}

function named({ kid, projectName }: AuditSubject): string {
  return `the key ${kid} of the project ${projectName}`
}

/** Lists in which every two moduli are together at least once, none of them too long. */
function* batches(moduli: readonly bigint[], bitsAtOnce: number): Generator<bigint[]> {
  const halves = cut(moduli, bitsAtOnce / 2)
  if (halves.length < 3) {
    yield halves.flat()
    return
  }
  for (const [position, first] of halves.entries()) {
    for (const second of halves.slice(position + 1)) yield [...first, ...second]
  }
}

function cut(moduli: readonly bigint[], maxBits: number): bigint[][] {
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
