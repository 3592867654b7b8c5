import { type Bytes, utf8 } from '@pubring/client/internal/log/encoding'
import { treeRoot } from '@pubring/client/internal/log/proofs'
import { tileWidth } from '@pubring/client/internal/log/tiles'
import { equalBytes, leafHash } from '@pubring/client/internal/log/tree'
import type { Db } from '../../kernel/storage/schema.ts'
import { faultIn } from './faults.ts'
import { readEntries, readTree } from './reads.ts'
import { readCheckpoint } from './signing.ts'
import { createNodeReader, extendTiles, readTile, sha256 } from './tiles.ts'

/**
 * Compares the tree that grows with its entries and its checkpoint: one line for each fault. Entries
 * that are appended meanwhile are left out.
 */
export async function verifyStoredLog(db: Db): Promise<string[]> {
  const tree = await readTree(db)
  if (tree === undefined) return []
  const { size, checkpoint, checkpointSize } = tree
  const leaves: Bytes[] = []
  for (let start = 0; start < size; start += tileWidth) {
    const entries = await readEntries(db, { start, end: Math.min(start + tileWidth, size) })
    for (const entry of entries) leaves.push(await leafHash(utf8(entry), sha256))
  }
  if (leaves.length !== size) return [`log: it has ${leaves.length} of ${size} entries`]
  const faults: string[] = []
  for (const { level, position, hashes } of await extendTiles(0, leaves, noTile)) {
    const expected = Buffer.from(hashes, 'base64')
    const width = expected.length / sha256(expected).length
    const stored = await readIfWhole(db, { level, index: position, width })
    if (stored !== undefined && equalBytes(stored, expected)) continue
    faults.push(`log: tile ${position} of level ${level} is not that of its entries`)
  }
  if (checkpoint === undefined || faults.length > 0) return faults
  const root = await treeRoot(checkpointSize, createNodeReader(db, checkpointSize), sha256)
  if (equalBytes(readCheckpoint(checkpoint).root, root)) return []
  return [`log: its checkpoint of ${checkpointSize} entries is not that of its tree`]
}

/** Undefined if the tile is missing or too short. */
async function readIfWhole(db: Db, tile: Parameters<typeof readTile>[1]) {
  return readTile(db, tile).catch((error) => {
    if (faultIn(error) === undefined) throw error
    return undefined
  })
}

/** A tree that begins has none. */
async function noTile(): Promise<never> {
  throw new Error('an empty tree has no tile')
}
