import { checkPrimeSync, createHash } from 'node:crypto'
import type { Fault } from '../../../packages/intake/src/types.ts'

/** The same numbers at every run, so that a test key is the same key at every run. */
export interface Seeded {
  /** A number of exactly `bits` bits. */
  number(bits: number): bigint
  /** An odd number of exactly `bits` bits whose two top bits are set. */
  odd(bits: number): bigint
  /** A prime of exactly `bits` bits whose two top bits are set. */
  prime(bits: number): bigint
}

export function seeded(seed: string): Seeded {
  let counter = 0
  const number = (bits: number): bigint => {
    const hash = createHash('shake256', { outputLength: Math.ceil(bits / 8) })
    const stream = BigInt(`0x${hash.update(`${seed}/${counter++}`).digest('hex')}`)
    return BigInt.asUintN(bits, stream) | (1n << BigInt(bits - 1))
  }
  const odd = (bits: number) => number(bits) | (1n << BigInt(bits - 2)) | 1n
  return { number, odd, prime: (bits) => nextPrime(odd(bits)) }
}

/** The first prime in start, start + step, start + 2·step, … Start must be odd, step even. */
export function nextPrime(start: bigint, step = 2n): bigint {
  let candidate = start
  while (hasTinyFactor(candidate) || !checkPrimeSync(candidate)) candidate += step
  return candidate
}

const tinyFactors = 3n * 5n * 7n * 11n * 13n * 17n * 19n * 23n * 29n * 31n * 37n * 41n

function hasTinyFactor(n: bigint): boolean {
  let [a, b] = [n, tinyFactors]
  while (b !== 0n) [a, b] = [b, a % b]
  return a !== 1n
}

export const codes = (faults: readonly Fault[]): string[] => faults.map(({ code }) => code)
