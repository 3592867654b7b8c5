import { toHex } from '@pubring/client/internal/log/encoding'
import { emptySubtree, type MapLeaf } from '@pubring/client/internal/log/heads-map'
import { columnsOf, type Db } from '../../../kernel/storage/schema.ts'
import { readSlots } from '../reads.ts'
import { logTileTable } from '../stored.ts'
import { findHeads } from './heads.ts'
import { updateMap } from './map.ts'

/** The entry of a ledger, and its leaf in the map if it is the last one. */
export interface LedgerLeaf {
  position: number
  ledgerId: string
  leaf: MapLeaf
}

/** A row that differs, and in what. */
type RowDifference = [table: string, id: string, detail: string]

/** How many buckets are compared at a time. */
const pageSize = 256

/** Builds the map of last heads of the entries, and compares the stored one with it. */
export function createMapComparison(db: Db) {
  const leaves = new Map<string, MapLeaf>()
  /** The entries after the published checkpoint, in order. */
  const unpublished: LedgerLeaf[] = []

  return {
    /** Adds entries that follow those before; the checkpoint is of `size` entries. */
    extend(entries: readonly LedgerLeaf[], size: number): void {
      unpublished.push(...entries)
      const end = unpublished.findIndex(({ position }) => position >= size)
      const published = unpublished.splice(0, end < 0 ? unpublished.length : end)
      for (const { ledgerId, leaf } of published) leaves.set(ledgerId, leaf)
    },
    /** The differences from the stored map at a checkpoint of `size` entries, and how many rows that has. */
    async compare(size: number) {
      const nothing = { tiles: async () => [], slots: async () => [] }
      const { root, tiles, slots } = await updateMap(nothing, emptySubtree, [...leaves.values()])
      const tilesById = new Map(
        tiles.map((tile) => [`${tile.level}/${tile.position}`, tile.hashes]),
      )
      const slotsById = new Map(slots.map((row) => [`${row.bucket}/${row.slot}`, row.hash]))
      const rows = await db
        .selectFrom('log_tile')
        .select(columnsOf(logTileTable))
        .where('level', '<', 0)
        .execute()
      for (const { level, position, hashes } of rows) {
        const id = `${level}/${position}`
        if (tilesById.get(id) === hashes) tilesById.delete(id)
      }
      for (let start = 0; start < 2 ** 16; start += pageSize) {
        const buckets = Array.from({ length: pageSize }, (_, index) => start + index)
        for (const { bucket, slot, hash } of await readSlots(db, buckets)) {
          const id = `${bucket}/${slot}`
          if (slotsById.get(id) === hash) slotsById.delete(id)
        }
      }
      const detail = 'it is missing, or contradicts the entries'
      const differences: RowDifference[] = [
        ...[...tilesById.keys()].map((id): RowDifference => ['log_tile', id, detail]),
        ...[...slotsById.keys()].map((id): RowDifference => ['log_slot', id, detail]),
      ]
      if (size > 0 && (await findHeads(db, size))?.heads !== toHex(root)) {
        const detail = 'it does not have the root of the map of last heads'
        differences.push(['log_entry', String(size - 1), detail])
      }
      return { differences, tiles: tiles.length, slots: slots.length }
    },
  }
}
