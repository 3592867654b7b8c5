import { readFileSync } from 'node:fs'
import { findRecord } from './records.ts'

/** Bytes of SHA-256 in a record; a false positive has a probability of about 2^-50. */
const recordLength = 8

/** Sorted records of public keys whose private key is in a short list; see `isTrivialKey`. */
const records = readFileSync(new URL('./trivial-keys.bin', import.meta.url))

/**
 * Whether the private key of a public key is one that an attacker tries first, such as a small
 * number or a repeated byte (`scripts/generate-trivial-keys.ts`). Takes the `materialSha256`.
 */
export function isTrivialKey(materialSha256: string): boolean {
  const hash = Buffer.from(materialSha256.slice(0, 2 * recordLength), 'hex')
  return findRecord(records, recordLength, hash) !== undefined
}
