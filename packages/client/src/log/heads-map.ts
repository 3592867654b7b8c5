import { type Bytes, concatBytes, sha256, utf8 } from './encoding.ts'
import { equalBytes, leafHash, nodeHash, type Sha256 } from './tree.ts'

/**
 * The depth of the map from which on a subtree with one leaf has the hash of this leaf. Above it, every path
 * has a hash for each bit.
 */
export const bucketDepth = 16

/** The hash of a subtree without leaves. */
export const emptySubtree: Bytes = new Uint8Array(32)

/**
 * A leaf of the map of last heads: the last entry of a ledger in the log. The bits of the slot, from the
 * highest one of its first byte on, lead to it from the root.
 */
export type MapLeaf = { slot: Bytes; hash: Bytes }

/**
 * The leaf of a ledger, of the key and the leaf hash of its last entry. The hash covers the key, so that it
 * tells nothing to those who cannot open the entry, and the slot, so that it stands for no other ledger.
 */
export async function mapLeaf(
  { ledgerId, key, entry }: { ledgerId: string; key: Bytes; entry: Bytes },
  hash: Sha256 = sha256,
): Promise<MapLeaf> {
  const slot = await hash(utf8(ledgerId))
  return { slot, hash: await leafHash(concatBytes(slot, key, entry), hash) }
}

/** Whether the path to a slot goes to the right below a node of this depth. */
export function goesRight(slot: Bytes, depth: number): boolean {
  return (((slot[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1) === 1
}

/** The hash of the subtree above two others. */
export function mapNode(left: Bytes, right: Bytes, hash: (data: Bytes) => Bytes): Bytes
export function mapNode(left: Bytes, right: Bytes, hash?: Sha256): Bytes | Promise<Bytes>
export function mapNode(left: Bytes, right: Bytes, hash?: Sha256): Bytes | Promise<Bytes> {
  const isEmpty = equalBytes(left, emptySubtree) && equalBytes(right, emptySubtree)
  return isEmpty ? emptySubtree : nodeHash(left, right, hash)
}

/**
 * The root of a map that has the leaf. `path` has the hashes beside the way from the leaf to the root. Each
 * root has one leaf for a slot at most: of two at different depths, one would be an inner node.
 */
export async function mapRoot(
  { slot, hash: leaf }: MapLeaf,
  path: readonly Bytes[],
  hash?: Sha256,
): Promise<Bytes> {
  let node = leaf
  for (const [index, sibling] of path.entries()) {
    const isRight = goesRight(slot, path.length - 1 - index)
    node = await (isRight ? nodeHash(sibling, node, hash) : nodeHash(node, sibling, hash))
  }
  return node
}
