import { setImmediate } from 'node:timers/promises'
import type { Bytes } from '@pubring/client/internal/log/encoding'
import {
  bucketDepth,
  emptySubtree,
  goesRight,
  type MapLeaf,
  mapNode,
} from '@pubring/client/internal/log/heads-map'
import { splitHashes } from '@pubring/client/internal/log/tiles'
import { equalBytes } from '@pubring/client/internal/log/tree'
import type { Db } from '../../../kernel/storage/schema.ts'
import { chunked } from '../../../kernel/storage/statements.ts'
import type { LogSlot, LogTile } from '../changes.ts'
import { logError } from '../faults.ts'
import { readSlots, readTiles } from '../reads.ts'
import { hashLength, sha256 } from '../tiles.ts'

/** The levels of a tile of the map, and the hashes in it, which are those below its root. */
const [tileHeight, tileWidth] = [4, 16]

/** The depths of the roots of tiles. Below the last level of tiles are the buckets, as rows of `log_slot`. */
const depths = [12, 8, 4, 0]

/** Bits of a slot. */
const maxDepth = 256

interface MapReader {
  tiles(level: number, positions: readonly number[]): Promise<LogTile[]>
  slots(buckets: readonly number[]): Promise<LogSlot[]>
}

/** The map as it is at the published checkpoint. */
export const storedMap = (db: Db): MapReader => ({
  tiles: (level, positions) => readTiles(db, level, positions),
  slots: (buckets) => readSlots(db, buckets),
})

/** A map after a change: its root, and the rows that the change writes. */
export interface MapUpdate {
  root: Bytes
  tiles: LogTile[]
  slots: LogSlot[]
}

/** The hash of a subtree before and after a change of the map. */
interface Change {
  before: Bytes
  after: Bytes
}

/**
 * Puts leaves into the map with this root, in the place of those with their slots. The cost is proportional
 * to their number. Throws `log_stopped` if the stored rows that change are not those of the root.
 */
export async function updateMap(
  read: MapReader,
  root: Bytes,
  leaves: readonly MapLeaf[],
): Promise<MapUpdate> {
  const tiles: LogTile[] = []
  // Rows that are read and written in the order of their index share its pages.
  const sorted = leaves.toSorted((one, other) => bucketOf(one) - bucketOf(other))
  let changes = await changeBuckets(read, sorted)
  for (const depth of depths) {
    const above = new Map<number, Change>()
    const touched = Map.groupBy(changes, ([place]) => place >> tileHeight)
    for (const chunk of chunked([...touched])) {
      const level = levelOf(depth)
      const positions = chunk.map(([position]) => position)
      const stored = new Map((await read.tiles(level, positions)).map((row) => [row.position, row]))
      for (const [position, children] of chunk) {
        const old = nodesOf(parseTile(stored.get(position)))
        const hashes = [...(old[0] ?? [])]
        for (const [place, change] of children) {
          const index = place % tileWidth
          if (!equalBytes(hashes[index] ?? emptySubtree, change.before)) throw logError('damaged')
          hashes[index] = change.after
        }
        tiles.push({ level, position, hashes: encode(...hashes) })
        above.set(position, { before: rootOf(old), after: rootOf(nodesOf(hashes, old)) })
      }
      // The hashes of a chunk take some milliseconds: others get their turn.
      await setImmediate()
    }
    changes = above
  }
  const { before, after } = changes.get(0) ?? { before: root, after: root }
  if (!equalBytes(before, root)) throw logError('damaged')
  return { root: after, tiles, slots: sorted.map(formatSlot) }
}

async function changeBuckets(
  read: MapReader,
  leaves: readonly MapLeaf[],
): Promise<Map<number, Change>> {
  const changes = new Map<number, Change>()
  for (const chunk of chunked([...Map.groupBy(leaves, bucketOf)])) {
    const rows = await read.slots(chunk.map(([bucket]) => bucket))
    const stored = Map.groupBy(rows.map(parseSlot), bucketOf)
    for (const [bucket, moved] of chunk) {
      const before = stored.get(bucket) ?? []
      const isMoved = ({ slot }: MapLeaf) => moved.some((leaf) => equalBytes(leaf.slot, slot))
      const after = [...before.filter((leaf) => !isMoved(leaf)), ...moved]
      changes.set(bucket, {
        before: hashOf(before, bucketDepth),
        after: hashOf(after, bucketDepth),
      })
    }
    await setImmediate()
  }
  return changes
}

