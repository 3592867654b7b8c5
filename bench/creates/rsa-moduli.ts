import { generatePrime } from 'node:crypto'
import { minimalBytes } from '../../packages/intake/src/encoding/bytes.ts'
import { tag } from '../../packages/intake/src/encoding/der.ts'
import {
  encode,
  encodeBitString,
  encodeInteger,
  encodeOid,
} from '../../packages/intake/src/encoding/der-writer.ts'
import { writePem } from '../../packages/intake/src/encoding/pem-writer.ts'

function makePrime(bits: number): Promise<bigint> {
  return new Promise((resolve, reject) => {
    generatePrime(bits, { bigint: true }, (error, prime) => {
      if (error) reject(error)
      else resolve(prime)
    })
  })
}

/**
 * Public RSA keys of this size, in groups without a common prime: a round-robin tournament of a few
 * primes, each of whose rounds is a group. (Generating a new pair for every key would take minutes.)
 */
export async function rsaGroups(bits: number, primeCount: number): Promise<string[][]> {
  const primes = await Promise.all(Array.from({ length: primeCount }, () => makePrime(bits / 2)))
  const [fixed = 1n, ...circle] = primes
  return circle.map((_, round) => {
    const rotated = [...circle.slice(round), ...circle.slice(0, round)]
    const line = [fixed, ...rotated]
    return line.slice(0, primeCount / 2).map((p, i) => publicPem(p * (line.at(-1 - i) ?? 1n)))
  })
}

function publicPem(n: bigint): string {
  const numbers = encode(
    tag.sequence,
    encodeInteger(minimalBytes(n)),
    encodeInteger(Uint8Array.of(1, 0, 1)),
  )
  const algorithm = encode(
    tag.sequence,
    encodeOid('1.2.840.113549.1.1.1'),
    Uint8Array.of(tag.null, 0),
  )
  return writePem(encode(tag.sequence, algorithm, encodeBitString(numbers)))
}
