import { setImmediate } from 'node:timers/promises'
import { type Bytes, toBase64, utf8 } from '@pubring/client/internal/log/encoding'
import { blindedLedgerId, entryKey, formatEntry } from '@pubring/client/internal/log/leaf'
import { leafHash } from '@pubring/client/internal/log/tree'
import type { Context, LogSigner } from '../../kernel/context.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { logChanges } from './changes.ts'
import { readMovedHeads, readTree } from './reads.ts'
import type { LogTree, MovedHead, NewLogEntry } from './records.ts'
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
    const { heads, last } = await readMovedHeads(store.reader, { after, limit: pageSize })
    after = last
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
      size = (await readTree(store.reader, log.id))?.size ?? size
      after = ''
    }
  }
  return after !== undefined
}

async function newEntry(head: MovedHead, time: string, blinding: Bytes): Promise<NewLogEntry> {
  const { ledgerId, revision, hash } = head
  const key = await entryKey(blinding, revision, sha256)
  const ledger = await blindedLedgerId(key, ledgerId, sha256)
  const content = formatEntry({ ledger, revision, head: hash, time })
  return { ...head, blinding: toBase64(blinding), content: new TextDecoder().decode(content) }
}
