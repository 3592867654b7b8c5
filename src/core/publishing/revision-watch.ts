import type { Store } from '../context.ts'
import type { LedgerHead } from '../records.ts'

/** The revision of a ledger, or `unknown` if the store did not answer in time. */
export type Observation = number | 'unknown'

/** Must not throw. Observations can arrive late: one may be of an older revision than the last. */
type Watcher = (observation: Observation) => void

export interface RevisionWatch {
  /**
   * Calls the watcher every `intervalMs`, whether or not anything has changed and whether or not
   * the store answers, and soon after `checkNow`. Returns a function that stops it.
   */
  watch(ledgerId: string, watcher: Watcher): () => void
  /** Observes the ledger, which this process has changed, without waiting for the interval. */
  checkNow(ledgerId: string): void
  close(): void
}

/**
 * Reads the revisions of all watched ledgers every `intervalMs`, with one query at a time even if
 * the store is slow. Long because both kinds of checks share the watchers.
 */
export function createRevisionWatch(store: Store, intervalMs: number): RevisionWatch {
  const watchers = new Map<string, Set<Watcher>>()
  const requested = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let isChecking = false
  let isClosed = false

  function notify(ids: Iterable<string>, observe: (id: string) => Observation): void {
    for (const id of ids) {
      for (const watcher of watchers.get(id) ?? []) watcher(observe(id))
    }
  }
  async function check(ids: string[]): Promise<void> {
    // Requests that read the store report its faults.
    const heads = await store.heads(ids).catch(() => new Map<string, LedgerHead>())
    notify(ids, (id) => heads.get(id)?.revision ?? 'unknown')
  }
  async function tick(): Promise<void> {
    timer = undefined
    schedule()
    if (isChecking) return notify([...watchers.keys()], () => 'unknown')
    isChecking = true
    await check([...watchers.keys()])
    isChecking = false
  }
  function schedule(): void {
    if (isClosed || timer !== undefined || watchers.size === 0) return
    timer = setTimeout(() => void tick(), intervalMs)
  }
  function checkRequested(): void {
    const ids = [...requested].filter((id) => watchers.has(id))
    requested.clear()
    if (ids.length > 0) void check(ids)
  }

  return {
    watch(ledgerId, watcher) {
      const group = watchers.get(ledgerId) ?? new Set()
      watchers.set(ledgerId, group.add(watcher))
      schedule()
      return () => {
        group.delete(watcher)
        if (group.size === 0 && watchers.get(ledgerId) === group) watchers.delete(ledgerId)
      }
    },
    checkNow(ledgerId) {
      if (!watchers.has(ledgerId)) return
      if (requested.size === 0) setImmediate(checkRequested)
      requested.add(ledgerId)
    },
    close() {
      isClosed = true
      watchers.clear()
      clearTimeout(timer)
    },
  }
}
