import { setImmediate } from 'node:timers/promises'
import { type Bytes, toBase64, toHex, utf8 } from '@pubring/client/internal/log/encoding'
import { blindedLedgerId, entryKey, formatEntry } from '@pubring/client/internal/log/leaf'
import { leafHash, type TreeHead } from '@pubring/client/internal/log/tree'
import type { Context, LogSigner } from '../../kernel/context.ts'
import { readAccepted } from '../../kernel/ledger/reads.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { type LogTree, logChanges, type MovedHead, type NewLogEntry } from './changes.ts'
import { logError } from './faults.ts'
import { findHeads, readMapUpdate } from './last-heads/heads.ts'
import type { MapUpdate } from './last-heads/map.ts'
import { readMovedHeads, readTree } from './reads.ts'
import { extendTiles, readTile, sha256 } from './tiles.ts'

/** Ledgers compared, and entries appended, at a time: it bounds the memory and each pause. */
const pageSize = 1_000

/** How much a run appends. */
export interface RunLimits {
  /** Nothing, if any process has appended something more recently. */
  minAgeMs?: number
  /** Rounded up to a page of ledgers. */
  maxHeads?: number
}

/** Appends the heads that moved to the tree; resolves with whether the limit has left some. */
export async function appendMovedHeads(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  signer: LogSigner,
  log: LogTree,
  { minAgeMs = 0, maxHeads = Number.POSITIVE_INFINITY }: RunLimits,
): Promise<boolean> {
  const start = clock.now()
  const time = isoTime(start)
  let size = log.size
  let after: string | undefined = ''
  let isFirst = true
  while (after !== undefined && size - log.size < maxHeads) {
    const { heads, isGone, last } = await readMovedHeads(store.reader, { after, limit: pageSize })
    after = last
    if (isGone) throw logError('rewritten')
    await requireContinued(store.reader, heads)
    // SQLite reads without waiting: others get their turn.
    await setImmediate()
    if (heads.length === 0) continue
    const entries = await Promise.all(
      heads.map((head) => newEntry(head, time, signer.blindingOf(head.ledgerId))),
    )
    const leaves = await Promise.all(entries.map(({ content }) => leafHash(utf8(content), sha256)))
    const tiles = await extendTiles(size, leaves, (tile) => readTile(store.reader, tile))
    const notSince = isFirst ? isoTime(start - minAgeMs) : time
    const append = { id: log.id, size, time, notSince, entries, tiles }
    if (await store.commit(logChanges.appendToLog, append)) {
      size += entries.length
      isFirst = false
    } else {
      // Another process appends: on request, what it does not is appended after that.
      if (minAgeMs > 0) return false
      const grown = await readTree(store.reader, log.id)
      if (grown === undefined || grown.endTime !== undefined) throw logError('diverged')
      size = grown.size
      after = ''
    }
  }
  return after !== undefined
}

/** Throws `log_stopped` if a ledger has lost what was logged of it, and was not accepted so since. */
async function requireContinued(db: Db, heads: readonly MovedHead[]): Promise<void> {
  const rewritten = heads.filter(({ loggedRevision, continues }) => loggedRevision && !continues)
  if (rewritten.length === 0) return
  const accepted = await readAccepted(db)
  for (const { ledgerId, loggedRevision } of rewritten) {
    if ((accepted.get(ledgerId) ?? 0) < Number(loggedRevision)) throw logError('rewritten')
  }
}

async function newEntry(head: MovedHead, time: string, blinding: Bytes): Promise<NewLogEntry> {
  const { ledgerId, revision, hash, list } = head
  const key = await entryKey(blinding, revision, sha256)
  const ledger = await blindedLedgerId(key, ledgerId, sha256)
  const content = formatEntry({ ledger, revision, head: hash, time })
  return {
    ledgerId,
    revision,
    hash,
    list,
    blinding: toBase64(blinding),
    content: new TextDecoder().decode(content),
  }
}

/**
 * Appends the root of the map of last heads, unless the tree ends with it. Resolves with the size of the tree
 * that does, the root, and the changes of the map since the published checkpoint; undefined if another process
 * has appended or published something meanwhile.
 */
export async function endWithHeads(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  signer: LogSigner,
  { log: { id, checkpointSize }, tree }: { log: LogTree; tree: TreeHead },
): Promise<(Omit<MapUpdate, 'root'> & { size: number; root?: Bytes }) | undefined> {
  const { reader } = store
  const { size } = tree
  if (checkpointSize === size) return { size, tiles: [], slots: [] }
  let update: MapUpdate
  try {
    update = await readMapUpdate(reader, signer, checkpointSize, tree)
  } catch (error) {
    if ((await readTree(reader, id))?.checkpointSize === checkpointSize) throw error
    return undefined
  }
  const heads = toHex(update.root)
  if ((await findHeads(reader, size))?.heads === heads) return { ...update, size }
  const time = isoTime(clock.now())
  const content = formatEntry({ heads, time })
  const leaf = await leafHash(content, sha256)
  const append = {
    ...{ id, size, time, notSince: time },
    entries: [],
    heads: new TextDecoder().decode(content),
    tiles: await extendTiles(size, [leaf], (tile) => readTile(reader, tile)),
  }
  const isAppended = await store.commit(logChanges.appendToLog, append)
  return isAppended ? { ...update, size: size + 1 } : undefined
}
