import type { Bytes } from './encoding.ts'
import { LogError } from './errors.ts'
import type { ReadNode } from './proofs.ts'
import { nodeHash, type Sha256 } from './tree.ts'

/** Hashes in a full tile, and entries in a full bundle. */
export const tileWidth = 256

/** The levels of the tree that a tile covers. */
const tileHeight = 8

const hashLength = 32

/** A resource of C2SP tlog-tiles: a tile of hashes at a level, or a bundle of entries. */
export type TileName = {
  level: number | 'entries'
  /** The place from the left, from 0. */
  index: number
  /** From 1 to 256, which is a full tile. */
  width: number
}

/** The path below the log's prefix, such as `tile/0/x001/234.p/12`. */
export function formatTilePath({ level, index, width }: TileName): string {
  const digits = String(index)
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0')
  const path = padded.replace(/\d{3}(?=\d)/g, 'x$&/')
  return `tile/${level}/${path}${width === tileWidth ? '' : `.p/${width}`}`
}

/** The inverse of `formatTilePath`; undefined unless it is exactly what that returns. */
export function parseTilePath(path: string): TileName | undefined {
  const [, level = '', index = '', width = tileWidth] =
    /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/(\d{1,3}))?$/.exec(path) ?? []
  const tile: TileName = {
    level: level === 'entries' ? level : Number(level),
    index: Number(index.replace(/[x/]/g, '')),
    width: Number(width),
  }
  return formatTilePath(tile) === path && tile.width > 0 && tile.width <= tileWidth
    ? tile
    : undefined
}

/** The width of a tile, or of a bundle of entries, in a tree with `size` leaves; 0 if it has none. */
export function tileWidthIn(size: number, { level, index }: Omit<TileName, 'width'>): number {
  const hashes = level === 'entries' ? size : Math.floor(size / tileWidth ** level)
  return Math.max(0, Math.min(tileWidth, hashes - index * tileWidth))
}

/**
 * Reads nodes of the tree with `size` leaves from its tiles: those that belong to a checkpoint of this
 * size, each of which is read once.
 */
export function createTileReader(
  size: number,
  readTile: (tile: TileName & { level: number }) => Promise<Uint8Array>,
  hash?: Sha256,
): ReadNode {
  const tiles = new Map<string, Promise<Uint8Array>>()
  async function read(level: number, index: number): Promise<Uint8Array> {
    const tile = { level, index, width: tileWidthIn(size, { level, index }) }
    const bytes = await readTile(tile)
    if (bytes.length >= tile.width * hashLength) return bytes
    throw new LogError('malformed', `The log's ${formatTilePath(tile)} is too short.`)
  }
  return async (level, index) => {
    const tileLevel = Math.floor(level / tileHeight)
    const width = 2 ** (level % tileHeight)
    const first = index * width
    const tileIndex = Math.floor(first / tileWidth)
    const key = `${tileLevel}/${tileIndex}`
    const reading = tiles.get(key) ?? read(tileLevel, tileIndex)
    tiles.set(key, reading)
    const start = (first % tileWidth) * hashLength
    const hashes = splitHashes((await reading).subarray(start, start + width * hashLength))
    return completeHash(hashes, hash)
  }
}

/** The hashes in a tile. */
export function splitHashes(bytes: Uint8Array): Bytes[] {
  return Array.from({ length: bytes.length / hashLength }, (_, index) =>
    bytes.slice(index * hashLength, (index + 1) * hashLength),
  )
}

/** The hash of the complete subtree above nodes of one level, whose number is a power of two. */
export async function completeHash(nodes: readonly Bytes[], hash?: Sha256): Promise<Bytes> {
  const [first, ...rest] = nodes
  if (first === undefined) throw new RangeError('a subtree has at least one node')
  if (rest.length === 0) return first
  const parents: Bytes[] = []
  for (let index = 0; index + 1 < nodes.length; index += 2) {
    const [left, right] = nodes.slice(index, index + 2)
    if (left !== undefined && right !== undefined) parents.push(await nodeHash(left, right, hash))
  }
  return completeHash(parents, hash)
}

/** The entries in a bundle: each has its length before it, in two bytes. Throws `malformed`. */
export function parseEntries(bundle: Uint8Array): Bytes[] {
  const entries: Bytes[] = []
  let offset = 0
  while (offset < bundle.length) {
    const [high = 0, low] = bundle.subarray(offset, offset + 2)
    const end = offset + 2 + high * 256 + (low ?? bundle.length)
    if (end > bundle.length) throw new LogError('malformed', 'A bundle of entries is cut off.')
    entries.push(bundle.slice(offset + 2, end))
    offset = end
  }
  return entries
}
