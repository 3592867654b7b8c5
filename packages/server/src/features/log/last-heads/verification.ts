import { toHex } from '@pubring/client/internal/log/encoding'
import { emptySubtree, type MapLeaf } from '@pubring/client/internal/log/heads-map'
import { columnsOf, type Db } from '../../../kernel/storage/schema.ts'
import type { LogSlot, LogTile } from '../changes.ts'
import { readSlots } from '../reads.ts'
import { logTileTable } from '../stored.ts'
import { updateMap } from './map.ts'

/** An entry: the leaf that it puts into the map, or the root that it says the map has. */
export type MapEntry = { position: number } & (
  | { ledgerId: string; leaf: MapLeaf }
  | { heads: string }
)

/** A row that differs, and in what. */
type RowDifference = [table: string, id: string, detail: string]

/** How many buckets are compared at a time. */
const pageSize = 256

/** Builds the map of last heads of the entries, and compares each root in them, and the stored map, with it. */
export function createMapComparison(db: Db, note: (...difference: RowDifference) => void) {
  const tiles = new Map<string, LogTile>()
  const slots = new Map<number, Map<string, LogSlot>>()
  const built = {
    tiles: async (level: number, positions: readonly number[]) =>
      positions.flatMap((position) => tiles.get(`${level}/${position}`) ?? []),
    slots: async (buckets: readonly number[]) =>
      buckets.flatMap((bucket) => [...(slots.get(bucket)?.values() ?? [])]),
  }
  let root = emptySubtree
  /** The number of entries up to the last one with a root. */
  let builtSize = 0
  /** The leaves after that. */
  const moved = new Map<string, MapLeaf>()
  /** The entries after the published checkpoint, in order. */
  const unpublished: MapEntry[] = []

  async function compareRoot({ position, heads }: { position: number; heads: string }) {
    const update = await updateMap(built, root, [...moved.values()])
    for (const tile of update.tiles) tiles.set(`${tile.level}/${tile.position}`, tile)
    for (const row of update.slots) {
      const bucket = slots.get(row.bucket) ?? new Map<string, LogSlot>()
      slots.set(row.bucket, bucket.set(row.slot, row))
    }
    moved.clear()
    root = update.root
    builtSize = position + 1
    if (toHex(root) === heads) return
    note('log_entry', String(position), 'it does not have the root of the map of last heads')
  }
  return {
    /** Adds entries that follow those before; the checkpoint is of `size` entries. */
    async extend(entries: readonly MapEntry[], size: number): Promise<void> {
      unpublished.push(...entries)
      const end = unpublished.findIndex(({ position }) => position >= size)
      for (const entry of unpublished.splice(0, end < 0 ? unpublished.length : end)) {
        if ('heads' in entry) await compareRoot(entry)
        else moved.set(entry.ledgerId, entry.leaf)
      }
    },
    /** The differences from the stored map at a checkpoint of `size` entries, and how many rows that has. */
    async compare(size: number) {
      const missing = {
        log_tile: new Set(tiles.keys()),
        log_slot: new Set([...slots.values()].flatMap((bucket) => [...bucket.keys()])),
      }
      const [tileCount, slotCount] = [missing.log_tile.size, missing.log_slot.size]
      const rows = await db
        .selectFrom('log_tile')
        .select(columnsOf(logTileTable))
        .where('level', '<', 0)
        .execute()
      for (const { level, position, hashes } of rows) {
        const id = `${level}/${position}`
        if (tiles.get(id)?.hashes === hashes) missing.log_tile.delete(id)
      }
      for (let start = 0; start < 2 ** 16; start += pageSize) {
        const buckets = Array.from({ length: pageSize }, (_, index) => start + index)
        for (const { bucket, slot, hash } of await readSlots(db, buckets)) {
          if (slots.get(bucket)?.get(slot)?.hash === hash) missing.log_slot.delete(slot)
        }
      }
      const detail = 'it is missing, or contradicts the entries'
      const differences = Object.entries(missing).flatMap(([table, ids]) =>
        Array.from(ids, (id): RowDifference => [table, id, detail]),
      )
      if (builtSize !== size)
        differences.push(['log_entry', String(size - 1), 'the checkpoint does not end with a root'])
      return { differences, tiles: tileCount, slots: slotCount }
    },
  }
}
