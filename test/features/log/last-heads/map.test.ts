import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toHex } from '../../../../packages/client/src/log/encoding.ts'
import { emptySubtree, mapRoot } from '../../../../packages/client/src/log/heads-map.ts'
import type { LogSlot, LogTile } from '../../../../packages/server/src/features/log/changes.ts'
import { mapPath, updateMap } from '../../../../packages/server/src/features/log/last-heads/map.ts'
import { naivePath, naiveRoot } from '../../../support/log/naive-map.ts'

/** A leaf whose slot begins with these bytes. */
function leafAt(...beginning: number[]) {
  const slot = Uint8Array.of(...beginning, ...new Uint8Array(32 - beginning.length))
  return { slot, hash: new Uint8Array(randomBytes(32)) }
}

type Leaf = ReturnType<typeof leafAt>

/** A map in memory, stored as in the database. */
function createMap() {
  const tiles = new Map<string, LogTile>()
  const slots = new Map<string, LogSlot>()
  const leaves = new Map<string, Leaf>()
  const read = {
    tiles: async (level: number, positions: readonly number[]) =>
      positions.flatMap((position) => tiles.get(`${level}/${position}`) ?? []),
    slots: async (buckets: readonly number[]) =>
      [...slots.values()].filter(({ bucket }) => buckets.includes(bucket)),
  }
  let root = emptySubtree
  const naive = () =>
    [...leaves.values()].map(({ slot, hash }) => {
      return { slot: Buffer.from(slot), hash: Buffer.from(hash) }
    })
  return {
    tiles,
    slots,
    async put(...changed: Leaf[]): Promise<void> {
      const update = await updateMap(read, root, changed)
      root = update.root
      for (const tile of update.tiles) tiles.set(`${tile.level}/${tile.position}`, tile)
      for (const slot of update.slots) slots.set(slot.slot, slot)
      for (const leaf of changed) leaves.set(leaf.slot.join(), leaf)
    },
    /** Compares the root, and the path of each leaf, with those of a computation from all leaves. */
    async compare(): Promise<void> {
      expect(Buffer.from(root)).toEqual(naiveRoot(naive()))
      for (const leaf of leaves.values()) {
        const path = await mapPath(read, leaf.slot)
        expect(path.map(toHex)).toEqual(naivePath(naive(), leaf.slot).map(toHex))
        expect(toHex(await mapRoot(leaf, path))).toBe(toHex(root))
        const other = { ...leaf, hash: new Uint8Array(32).fill(1) }
        expect(toHex(await mapRoot(other, path))).not.toBe(toHex(root))
      }
    },
  }
}

test.each<[string, Leaf[]]>([
  ['no leaf', []],
  ['one leaf', [leafAt(7, 7)]],
  ['two leaves in one bucket', [leafAt(1, 2, 0), leafAt(1, 2, 128)]],
  ['two leaves that differ in their last bit', [leafAt(), leafAt(...new Array(31).fill(0), 1)]],
  ['three leaves of two tiles', [leafAt(1, 2), leafAt(1, 3), leafAt(2, 2)]],
])('a map with %s', async (_name, leaves) => {
  const map = createMap()
  for (const leaf of leaves) await map.put(leaf)
  await map.compare()
  await map.put(...leaves.map((leaf) => ({ ...leaf, hash: new Uint8Array(randomBytes(32)) })))
  await map.compare()
})

test('the map is that of a computation from all leaves, however they came', async () => {
  // Few different bytes, so that slots begin alike.
  const slot = fc.array(fc.constantFrom(0, 1, 128, 129), { minLength: 5, maxLength: 5 })
  const batch = fc.uniqueArray(slot, { maxLength: 12, selector: (bytes) => bytes.join() })
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { maxLength: 4 }), async (batches) => {
      const map = createMap()
      for (const slots of batches) await map.put(...slots.map((bytes) => leafAt(...bytes)))
      await map.compare()
    }),
    { numRuns: 20 },
  )
})

test.each<[string, (map: ReturnType<typeof createMap>) => void]>([
  ['a leaf was altered', ({ slots }) => alter(slots, (slot) => ({ ...slot, hash: other }))],
  ['a leaf was removed', ({ slots }) => slots.delete([...slots.keys()][0] ?? '')],
  [
    'a leaf was added',
    ({ slots }) => alter(slots, ({ bucket }) => ({ bucket, slot: other, hash: other })),
  ],
  ['a leaf is no hash', ({ slots }) => alter(slots, (slot) => ({ ...slot, hash: 'x' }))],
  ['a tile was removed', ({ tiles }) => tiles.delete('-3/1')],
  ['a tile is cut off', ({ tiles }) => alter(tiles, (tile) => ({ ...tile, hashes: other }))],
])('what changes is compared with the root: %s', async (_name, damage) => {
  const map = createMap()
  const leaf = leafAt(1, 2, 3)
  await map.put(leaf, leafAt(1, 2, 4))
  damage(map)
  await expect(map.put(leaf)).rejects.toMatchObject({
    code: 'log_stopped',
    extras: { errors: [{ code: 'damaged' }] },
  })
})

const other = Buffer.alloc(32, 1).toString('base64')

/** Puts another row in the place of the first one. */
function alter<Row>(rows: Map<string, Row>, change: (row: Row) => Row): void {
  const [first] = rows
  if (first !== undefined) rows.set(first[0], change(first[1]))
}
