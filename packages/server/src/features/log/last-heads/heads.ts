import { setImmediate } from 'node:timers/promises'
import { type Bytes, utf8 } from '@pubring/client/internal/log/encoding'
import { emptySubtree, type MapLeaf, mapLeaf } from '@pubring/client/internal/log/heads-map'
import {
  blindedLedgerId,
  entryKey,
  formatEntry,
  type HeadsEntry,
  type LogEntry,
  parseEntry,
} from '@pubring/client/internal/log/leaf'
import { inclusionProof } from '@pubring/client/internal/log/proofs'
import {
  equalBytes,
  leafHash,
  type TreeHead,
  verifyInclusion,
} from '@pubring/client/internal/log/tree'
import type { LogSigner } from '../../../kernel/context.ts'
import { readAccepted } from '../../../kernel/ledger/reads.ts'
import type { Db } from '../../../kernel/storage/schema.ts'
import { logError } from '../faults.ts'
import { type NewEntry, readEntries, readNewEntries } from '../reads.ts'
import { createNodeReader, sha256 } from '../tiles.ts'
import { type MapUpdate, storedMap, updateMap } from './map.ts'

/** Entries read at a time: it bounds each pause. */
const pageSize = 1_000

/** The last of the first `size` entries, if it has the root of a map of last heads. */
export async function findHeads(db: Db, size: number): Promise<HeadsEntry | undefined> {
  const [content = ''] = await readEntries(db, { start: size - 1, end: size })
  const entry = readEntry(content)
  return entry !== undefined && 'heads' in entry ? entry : undefined
}

/** Undefined if the entry was altered. */
export function readEntry(content: string): LogEntry | HeadsEntry | undefined {
  try {
    return parseEntry(utf8(content))
  } catch {
    return undefined
  }
}

/**
 * The map of last heads with the entries since the published checkpoint, whose size is authentic. `tree` is the
 * state of the log, which extends what was signed. Throws `log_stopped` if the stored map is not that of the
 * published checkpoint, or an entry does not continue its ledger.
 */
export async function readMapUpdate(
  db: Db,
  signer: Pick<LogSigner, 'blindingOf'>,
  published: number,
  tree: TreeHead,
): Promise<MapUpdate> {
  const root = published === 0 ? emptySubtree : await readRoot(db, published, tree)
  const leaves = new Map<string, MapLeaf>()
  for (let start = published; start < tree.size; start += pageSize) {
    const end = Math.min(tree.size, start + pageSize)
    const entries = await readNewEntries(db, { start, end })
    if (entries.length < end - start) throw logError('damaged')
    await requireContinued(db, entries)
    for (const entry of entries) {
      const { ledgerId } = entry
      const leaf = await leafOfNew(entry, signer)
      if (ledgerId !== null && leaf !== undefined) leaves.set(ledgerId, leaf)
    }
    // SQLite reads without waiting, and so are leaves made: others get their turn.
    await setImmediate()
  }
  return updateMap(storedMap(db), root, [...leaves.values()])
}

/** Throws `log_stopped` if an entry is older than the one before it of its ledger, which would come back as the last. */
async function requireContinued(db: Db, entries: readonly NewEntry[]): Promise<void> {
  const old = entries.filter(({ revision, previous }) => Number(revision ?? 1) <= (previous ?? 0))
  if (old.length === 0) return
  const accepted = await readAccepted(db)
  for (const { ledgerId, revision, previous } of old) {
    // An operator may have accepted another event with the same revision.
    const isAccepted = (accepted.get(ledgerId ?? '') ?? 0) >= Number(revision)
    if (revision !== previous || !isAccepted) throw logError('rewritten')
  }
}

/** The leaf that an entry puts into the map. Throws `log_stopped` if its row says something else than the entry. */
async function leafOfNew(
  { ledgerId, revision, content }: NewEntry,
  { blindingOf }: Pick<LogSigner, 'blindingOf'>,
): Promise<MapLeaf | undefined> {
  const entry = readEntry(content)
  if (entry !== undefined && 'heads' in entry && ledgerId === null) return undefined
  if (entry === undefined || 'heads' in entry || ledgerId === null || revision !== entry.revision) {
    throw logError('damaged')
  }
  const key = await entryKey(blindingOf(ledgerId), revision, sha256)
  if (entry.ledger !== (await blindedLedgerId(key, ledgerId, sha256))) throw logError('damaged')
  return mapLeaf({ ledgerId, key, entry: await leafHash(utf8(content), sha256) }, sha256)
}

/** Throws `log_stopped` unless the tree ends with this root of the map. */
export async function requireRoot(db: Db, tree: TreeHead, root: Bytes | undefined): Promise<void> {
  const last = await readRoot(db, tree.size, tree)
  if (root === undefined || !equalBytes(last, root)) throw logError('damaged')
}

/** The root in the last of the first `size` entries of the tree. */
async function readRoot(db: Db, size: number, tree: TreeHead): Promise<Bytes> {
  const published = await findHeads(db, size)
  if (published === undefined) throw logError('damaged')
  const index = size - 1
  const read = createNodeReader(db, tree.size)
  const hashes = await inclusionProof(index, tree.size, read, sha256)
  const leaf = await leafHash(formatEntry(published), sha256)
  if (!(await verifyInclusion(leaf, { index, hashes }, tree))) throw logError('damaged')
  return Uint8Array.from(Buffer.from(published.heads, 'hex'))
}
