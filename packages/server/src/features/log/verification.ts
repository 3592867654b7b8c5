import { genesisHash } from '@pubring/client/internal/log/chain'
import { type Bytes, fromBase64, toBase64, utf8 } from '@pubring/client/internal/log/encoding'
import { mapLeaf } from '@pubring/client/internal/log/heads-map'
import { blindedLedgerId, entryKey } from '@pubring/client/internal/log/leaf'
import { verifyCheckpoint } from '@pubring/client/internal/log/ledger-proof'
import { parseVerifierKey } from '@pubring/client/internal/log/note'
import { treeRoot } from '@pubring/client/internal/log/proofs'
import { tileWidth } from '@pubring/client/internal/log/tiles'
import { leafHash } from '@pubring/client/internal/log/tree'
import { parsePublished } from '../../kernel/ledger/chain.ts'
import { readAccepted } from '../../kernel/ledger/reads.ts'
import { type Difference, type LedgerVerdict, logId } from '../../kernel/ledger/verification.ts'
import { columnsOf, type Db, type RowOf } from '../../kernel/storage/schema.ts'
import type { LogTile, LogTree } from './changes.ts'
import { readEntry } from './last-heads/heads.ts'
import { createMapComparison, type MapEntry } from './last-heads/verification.ts'
import {
  type EntryRow,
  readCounts,
  readEntryRows,
  readGone,
  readStarts,
  readTiles,
  readTree,
} from './reads.ts'
import { logLedgerTable, logTreeTable } from './stored.ts'
import { createNodeReader, extendTiles, hashLength, listDigest, sha256 } from './tiles.ts'

const pageSize = 1_024

/** Differences that are named: an altered size could have any number. */
const maxDifferences = 100

type Note = (type: string, id: string, detail: string) => void

/** The last logged head of a ledger, and the digests of its event. */
type Heads = Map<string, { revision: number; hash: string; published: string | null }>

/**
 * Compares the tables of the log with each other, with the ledgers, and with the events that started its
 * trees. Undefined if nothing differs. Entries that are appended meanwhile are compared, too.
 */
export async function verifyLog(db: Db): Promise<LedgerVerdict | undefined> {
  const differences: Difference[] = []
  const note: Note = (type, id, detail) => {
    if (differences.length >= maxDifferences) return
    const subject = { type, id }
    differences.push({ ledgerId: logId, subject, detail: `${type} ${id}: ${detail}` })
  }
  await compareTrees(db, note)
  await compareEntries(db, note)
  if (differences.length === 0) return undefined
  return { ledgerId: logId, events: 0, hash: genesisHash, differences }
}

/** Compares the trees with the events that started them. */
async function compareTrees(db: Db, note: Note): Promise<void> {
  const events = await readStarts(db)
  const rows = await db.selectFrom('log_tree').select(columnsOf(logTreeTable)).execute()
  const unseen = new Map(rows.map((row) => [row.id, row]))
  for (const [index, { origin, verifierKey }] of events.entries()) {
    const id = origin.split('/').at(-1) ?? ''
    const row = unseen.get(id)
    const next = events[index + 1]
    unseen.delete(id)
    if (row === undefined) note('log_tree', id, 'its row is missing; an event started it')
    else if (
      row.origin !== origin ||
      row.verifier_key !== verifierKey ||
      row.end_time !== (next?.time ?? null) ||
      row.next_origin !== (next?.origin ?? null)
    ) {
      note('log_tree', id, 'it contradicts the event that started it, or the next tree')
    }
  }
  for (const id of unseen.keys()) note('log_tree', id, 'it has a row, and no event started it')
}

/** Compares the entries, page by page, with the tiles and the ledgers, and then what depends on all of them. */
async function compareEntries(db: Db, note: Note): Promise<void> {
  const accepted = await readAccepted(db)
  const heads: Heads = new Map()
  const tiles = createTileComparison(db, note)
  const map = createMapComparison(db, note)
  let size = 0
  for (;;) {
    const tree = await readTree(db)
    const counts = await readCounts(db)
    // If the size was altered, not all that it says are looked for.
    const end = Math.min(tree?.size ?? 0, counts.entries + maxDifferences)
    while (size < end) {
      const rows = await readEntryRows(db, size, Math.min(end, size + pageSize))
      const leaves: Bytes[] = []
      const entries: MapEntry[] = []
      for (const position of Array.from({ length: Math.min(end - size, pageSize) }).keys()) {
        const row = rows.get(size + position)
        const hash = await leafHash(utf8(row?.content ?? ''), sha256)
        leaves.push(hash)
        if (row === undefined) note('log_entry', String(size + position), 'its row is missing')
        else entries.push(...(await compareEntry(row, hash, { accepted, heads, note })))
      }
      await tiles.extend(size, leaves)
      await map.extend(entries, tree?.checkpointSize ?? 0)
      size += leaves.length
    }
    await map.extend([], tree?.checkpointSize ?? 0)
    const logged = await db.selectFrom('log_ledger').select(columnsOf(logLedgerTable)).execute()
    const gone = await readGone(db)
    const mapped = await map.compare(tree?.checkpointSize ?? 0)
    const now = await readTree(db)
    if (now?.size !== tree?.size || now?.checkpointSize !== tree?.checkpointSize) continue
    await tiles.finish(counts.tiles - mapped.tiles)
    for (const difference of mapped.differences) note(...difference)
    if (counts.slots !== mapped.slots)
      note('log_slot', 'all', `there are ${counts.slots}, and the entries have ${mapped.slots}`)
    if (counts.entries !== (tree?.size ?? 0)) {
      const detail = `its size is ${tree?.size}, and there are ${counts.entries} entries`
      note('log_tree', tree?.id ?? 'none', tree === undefined ? 'entries have no tree' : detail)
    }
    compareHeads(heads, logged, note)
    for (const id of gone)
      note('ledger', id, 'the log has its events, and the whole ledger is missing')
    if (tree !== undefined) await compareCheckpoint(db, tree, note)
    return
  }
}

