import { readFileSync } from 'node:fs'
import { findRecord } from './records.ts'

/** Bytes of SHA-256 in a record (badkeys calls this hash BKHASH120). */
const hashLength = 15
/** The hash and one byte that identifies the list, and in the built-in one the document. */
const recordLength = 16

/** Keys whose private keys are in standards and popular software (`scripts/generate-blocklist.ts`). */
const publishedKeys = readFileSync(new URL('./published-keys.bin', import.meta.url))

/** The documents that print the private keys, by the last byte of their records. */
const documents = readFileSync(new URL('./published-documents.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')

/** Keys whose private keys are public. */
export interface Blocklist {
  /** Whether the list contains a key with this `materialSha256` (64 hex digits). */
  has(materialSha256: string): boolean
}

/**
 * The built-in list of published keys, together with the operator's. Lists of millions of keys, such
 * as the Debian keys of 2008 (CVE-2008-0166), those of the npm package keypair (CVE-2021-41117) and
 * keys from firmware, belong in the operator's file.
 *
 * @param operatorRecords Records in the format of `blocklist.dat` of badkeys: 15 bytes of SHA-256 and one
 *   list number, sorted. The records are not copied, so threads can share their memory.
 * @throws Error if the length is not a multiple of 16 or the records are not sorted.
 */
export function createBlocklist(operatorRecords: Uint8Array = new Uint8Array()): Blocklist {
  requireSortedRecords(operatorRecords)
  return searchRecords(operatorRecords)
}

/** The same for records that `createBlocklist` has checked before. */
export function searchRecords(operatorRecords: Uint8Array): Blocklist {
  return {
    has: (materialSha256) => {
      const hash = hashOf(materialSha256)
      return [publishedKeys, operatorRecords].some(
        (records) => findRecord(records, recordLength, hash) !== undefined,
      )
    },
  }
}

/** The document or program that publishes the private key, if the built-in list has it. */
export function publishedIn(materialSha256: string): string | undefined {
  const record = findRecord(publishedKeys, recordLength, hashOf(materialSha256))
  return record && documents[record[hashLength] ?? -1]
}

function hashOf(materialSha256: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/i.test(materialSha256)) throw new RangeError('not a SHA-256 in hex')
  return Buffer.from(materialSha256.slice(0, 2 * hashLength), 'hex')
}

/** Reads only the first bytes of most records: 30 ms for 60 MB. */
function requireSortedRecords(records: Uint8Array): void {
  if (records.length % recordLength !== 0) {
    throw new Error(
      `The block list has ${records.length} bytes, which is not a multiple of ${recordLength}. ` +
        'Use the format of blocklist.dat of badkeys, uncompressed.',
    )
  }
  for (let start = recordLength; start < records.length; start += recordLength) {
    let i = 0
    while (i < recordLength && records[start + i] === records[start + i - recordLength]) i++
    if (i < recordLength && (records[start + i] ?? 0) < (records[start + i - recordLength] ?? 0)) {
      throw new Error(
        `The block list is not sorted: record ${start / recordLength} is out of order.`,
      )
    }
  }
}
