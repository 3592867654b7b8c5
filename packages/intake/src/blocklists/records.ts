/** Binary search in sorted records of `recordLength` bytes that begin with a hash. */
export function containsHash(records: Uint8Array, recordLength: number, hash: Uint8Array): boolean {
  let low = 0
  let high = records.length / recordLength
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle * recordLength
    const order = Buffer.compare(records.subarray(start, start + hash.length), hash)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle
  }
  return false
}
