import { hash } from 'node:crypto'
import { type Bytes, concatBytes, utf8 } from '@pubring/client/internal/log/encoding'
import type { ReadNode } from '@pubring/client/internal/log/proofs'
import {
  completeHash,
  createTileReader,
  parseTilePath,
  splitHashes,
  tileWidth,
  tileWidthIn,
} from '@pubring/client/internal/log/tiles'
import { equalBytes, leafHash } from '@pubring/client/internal/log/tree'
import type { Db } from '../../kernel/storage/schema.ts'
import type { LogTile, LogTree } from './changes.ts'
import { logError } from './faults.ts'
import { readEntries, readTiles } from './reads.ts'

export const hashLength = 32

/** Without a promise, unlike that of WebCrypto, and by a text, which costs less than a buffer of its own. */
export function sha256(data: Bytes): Bytes {
  return Buffer.from(hash('sha256', data, 'latin1'), 'latin1')
}

/** The beginning of a stored tile. Throws `log_stopped` if the tile is missing or too short. */
export async function readTile(
  db: Db,
  { level, index, width }: { level: number; index: number; width: number },
): Promise<Bytes> {
  const [stored] = await readTiles(db, level, [index])
  const bytes = Uint8Array.from(Buffer.from(stored?.hashes ?? '', 'base64'))
  if (bytes.length < width * hashLength) throw logError('damaged')
  return bytes.slice(0, width * hashLength)
}

/** Entries that one run of the signer compares with the tree. */
const comparedEntries = 4 * tileWidth

/**
 * Compares some entries with the tiles, from a position that is the first of a tile; returns from where to go
 * on, which after the last entry is the beginning. Throws `log_stopped` if one is missing or was altered.
 */
export async function compareSomeEntries(db: Db, size: number, start: number): Promise<number> {
  const end = Math.min(size, start + comparedEntries)
  const entries = await readEntries(db, { start, end })
  for (let first = start; first < end; first += tileWidth) {
    const index = first / tileWidth
    const width = tileWidthIn(size, { level: 0, index })
    const hashes = splitHashes(await readTile(db, { level: 0, index, width }))
    for (const [position, hash] of hashes.entries()) {
      const leaf = await leafHash(utf8(entries[first - start + position] ?? ''), sha256)
      if (!equalBytes(leaf, hash)) throw logError('damaged')
    }
  }
  return end < size ? end : 0
}

/** Reads nodes of the tree with the first `size` entries. */
export function createNodeReader(db: Db, size: number): ReadNode {
  return createTileReader(size, (tile) => readTile(db, tile), sha256)
}

/** The tiles that change when a tree with `size` leaves gets these, which are hashes. */
export async function extendTiles(
  size: number,
  leaves: readonly Bytes[],
  read: (tile: { level: number; index: number; width: number }) => Promise<Bytes>,
): Promise<LogTile[]> {
  const tiles: LogTile[] = []
  let hashes = leaves
  for (let level = 0; hashes.length > 0; level += 1) {
    const count = Math.floor(size / tileWidth ** level)
    const [first, width] = [Math.floor(count / tileWidth), count % tileWidth]
    const before = width === 0 ? [] : splitHashes(await read({ level, index: first, width }))
    const all = [...before, ...hashes]
    const parents: Bytes[] = []
    for (let start = 0; start < all.length; start += tileWidth) {
      const some = all.slice(start, start + tileWidth)
      const position = first + start / tileWidth
      tiles.push({ level, position, hashes: Buffer.concat(some).toString('base64') })
      if (some.length === tileWidth) parents.push(await completeHash(some, sha256))
    }
    hashes = parents
  }
  return tiles
}

/**
 * The tile or bundle of entries at a path below the prefix of a tree (C2SP tlog-tiles), as far as its
 * checkpoint covers it; undefined if there is none.
 */
export async function readLogFile(
  db: Db,
  { checkpointSize }: Pick<LogTree, 'checkpointSize'>,
  path: string,
): Promise<Uint8Array | undefined> {
  const tile = parseTilePath(path)
  if (tile === undefined || tile.width > tileWidthIn(checkpointSize, tile)) return undefined
  const { level, index, width } = tile
  if (level !== 'entries') return readTile(db, { level, index, width })
  const start = index * tileWidth
  const entries = await readEntries(db, { start, end: start + width })
  if (entries.length !== width) throw logError('damaged')
  return concatBytes(...entries.map(withLength))
}

/** The entry after its length in two bytes. */
function withLength(content: string): Uint8Array {
  const bytes = utf8(content)
  return concatBytes(Uint8Array.of(bytes.length >> 8, bytes.length & 255), bytes)
}

/** Digest of a list of published keys, as events have it. */
export function listDigest(list: string): string {
  return hash('sha256', list, 'base64url')
}
