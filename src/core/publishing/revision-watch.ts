import type { Store } from '../context.ts'
import type { LedgerHead } from '../records.ts'

/** What a look at a ledger found: its revision, or that the store could not tell in time. */
export type Observation = number | 'unknown'

/** Must not throw. Observations can come late: one may be of an older revision than the one before. */
export type Watcher = (observation: Observation) => void

export interface RevisionWatch {
  /**
   * Calls back every `interval`, whether or not anything changed and whether or not the store
   * answers; and soon after `checkNow`. Returns a function that stops it.
   */
  watch(ledgerId: string, watcher: Watcher): () => void
  /** This process has changed the ledger: look at it now. */
  checkNow(ledgerId: string): void
  close(): void
}

/**
 * One timer and one query look after everything that is waited for, however many wait: as long as
 * anybody does, the revisions of all watched ledgers are read every `interval` milliseconds. While
 * the store is slow there is never more than one such query under way.
 */
export function createRevisionWatch(store: Store, intervalMs: number): RevisionWatch {
  const watchers = new Map<string, Set<Watcher>>()
  const requested = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let isChecking = false
  let closed = false

  function notify(ids: Iterable<string>, observationOf: (id: string) => Observation): void {
    for (const id of ids) {
      for (const watcher of watchers.get(id) ?? []) watcher(observationOf(id))
    }
  }
  async function check(ids: string[]): Promise<void> {
    // A store that cannot answer tells nothing; why is for those to say who serve from it.
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
    if (closed || timer !== undefined || watchers.size === 0) return
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
      closed = true
      watchers.clear()
      clearTimeout(timer)
    },
  }
}