interface Comparison {
  accepted: ReadonlyMap<string, number>
  heads: Heads
  note: Note
}

/**
 * Compares an entry, whose leaf has this hash; resolves with what it puts into the map of last heads. Events up
 * to the accepted revision are not compared: they were accepted as they are.
 */
async function compareEntry(
  row: EntryRow,
  hash: Bytes,
  { accepted, heads, note }: Comparison,
): Promise<MapEntry[]> {
  const { position, ledgerId, revision, blinding } = row
  const different = (detail: string) => note('log_entry', String(position), detail)
  const entry = readEntry(row.content)
  if (ledgerId === null || revision === null) {
    if (entry !== undefined && 'heads' in entry && (ledgerId ?? revision) === null)
      return [{ position, heads: entry.heads }]
    different('it is not the root of the map of last heads')
    return []
  }
  if (entry === undefined || !('ledger' in entry)) {
    different('it is not the head of a ledger')
    return []
  }
  const before = heads.get(ledgerId)?.revision ?? 0
  if (revision < before || (revision === before && revision > (accepted.get(ledgerId) ?? 0)))
    different(`it is not above the entry of ledger ${ledgerId} before, at revision ${before}`)
  heads.set(ledgerId, { revision, hash: entry.head, published: row.published })
  const key = await entryKey(fromBase64(blinding ?? '') ?? new Uint8Array(), revision, sha256)
  const event = row.hash === null ? 'is missing' : `has the hash ${row.hash}`
  if (
    entry.revision !== revision ||
    entry.ledger !== (await blindedLedgerId(key, ledgerId, sha256))
  ) {
    different(`it is not of ledger ${ledgerId} at revision ${revision}`)
  } else if (entry.head !== row.hash && revision > (accepted.get(ledgerId) ?? 0)) {
    different(`ledger ${ledgerId}: event ${revision} ${event}, and was logged as ${entry.head}`)
  }
  return [{ position, ledgerId, leaf: await mapLeaf({ ledgerId, key, entry: hash }, sha256) }]
}

/** Builds the tiles of the entries, and compares each when it is complete, and the others at the end. */
function createTileComparison(db: Db, note: Note) {
  const open = new Map<number, LogTile>()
  let full = 0
  async function compare({ level, position, hashes }: LogTile): Promise<void> {
    const [stored] = await readTiles(db, level, [position])
    if (stored?.hashes === hashes) return
    note('log_tile', `${level}/${position}`, 'it is missing, or contradicts the entries')
  }
  return {
    async extend(size: number, leaves: readonly Bytes[]): Promise<void> {
      const read = async ({ level }: { level: number }) =>
        fromBase64(open.get(level)?.hashes ?? '') ?? new Uint8Array()
      for (const tile of await extendTiles(size, leaves, read)) {
        const isFull = (fromBase64(tile.hashes)?.length ?? 0) === tileWidth * hashLength
        if (!isFull) open.set(tile.level, tile)
        else {
          open.delete(tile.level)
          full += 1
          await compare(tile)
        }
      }
    },
    async finish(count: number): Promise<void> {
      for (const tile of open.values()) await compare(tile)
      const built = full + open.size
      if (count !== built)
        note('log_tile', 'all', `there are ${count}, and the entries have ${built}`)
    },
  }
}

/** Compares what the log has of each ledger with the entries. */
function compareHeads(
  heads: Heads,
  logged: readonly RowOf<typeof logLedgerTable>[],
  note: Note,
): void {
  const unseen = new Map(heads)
  for (const { ledger_id: id, revision, hash, list } of logged) {
    const head = unseen.get(id)
    unseen.delete(id)
    if (head?.revision !== revision || head.hash !== hash) {
      note('log_ledger', id, 'it is not the last head of the ledger among the entries')
    } else if (list !== null && parsePublished(head.published)?.list !== listDigest(list)) {
      note('log_ledger', id, 'its list is not the one that the event names')
    }
  }
  for (const id of unseen.keys()) note('log_ledger', id, 'its row is missing; entries are of it')
}

/** Compares the checkpoint with the key of the tree and the tiles. */
async function compareCheckpoint(db: Db, tree: LogTree, note: Note): Promise<void> {
  const { id, checkpoint, checkpointSize, verifierKey } = tree
  if (checkpoint === undefined) {
    if (checkpointSize > 0) note('log_tree', id, 'it has no checkpoint')
    return
  }
  try {
    const log = await parseVerifierKey(verifierKey)
    const signed = await verifyCheckpoint(checkpoint, { log })
    const root = await treeRoot(signed.size, createNodeReader(db, signed.size), sha256)
    if (signed.size === checkpointSize && toBase64(signed.root) === toBase64(root)) return
    note('log_tree', id, 'its checkpoint is of other entries')
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    note('log_tree', id, `its checkpoint cannot be compared: ${detail}`)
  }
}
