import { readFileSync } from 'node:fs'

/** Bytes of a SHA-256 that a record keeps; a wrong hit has a chance of about 2^-50. */
const RECORD_BYTES = 8

/**
 * Sorted records of public keys whose private key stands in a short list; made by
 * `scripts/generate-trivial-keys.ts`.
 */
const records = readFileSync(new URL('./trivial-keys.bin', import.meta.url))

/**
 * Whether the private key of a public key is one that anybody would try first: counting numbers,
 * one repeated byte and the like. Takes SHA-256 (hex) over the minimal bytes of x (EC) or the raw
 * bytes (Ed25519, ML-DSA).
 */
export function isTrivialKey(materialSha256: string): boolean {
  const wanted = Buffer.from(materialSha256.slice(0, 2 * RECORD_BYTES), 'hex')
  let low = 0
  let high = records.length / RECORD_BYTES - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const start = middle * RECORD_BYTES
    const order = wanted.compare(records, start, start + RECORD_BYTES)
    if (order === 0) return true
    if (order > 0) low = middle + 1
    else high = middle - 1
  }
  return false
}
