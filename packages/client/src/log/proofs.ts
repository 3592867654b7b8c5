import type { Bytes } from './encoding.ts'
import { LogError } from './errors.ts'
import { emptyRoot, largestPowerBelow, nodeHash, type Sha256 } from './tree.ts'

/**
 * The hash of a complete subtree with `2 ** level` leaves; `index` counts those of its level from the
 * left. `createTileReader` returns one.
 */
export type ReadNode = (level: number, index: number) => Promise<Bytes>

/** Leaves from `start` up to `end`, without the latter. */
type Range = readonly [start: number, end: number]

/** The root of the tree with the first `size` leaves. */
export async function treeRoot(size: number, read: ReadNode, hash?: Sha256): Promise<Bytes> {
  return size === 0 ? emptyRoot : rangeHash([0, size], read, hash)
}

/**
 * The proof that a leaf is in the tree with the first `size` leaves (RFC 6962, section 2.1.1). Throws
 * `disproved` if it is not.
 */
export function inclusionProof(
  index: number,
  size: number,
  read: ReadNode,
  hash?: Sha256,
): Promise<Bytes[]> {
  if (!(index >= 0 && index < size)) {
    throw new LogError('disproved', `A tree of ${size} entries has no entry ${index}.`)
  }
  const ranges: Range[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + largestPowerBelow(end - start)
    ranges.unshift(index < middle ? [middle, end] : [start, middle])
    if (index < middle) end = middle
    else start = middle
  }
  return Promise.all(ranges.map((range) => rangeHash(range, read, hash)))
}

/**
 * The proof that the tree with the first `newer` leaves extends the one with the first `older`
 * (RFC 6962, section 2.1.2). Throws `disproved` if it cannot.
 */
export function consistencyProof(
  older: number,
  newer: number,
  read: ReadNode,
  hash?: Sha256,
): Promise<Bytes[]> {
  if (!(older >= 0 && older <= newer)) {
    const message = `A tree of ${newer} entries does not extend one of ${older}.`
    throw new LogError('disproved', message)
  }
  if (older === 0) return Promise.resolve([])
  const ranges: Range[] = []
  let [start, end] = [0, newer]
  while (end !== older) {
    const middle = start + largestPowerBelow(end - start)
    ranges.unshift(older <= middle ? [middle, end] : [start, middle])
    if (older <= middle) end = middle
    else start = middle
  }
  // A verifier knows the root of the older tree, so the proof leaves it out if that is a subtree.
  if (start > 0) ranges.unshift([start, end])
  return Promise.all(ranges.map((range) => rangeHash(range, read, hash)))
}

/** The Merkle tree hash of leaves, the first of which begins a complete subtree of their number. */
async function rangeHash([start, end]: Range, read: ReadNode, hash?: Sha256): Promise<Bytes> {
  const size = end - start
  const half = size === 1 ? 1 : largestPowerBelow(size)
  if (size === 1 || half * 2 === size) return read(Math.log2(size), start / size)
  const [left, right] = await Promise.all([
    rangeHash([start, start + half], read, hash),
    rangeHash([start + half, end], read, hash),
  ])
  return nodeHash(left, right, hash)
}
