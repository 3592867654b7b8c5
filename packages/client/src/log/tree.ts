import { type Bytes, concatBytes, sha256 } from './encoding.ts'

/** SHA-256. The default is WebCrypto's; a server passes a synchronous one, for many small inputs. */
export type Sha256 = (data: Bytes) => Bytes | Promise<Bytes>

/** The state of an append-only Merkle tree (RFC 6962, with SHA-256): its number of leaves and root. */
export type TreeHead = { size: number; root: Bytes }

/** SHA-256 of the empty string: the root of the tree without leaves. */
export const emptyRoot: Bytes = Uint8Array.of(
  ...[0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9],
  ...[0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52],
  ...[0xb8, 0x55],
)

/** The hash of a leaf with this content (RFC 6962, section 2.1). */
export function leafHash(entry: Bytes, hash: Sha256 = sha256): Bytes | Promise<Bytes> {
  return hash(concatBytes(Uint8Array.of(0), entry))
}

/** The hash of an inner node (RFC 6962, section 2.1). */
export function nodeHash(left: Bytes, right: Bytes, hash: Sha256 = sha256): Bytes | Promise<Bytes> {
  return hash(concatBytes(Uint8Array.of(1), left, right))
}

/**
 * Whether the proof (RFC 6962, section 2.1.1) shows that the tree has a leaf with this hash at the
 * index, by RFC 9162, section 2.1.3.2.
 */
export async function verifyInclusion(
  leaf: Bytes,
  { index, hashes }: { index: number; hashes: readonly Bytes[] },
  { size, root }: TreeHead,
): Promise<boolean> {
  if (!isSize(size) || !isSize(index) || index >= size) return false
  const path = createPath(index, size - 1)
  let hash = leaf
  for (const sibling of hashes) {
    if (path.isAtRoot()) return false
    hash = await (path.ascend() === 'right' ? nodeHash(sibling, hash) : nodeHash(hash, sibling))
  }
  return path.isAtRoot() && equalBytes(hash, root)
}

/**
 * Whether the proof (RFC 6962, section 2.1.2) shows that the newer tree begins with all leaves of the
 * older one, in their order, by RFC 9162, section 2.1.4.2. Every tree extends the empty one.
 */
export async function verifyConsistency(
  older: TreeHead,
  newer: TreeHead,
  proof: readonly Bytes[],
): Promise<boolean> {
  if (!isSize(older.size) || !isSize(newer.size) || older.size > newer.size) return false
  if (older.size === 0) return proof.length === 0 && equalBytes(older.root, emptyRoot)
  if (older.size === newer.size) return proof.length === 0 && equalBytes(older.root, newer.root)
  // The root of a complete tree is a node of the newer one, so the proof leaves it out.
  const isComplete = largestPowerBelow(older.size + 1) === older.size
  const [first, ...rest] = isComplete ? [older.root, ...proof] : proof
  if (first === undefined) return false
  const path = createPath(older.size - 1, newer.size - 1)
  path.skipRightNodes()
  let olderRoot = first
  let newerRoot = first
  for (const sibling of rest) {
    if (path.isAtRoot()) return false
    if (path.ascend() === 'right') {
      olderRoot = await nodeHash(sibling, olderRoot)
      newerRoot = await nodeHash(sibling, newerRoot)
    } else {
      newerRoot = await nodeHash(newerRoot, sibling)
    }
  }
  return path.isAtRoot() && equalBytes(olderRoot, older.root) && equalBytes(newerRoot, newer.root)
}

/** The way from a node to the root of a tree whose last node on the same level is `last`. */
function createPath(node: number, last: number) {
  function rise(): void {
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return {
    isAtRoot: () => last === 0,
    /** Goes to the parent, and says which of its children the node was. */
    ascend(): 'left' | 'right' {
      const isLeft = node % 2 === 0 && node !== last
      // A last node without a sibling is passed on to the level where it is a right child.
      if (!isLeft) while (node % 2 === 0 && node !== 0) rise()
      rise()
      return isLeft ? 'left' : 'right'
    },
    skipRightNodes(): void {
      while (node % 2 === 1) rise()
    },
  }
}

/** The largest power of two below `size`, which is at least 2: where RFC 6962 splits a tree. */
export function largestPowerBelow(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

export function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}