/** The hashes beside the path from the leaf in this slot to the root. */
export async function mapPath(read: MapReader, slot: Bytes): Promise<Bytes[]> {
  const bucket = bucketOf({ slot })
  const [rows, ...paths] = await Promise.all([
    read.slots([bucket]),
    ...depths.map(async (depth) => {
      const place = bucket >> (bucketDepth - tileHeight - depth)
      const [tile] = await read.tiles(levelOf(depth), [place >> tileHeight])
      const nodes = nodesOf(parseTile(tile)).slice(0, -1)
      return nodes.map((row, height) => row[((place % tileWidth) >> height) ^ 1] ?? emptySubtree)
    }),
  ])
  return [...pathAmong(rows.map(parseSlot), slot, bucketDepth), ...paths.flat()]
}

/** Levels of the map in `log_tile` are negative: -1 has the tile with the root. */
const levelOf = (depth: number) => -1 - depth / tileHeight

/** The first bits of a slot, as a number. */
const bucketOf = ({ slot }: Pick<MapLeaf, 'slot'>) => (slot[0] ?? 0) * 256 + (slot[1] ?? 0)

function parseSlot({ slot, hash }: LogSlot): MapLeaf {
  return { slot: decode(slot), hash: decode(hash) }
}

function formatSlot({ slot, hash }: MapLeaf): LogSlot {
  return { bucket: bucketOf({ slot }), slot: encode(slot), hash: encode(hash) }
}

function parseTile(tile: LogTile | undefined): Bytes[] {
  if (tile === undefined) return Array.from({ length: tileWidth }, () => emptySubtree)
  return splitHashes(decode(tile.hashes, tileWidth))
}

const encode = (...hashes: readonly Bytes[]) => Buffer.concat(hashes).toString('base64')

/** Throws `log_stopped` unless the text has this number of hashes. */
function decode(text: string, count = 1): Bytes {
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  if (bytes.length !== count * hashLength) throw logError('damaged')
  return bytes
}

/** The hash of the subtree with these leaves, whose slots have their first bits, up to `depth`, in common. */
function hashOf(leaves: readonly MapLeaf[], depth: number): Bytes {
  if (leaves.length < 2 || depth === maxDepth) return leaves[0]?.hash ?? emptySubtree
  const [left, right] = splitAt(depth, leaves)
  return mapNode(hashOf(left, depth + 1), hashOf(right, depth + 1), sha256)
}

function pathAmong(leaves: readonly MapLeaf[], slot: Bytes, depth: number): Bytes[] {
  if (leaves.length < 2 || depth === maxDepth) return []
  const [left, right] = splitAt(depth, leaves)
  const [along, beside] = goesRight(slot, depth) ? [right, left] : [left, right]
  return [...pathAmong(along, slot, depth + 1), hashOf(beside, depth + 1)]
}

function splitAt(depth: number, leaves: readonly MapLeaf[]): [left: MapLeaf[], right: MapLeaf[]] {
  const isRight = ({ slot }: MapLeaf) => goesRight(slot, depth)
  return [leaves.filter((leaf) => !isRight(leaf)), leaves.filter(isRight)]
}

/** The nodes of a tile, one level after another up to its root. Subtrees that are as in `old` are not hashed again. */
function nodesOf(hashes: readonly Bytes[], old: readonly (readonly Bytes[])[] = []) {
  const rows = [hashes]
  for (let width = hashes.length; width > 1; width /= 2) {
    const [below = [], oldBelow = [], oldRow = []] = [rows.at(-1), ...old.slice(rows.length - 1)]
    const row: Bytes[] = []
    for (let index = 0; index < width; index += 2) {
      const [left = emptySubtree, right = emptySubtree] = [below[index], below[index + 1]]
      const isSame = left === oldBelow[index] && right === oldBelow[index + 1]
      row.push((isSame && oldRow[index / 2]) || mapNode(left, right, sha256))
    }
    rows.push(row)
  }
  return rows
}

const rootOf = (nodes: readonly (readonly Bytes[])[]): Bytes => nodes.at(-1)?.[0] ?? emptySubtree
