/** The record that begins with the hash, by binary search in sorted ones of `recordLength` bytes. */
export function findRecord(
  records: Uint8Array,
  recordLength: number,
  hash: Uint8Array,
): Uint8Array | undefined {
  let low = 0
  let high = records.length / recordLength
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle * recordLength
    const order = Buffer.compare(records.subarray(start, start + hash.length), hash)
    if (order === 0) return records.subarray(start, start + recordLength)
    if (order < 0) low = middle + 1
    else high = middle
  }
  return undefined
}
