import type { Store } from '../context.ts'
import type { LedgerHead } from '../records.ts'

/** What a look at a ledger found: its revision, or that the store could not tell in time. */
export type Sighting = number | 'unknown'

/** Must not throw. Sightings can come late: one may be of an older revision than the one before. */
export type Watcher = (sighting: Sighting) => void

export interface RevisionWatch {
  /**
   * Calls back every `interval`, whether or not anything changed and whether or not the store
   * answers; and soon after a nudge. Answers how to stop that.
   */
  watch(ledgerId: string, watcher: Watcher): () => void
  /** This process has changed the ledger: look at it now. */
  nudge(ledgerId: string): void
  close(): void
}

/**
 * One timer and one query look after everything that is waited for, however many wait: as long as
 * anybody does, the revisions of all watched ledgers are read every `interval` milliseconds. While
 * the store is slow there is never more than one such query under way.
 */
export function createRevisionWatch(store: Store, interval: number): RevisionWatch {
  const watchers = new Map<string, Set<Watcher>>()
  const nudged = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let looking = false
  let closed = false

  function tell(ids: Iterable<string>, sightingOf: (id: string) => Sighting): void {
    for (const id of ids) {
      for (const watcher of watchers.get(id) ?? []) watcher(sightingOf(id))
    }
  }
  async function look(ids: string[]): Promise<void> {
    // A store that cannot answer tells nothing; why is for those to say who serve from it.
    const heads = await store.heads(ids).catch(() => new Map<string, LedgerHead>())
    tell(ids, (id) => heads.get(id)?.revision ?? 'unknown')
  }
  async function tick(): Promise<void> {
    timer = undefined
    schedule()
    if (looking) return tell([...watchers.keys()], () => 'unknown')
    looking = true
    await look([...watchers.keys()])
    looking = false
  }
  function schedule(): void {
    if (closed || timer !== undefined || watchers.size === 0) return
    timer = setTimeout(() => void tick(), interval)
  }
  function lookAtNudged(): void {
    const ids = [...nudged].filter((id) => watchers.has(id))
    nudged.clear()
    if (ids.length > 0) void look(ids)
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
    nudge(ledgerId) {
      if (!watchers.has(ledgerId)) return
      if (nudged.size === 0) setImmediate(lookAtNudged)
      nudged.add(ledgerId)
    },
    close() {
      closed = true
      watchers.clear()
      clearTimeout(timer)
    },
  }
}
