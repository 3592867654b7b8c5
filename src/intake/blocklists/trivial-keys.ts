import { readFileSync } from 'node:fs'

/** Bytes of SHA-256 in a record; a false positive has a probability of about 2^-50. */
const recordLength = 8

/** Sorted records of public keys whose private key is in a short list; see `isTrivialKey`. */
const records = readFileSync(new URL('./trivial-keys.bin', import.meta.url))

/**
 * Whether the private key of a public key is one that an attacker tries first, such as a small
 * number or a repeated byte (`scripts/generate-trivial-keys.ts`). Takes the `materialSha256`.
 */
export function isTrivialKey(materialSha256: string): boolean {
  const key = Buffer.from(materialSha256.slice(0, 2 * recordLength), 'hex')
  let low = 0
  let high = records.length / recordLength
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle * recordLength
    const order = key.compare(records, start, start + recordLength)
    if (order === 0) return true
    if (order > 0) low = middle + 1
    else high = middle
  }
  return false
}
