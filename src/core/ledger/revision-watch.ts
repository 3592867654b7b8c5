import type { Clock, Store } from '../context.ts'
import type { LedgerHead } from '../records.ts'
import { systemLedgerId } from './chain.ts'

/**
 * Gets the head of the ledger, perhaps again. Must not throw. Heads can arrive late: one may be older
 * than the last, and is followed by a newer one.
 */
type Watcher = (head: LedgerHead) => void

/** A read of the heads that have changed: completed, failed, or not answered so far. */
export interface WatchRead {
  /** Milliseconds since it began. */
  ms: number
  outcome: 'completed' | 'failed' | 'pending'
  error?: unknown
}

export type RevisionWatch = ReturnType<typeof createRevisionWatch>

/**
 * Reads which of the watched ledgers, and of the system ledger, have changed every `intervalMs`, with
 * one query at a time even if the store is slow. So it also knows whether the store can be read. Long
 * because both kinds of checks share the watchers.
 */
export function createRevisionWatch(store: Store, clock: Clock, intervalMs: number) {
  const watchers = new Map<string, Set<Watcher>>()
  const requested = new Set<string>()
  const listeners: ((read: WatchRead) => void)[] = []
  const follower = store.followHeads()
  let checkingSince: number | undefined
  let readAt = clock.monotonic()

  function notify(heads: ReadonlyMap<string, LedgerHead>): void {
    for (const [id, head] of heads) {
      for (const watcher of watchers.get(id) ?? []) watcher(head)
    }
  }
  function report(outcome: WatchRead['outcome'], startTime: number, error?: unknown): void {
    const read = { outcome, ms: clock.monotonic() - startTime, error }
    for (const listener of listeners) listener(read)
  }
  async function checkAll(startTime: number): Promise<void> {
    try {
      const heads = await follower.read()
      readAt = startTime
      notify(heads)
      report('completed', startTime)
    } catch (error) {
      report('failed', startTime, error)
    }
  }
  function tick(): void {
    if (checkingSince !== undefined) {
      report('pending', checkingSince)
      return
    }
    const startTime = clock.monotonic()
    checkingSince = startTime
    void checkAll(startTime).finally(() => {
      checkingSince = undefined
    })
  }
  async function checkRequested(): Promise<void> {
    const ids = [...requested].filter((id) => watchers.has(id))
    requested.clear()
    if (ids.length === 0) return
    // Requests that read the store report its faults.
    const heads = await store.heads(ids).catch(() => new Map<string, LedgerHead>())
    // Without further heads, which may arrive later than newer ones that the other read returns.
    notify(new Map([...heads].filter(([id]) => ids.includes(id))))
    // The other read may have returned newer heads by now, so it reads these heads again, and what it
    // returns next is the newest.
    for (const id of ids) if (watchers.has(id)) follower.follow(id)
  }
  follower.follow(systemLedgerId)
  const timer = setInterval(tick, intervalMs).unref()
  tick()

  return {
    /**
     * Calls the watcher with the head of the ledger within `intervalMs`, and again within `intervalMs`
     * of each change. Returns a function that stops it.
     */
    watch(ledgerId: string, watcher: Watcher): () => void {
      const group = watchers.get(ledgerId) ?? new Set()
      watchers.set(ledgerId, group.add(watcher))
      // Also if it is watched already: the new watcher has to get its head.
      follower.follow(ledgerId)
      return () => {
        group.delete(watcher)
        if (group.size > 0 || watchers.get(ledgerId) !== group) return
        watchers.delete(ledgerId)
        if (ledgerId !== systemLedgerId) follower.unfollow(ledgerId)
      }
    },
    /** Reads the head of a ledger that this process has changed, without waiting for the interval. */
    checkNow(ledgerId: string): void {
      if (!watchers.has(ledgerId)) return
      if (requested.size === 0) setImmediate(() => void checkRequested())
      requested.add(ledgerId)
    },
    /** Calls the listener every `intervalMs` with the state of the latest read. Must not throw. */
    onRead: (listener: (read: WatchRead) => void) => void listeners.push(listener),
    /** Milliseconds since the last completed read began, or since the start. */
    ageMs: () => clock.monotonic() - readAt,
    close() {
      watchers.clear()
      clearInterval(timer)
    },
  }
}
