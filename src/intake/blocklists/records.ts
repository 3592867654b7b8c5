/** Binary search in sorted records of `recordLength` bytes that begin with a hash. */
export function containsHash(records: Uint8Array, recordLength: number, hash: Uint8Array): boolean {
  let low = 0
  let high = records.length / recordLength
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = compare(records, middle * recordLength, hash)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle
  }
  return false
}

function compare(records: Uint8Array, start: number, hash: Uint8Array): number {
  for (let i = 0; i < hash.length; i++) {
    const difference = (records[start + i] ?? 0) - (hash[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
