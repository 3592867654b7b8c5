import type { Clock } from '../../runtime/clock.ts'
import type { Store } from '../context.ts'
import type { LedgerHead } from '../records.ts'
import { systemLedgerId } from './chain.ts'

/** Reads get older than this, in milliseconds, only while the store is unavailable. */
export const staleAfterMs = 1_000

/** Something that a ledger keeps up to date. */
interface Follower {
  /**
   * Whether it has everything up to the head, which is undefined until one was read, and up to the
   * present time. Must not throw. Heads can arrive late: one may be older than the last, and is
   * followed by a newer one.
   */
  isCurrent(head: LedgerHead | undefined): boolean
  /**
   * Brings it up to date, by the latest known head; one update runs at a time. Must not reject: an
   * update that fails leaves it as it is, and is repeated.
   */
  update(head: LedgerHead | undefined): Promise<void>
}

interface Following {
  follower: Follower
  head?: LedgerHead
  isUpdating: boolean
}

/** A read of the heads that have changed: completed, failed, or not answered so far. */
interface WatchRead {
  /** Milliseconds since it began. */
  ms: number
  outcome: 'completed' | 'failed' | 'pending'
  error?: unknown
}

export type RevisionWatch = ReturnType<typeof createRevisionWatch>

/**
 * Reads which of the followed ledgers, and of the system ledger, have changed every `intervalMs`, with
 * one query at a time even if the store is slow. So it also knows whether the store can be read. Long
 * because both kinds of checks share the followers.
 */
export function createRevisionWatch(store: Store, clock: Clock, intervalMs: number) {
  const followed = new Map<string, Set<Following>>()
  const requested = new Set<string>()
  const listeners: ((read: WatchRead) => void)[] = []
  const reader = store.followHeads()
  let checkingSince: number | undefined
  let readAt = clock.monotonic()

  function update(following: Following): void {
    if (following.isUpdating) return
    following.isUpdating = true
    void following.follower.update(following.head).finally(() => {
      following.isUpdating = false
    })
  }
  function updateIfBehind(following: Following): void {
    const { follower, head } = following
    if (!follower.isCurrent(head)) update(following)
  }
  function notify(heads: ReadonlyMap<string, LedgerHead>): void {
    for (const [id, head] of heads) {
      for (const following of followed.get(id) ?? []) {
        following.head = head
        updateIfBehind(following)
      }
    }
  }
  function report(outcome: WatchRead['outcome'], startTime: number, error?: unknown): void {
    const read = { outcome, ms: clock.monotonic() - startTime, error }
    for (const listener of listeners) listener(read)
    // Updates also the followers whose last update has failed.
    for (const group of followed.values()) group.forEach(updateIfBehind)
  }
  async function checkAll(startTime: number): Promise<void> {
    try {
      const heads = await reader.read()
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
    const ids = [...requested].filter((id) => followed.has(id))
    requested.clear()
    if (ids.length === 0) return
    // Requests that read the store report its faults.
    const heads = await store.heads(ids).catch(() => new Map<string, LedgerHead>())
    // Without further heads, which may arrive later than newer ones that the other read returns.
    notify(new Map([...heads].filter(([id]) => ids.includes(id))))
    // The other read may have returned newer heads by now, so it reads these heads again, and what it
    // returns next is the newest.
    for (const id of ids) if (followed.has(id)) reader.follow(id)
  }
  reader.follow(systemLedgerId)
  const timer = setInterval(tick, intervalMs).unref()
  tick()

  return {
    /**
     * Keeps the follower up to date with the ledger: learns of each change within `intervalMs`, and
     * repeats at that interval what has failed or was not enough.
     */
    follow(ledgerId: string, follower: Follower) {
      const group = followed.get(ledgerId) ?? new Set()
      const following: Following = { follower, isUpdating: false }
      followed.set(ledgerId, group.add(following))
      // Asks for the head even of a ledger that is followed already: the new follower needs it.
      reader.follow(ledgerId)
      return {
        /** Updates it now, whatever its head is, unless an update is running. */
        update: () => update(following),
        stop() {
          group.delete(following)
          if (group.size > 0 || followed.get(ledgerId) !== group) return
          followed.delete(ledgerId)
          if (ledgerId !== systemLedgerId) reader.unfollow(ledgerId)
        },
      }
    },
    /** Reads the head of a ledger that this process has changed, without waiting for the interval. */
    checkNow(ledgerId: string): void {
      if (!followed.has(ledgerId)) return
      if (requested.size === 0) setImmediate(() => void checkRequested())
      requested.add(ledgerId)
    },
    /** Calls the listener every `intervalMs` with the state of the latest read. Must not throw. */
    onRead: (listener: (read: WatchRead) => void) => void listeners.push(listener),
    /** Milliseconds since the last completed read began, or since the start. */
    ageMs: () => clock.monotonic() - readAt,
    close() {
      followed.clear()
      clearInterval(timer)
    },
  }
}
