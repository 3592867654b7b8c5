import { createHash, hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Bytes,
  concatBytes,
  toBase64,
  utf8,
} from '../../../packages/client/src/log/encoding.ts'
import {
  consistencyProof,
  createTileReader,
  formatTilePath,
  inclusionProof,
  leafHash,
  parseEntries,
  parseTilePath,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../../packages/client/src/log/index.ts'
import { completeHash, tileWidthIn } from '../../../packages/client/src/log/tiles.ts'
import { emptyRoot, nodeHash } from '../../../packages/client/src/log/tree.ts'
import { fixture } from '../../support/keys/intake.ts'

/** Trees of 1 to 300 leaves, by golang.org/x/mod/sumdb/tlog: test/support/go/proofs. */
const vectors: { root: string; inclusion: string; consistency: string; tiles: string }[] =
  JSON.parse(fixture('log/proofs.json'))

const sha256 = (data: Bytes): Bytes => Uint8Array.from(hash('sha256', data, 'buffer'))

const leaves = await Promise.all(
  vectors.map(async (_, index) => leafHash(utf8(`leaf ${index}`), sha256)),
)

/** All complete subtrees, by level. */
const nodes = [leaves]
for (let level = 1; 2 ** level <= leaves.length; level += 1) {
  const below = nodes[level - 1] ?? []
  const pairs = below.slice(0, Math.floor(below.length / 2))
  nodes.push(
    await Promise.all(
      pairs.map((_, index) => completeHash(below.slice(2 * index, 2 * index + 2), sha256)),
    ),
  )
}

async function readNode(level: number, index: number): Promise<Bytes> {
  const node = nodes[level]?.[index]
  if (node === undefined) throw new Error(`no node ${index} at level ${level}`)
  return node
}

/** As test/support/go/proofs makes it. */
function digest(proofs: readonly (readonly Bytes[])[]): string {
  const all = createHash('sha256')
  for (const proof of proofs) {
    all.update(Uint8Array.of(proof.length))
    for (const one of proof) all.update(one)
  }
  return all.digest().subarray(0, 9).toString('base64')
}

const upTo = (size: number) => Array.from({ length: size }, (_, index) => index)
const sizes = vectors.map((_, index) => index + 1)

test('all proofs and roots of the trees of 1 to 300 leaves are those of Go', async () => {
  expect(sizes).toHaveLength(300)
  for (const [index, { root, inclusion, consistency }] of vectors.entries()) {
    const size = index + 1
    expect(toBase64(await treeRoot(size, readNode, sha256))).toBe(root)
    const proofs = upTo(size).map((leaf) => inclusionProof(leaf, size, readNode, sha256))
    expect(digest(await Promise.all(proofs))).toBe(inclusion)
    const older = upTo(size).map((n) => consistencyProof(n + 1, size, readNode, sha256))
    expect(digest(await Promise.all(older))).toBe(consistency)
  }
})

test('all tiles of the trees of 1 to 300 leaves are those of Go, and lead to the same root', async () => {
  for (const [index, { root, tiles }] of vectors.entries()) {
    const size = index + 1
    const bytes = new Map<string, Bytes>()
    const all = createHash('sha256')
    for (const tile of [0, 1].flatMap((level) => [0, 1].map((index) => ({ level, index })))) {
      const width = tileWidthIn(size, tile)
      if (width === 0) continue
      const nodes = upTo(width).map((n) => readNode(8 * tile.level, tile.index * 256 + n))
      const data = concatBytes(...(await Promise.all(nodes)))
      const path = formatTilePath({ ...tile, width })
      bytes.set(path, data)
      all.update(`${path.replace('tile/', '')}\n`).update(data)
    }
    expect(all.digest().subarray(0, 9).toString('base64'), String(size)).toBe(tiles)
    const read = createTileReader(
      size,
      async (tile) => bytes.get(formatTilePath(tile)) ?? new Uint8Array(),
    )
    expect(toBase64(await treeRoot(size, read))).toBe(root)
  }
})

describe('verification', () => {
  const roots = vectors.map(({ root }) => Uint8Array.from(Buffer.from(root, 'base64')))
  /** All shapes of small trees; a complete one, and one that is not, with more levels. */
  const tried = sizes.filter((size) => size < 20 || [64, 100, 257].includes(size))
  const headOf = (size: number) => ({ size, root: roots[size - 1] ?? emptyRoot })

  test('accepts all inclusion proofs, of that leaf and index only', async () => {
    for (const size of tried) {
      for (const index of upTo(size)) {
        const hashes = await inclusionProof(index, size, readNode, sha256)
        const leaf = leaves[index] ?? emptyRoot
        expect(await verifyInclusion(leaf, { index, hashes }, headOf(size))).toBe(true)
        const other = leaves[(index + 1) % size] ?? emptyRoot
        const tampered: boolean[] = [
          await verifyInclusion(leaf, { index: index + 1, hashes }, headOf(size)),
          await verifyInclusion(leaf, { index, hashes: [...hashes, leaf] }, headOf(size)),
          await verifyInclusion(
            leaf,
            { index, hashes },
            { ...headOf(size), root: leaf.map((b) => b ^ 1) },
          ),
        ]
        if (size > 1) {
          tampered.push(
            await verifyInclusion(other, { index, hashes }, headOf(size)),
            await verifyInclusion(leaf, { index, hashes: hashes.slice(1) }, headOf(size)),
          )
        }
        expect(tampered).not.toContain(true)
      }
    }
  })

  test('accepts all consistency proofs, between those two trees only', async () => {
    for (const newer of tried) {
      for (const older of upTo(newer + 1)) {
        const proof = await consistencyProof(older, newer, readNode, sha256)
        expect(await verifyConsistency(headOf(older), headOf(newer), proof)).toBe(true)
        const forged = { size: older, root: headOf(older).root.map((byte) => byte ^ 1) }
        const tampered = [
          await verifyConsistency(forged, headOf(newer), proof),
          await verifyConsistency(headOf(older), headOf(newer), [...proof, emptyRoot]),
        ]
        if (older > 0) {
          const other = { size: newer, root: leafHash(utf8('other'), sha256) as Bytes }
          tampered.push(await verifyConsistency(headOf(older), other, proof))
        }
        if (proof.length > 0) {
          tampered.push(
            await verifyConsistency(headOf(older), headOf(newer), proof.slice(1)),
            await verifyConsistency(headOf(older), headOf(newer), proof.slice(0, -1)),
          )
        }
        expect(tampered).not.toContain(true)
      }
    }
  })

  test('rejects sizes that are none, and trees that shrink', async () => {
    const hashes: Bytes[] = []
    for (const size of [-1, 0.5, Number.NaN, 2 ** 53]) {
      const head = { size, root: emptyRoot }
      expect(await verifyInclusion(emptyRoot, { index: 0, hashes }, head)).toBe(false)
      expect(await verifyConsistency(head, head, hashes)).toBe(false)
    }
    expect(await verifyConsistency(headOf(2), headOf(1), hashes)).toBe(false)
    const disproved = expect.objectContaining({ name: 'LogError', code: 'disproved' })
    expect(() => inclusionProof(3, 3, readNode)).toThrow(disproved)
    expect(() => consistencyProof(4, 3, readNode)).toThrow(disproved)
  })

  test('works with trees of up to 2^53 leaves', async () => {
    // All leaves are equal, so that every complete subtree of a level has the same hash.
    const nodes = [leafHash(utf8('same'), sha256) as Bytes]
    for (let level = 1; level < 53; level += 1) {
      const child = nodes[level - 1] ?? emptyRoot
      nodes.push(nodeHash(child, child, sha256) as Bytes)
    }
    const read = async (level: number) => nodes[level] ?? emptyRoot
    const sizeArbitrary = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
    await fc.assert(
      fc.asyncProperty(sizeArbitrary, sizeArbitrary, async (one, other) => {
        const [older, newer] = one < other ? [one, other] : [other, one]
        const heads = [older, newer].map(async (size) => ({
          size,
          root: await treeRoot(size, read),
        }))
        const [olderHead, newerHead] = (await Promise.all(heads)) as [never, never]
        const proof = await consistencyProof(older, newer, read)
        expect(await verifyConsistency(olderHead, newerHead, proof)).toBe(true)
        const hashes = await inclusionProof(older - 1, newer, read)
        const leaf = nodes[0] ?? emptyRoot
        expect(await verifyInclusion(leaf, { index: older - 1, hashes }, newerHead)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})

describe('paths of tiles', () => {
  test.each([
    ['tile/0/x001/x234/067', { level: 0, index: 1234067, width: 256 }],
    ['tile/1/000.p/17', { level: 1, index: 0, width: 17 }],
    ['tile/entries/x001/000.p/1', { level: 'entries', index: 1000, width: 1 }],
  ] as const)('%s', (path, tile) => {
    expect(formatTilePath(tile)).toBe(path)
    expect(parseTilePath(path)).toEqual(tile)
  })

  test.each([
    ...['tile/00/000', 'tile/0/0', 'tile/0/x000/001', 'tile/0/000.p/0', 'tile/0/000.p/256'],
    ...['tile/0/000.p/01', 'tile/0/000.p/', 'tile/-1/000', 'tile/data/000', 'tile/0/000?a'],
  ])('%s is none', (path) => {
    expect(parseTilePath(path)).toBeUndefined()
  })

  test('the tiles of a tree of 70,000 leaves have the widths in the specification', () => {
    const widthOf = (level: number | 'entries', index: number) =>
      tileWidthIn(70_000, { level, index })
    expect([widthOf(0, 272), widthOf(0, 273), widthOf(0, 274)]).toEqual([256, 112, 0])
    expect([widthOf(1, 0), widthOf(1, 1), widthOf(1, 2)]).toEqual([256, 17, 0])
    expect([widthOf(2, 0), widthOf(3, 0), widthOf('entries', 273)]).toEqual([1, 0, 112])
  })
})

test('bundles of entries', () => {
  const entry = utf8('x'.repeat(300))
  const bundle = concatBytes(
    Uint8Array.of(1, 44),
    entry,
    Uint8Array.of(0, 0),
    Uint8Array.of(0, 1, 7),
  )
  expect(parseEntries(bundle)).toEqual([entry, new Uint8Array(), Uint8Array.of(7)])
  for (const length of [1, 2, 301, bundle.length - 1]) {
    expect(() => parseEntries(bundle.slice(0, length))).toThrow('cut off')
  }
})

test('a tile that is too short is reported', async () => {
  const read = createTileReader(3, async () => new Uint8Array(64))
  await expect(treeRoot(3, read)).rejects.toThrow('tile/0/000.p/3 is too short')
})
