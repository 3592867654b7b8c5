import type { Clock, Store } from '../context.ts'
import type { LedgerHead } from '../records.ts'
import { systemLedgerId } from './chain.ts'

/** The revision of a ledger, or `unknown` if the store did not answer in time. */
export type Observation = number | 'unknown'

/** Must not throw. Observations can arrive late: one may be of an older revision than the last. */
type Watcher = (observation: Observation) => void

/** A read of the heads of all watched ledgers: completed, failed, or not answered so far. */
export interface WatchRead {
  /** Milliseconds since it began. */
  ms: number
  outcome: 'completed' | 'failed' | 'pending'
  error?: unknown
}

export interface RevisionWatch {
  /**
   * Calls the watcher every `intervalMs`, whether or not anything has changed and whether or not
   * the store answers, and soon after `checkNow`. Returns a function that stops it.
   */
  watch(ledgerId: string, watcher: Watcher): () => void
  /** Observes the ledger, which this process has changed, without waiting for the interval. */
  checkNow(ledgerId: string): void
  /** Calls the listener every `intervalMs` with the state of the latest read. Must not throw. */
  onRead(listener: (read: WatchRead) => void): void
  /** Milliseconds since the last completed read began, or since the start. */
  ageMs(): number
  close(): void
}

/**
 * Reads the revisions of all watched ledgers, and of the system ledger, every `intervalMs`, with one
 * query at a time even if the store is slow. So it also knows whether the store can be read. Long
 * because both kinds of checks share the watchers.
 */
export function createRevisionWatch(store: Store, clock: Clock, intervalMs: number): RevisionWatch {
  const watchers = new Map<string, Set<Watcher>>()
  const requested = new Set<string>()
  const listeners: ((read: WatchRead) => void)[] = []
  let checkingSince: number | undefined
  let readAt = clock.monotonic()

  function notify(ids: Iterable<string>, observe: (id: string) => Observation): void {
    for (const id of ids) {
      for (const watcher of watchers.get(id) ?? []) watcher(observe(id))
    }
  }
  function report(outcome: WatchRead['outcome'], startTime: number, error?: unknown): void {
    const read = { outcome, ms: clock.monotonic() - startTime, error }
    for (const listener of listeners) listener(read)
  }
  async function checkAll(startTime: number): Promise<void> {
    const ids = [...watchers.keys()]
    let heads = new Map<string, LedgerHead>()
    try {
      heads = await store.heads([systemLedgerId, ...ids])
      readAt = startTime
      report('completed', startTime)
    } catch (error) {
      report('failed', startTime, error)
    }
    notify(ids, (id) => heads.get(id)?.revision ?? 'unknown')
  }
  function tick(): void {
    if (checkingSince !== undefined) {
      report('pending', checkingSince)
      notify([...watchers.keys()], () => 'unknown')
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
    notify(ids, (id) => heads.get(id)?.revision ?? 'unknown')
  }
  const timer = setInterval(tick, intervalMs).unref()
  tick()

  return {
    watch(ledgerId, watcher) {
      const group = watchers.get(ledgerId) ?? new Set()
      watchers.set(ledgerId, group.add(watcher))
      return () => {
        group.delete(watcher)
        if (group.size === 0 && watchers.get(ledgerId) === group) watchers.delete(ledgerId)
      }
    },
    checkNow(ledgerId) {
      if (!watchers.has(ledgerId)) return
      if (requested.size === 0) setImmediate(() => void checkRequested())
      requested.add(ledgerId)
    },
    onRead: (listener) => void listeners.push(listener),
    ageMs: () => clock.monotonic() - readAt,
    close() {
      watchers.clear()
      clearInterval(timer)
    },
  }
}
