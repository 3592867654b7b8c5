import { hash } from 'node:crypto'

/** A leaf of the map of last heads. */
export interface NaiveLeaf {
  slot: Buffer
  hash: Buffer
}

const digest = (...parts: readonly Uint8Array[]) => hash('sha256', Buffer.concat(parts), 'buffer')

const bitAt = (slot: Uint8Array, depth: number) =>
  Array.from(slot, (byte) => byte.toString(2).padStart(8, '0')).join('')[depth]

/** As docs/ledger.md says. */
export function naiveLeaf(ledgerId: string, key: Uint8Array, entry: Uint8Array): NaiveLeaf {
  const slot = digest(Buffer.from(ledgerId))
  const leaf = digest(Buffer.of(0), entry)
  return { slot, hash: digest(Buffer.of(0), slot, key, leaf) }
}

/** The root of the map with these leaves, or the hash of a subtree of it, computed from all of them. */
export function naiveRoot(leaves: readonly NaiveLeaf[], depth = 0): Buffer {
  const [first, ...others] = leaves
  if (first === undefined) return Buffer.alloc(32)
  if (others.length === 0 && depth >= 16) return first.hash
  const [left, right] = ['0', '1'].map((bit) =>
    naiveRoot(
      leaves.filter(({ slot }) => bitAt(slot, depth) === bit),
      depth + 1,
    ),
  )
  return digest(Buffer.of(1), left ?? Buffer.of(), right ?? Buffer.of())
}

/** The hashes beside the path from a leaf to the root. */
export function naivePath(
  leaves: readonly NaiveLeaf[],
  slot: Uint8Array,
  depth = 0,
): Uint8Array<ArrayBuffer>[] {
  if (leaves.length < 2 && depth >= 16) return []
  const isAlong = (leaf: NaiveLeaf) => bitAt(leaf.slot, depth) === bitAt(slot, depth)
  const beside = naiveRoot(
    leaves.filter((leaf) => !isAlong(leaf)),
    depth + 1,
  )
  return [...naivePath(leaves.filter(isAlong), slot, depth + 1), Uint8Array.from(beside)]
}
