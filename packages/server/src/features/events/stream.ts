import { isStorageUnavailable } from '../../kernel/faults.ts'
import { type LedgerEvent, systemLedgerId } from '../../kernel/ledger/chain.ts'
import { isAt, type LedgerPosition, ledgerStart, positionOf } from '../../kernel/ledger/position.ts'
import type { RevisionWatch } from '../../kernel/ledger/revision-watch.ts'
import type { LedgerHead } from '../../kernel/records.ts'
import type { Clock } from '../../runtime/clock.ts'

const heartbeatMs = 15_000

/** How long a reader may take to read a page. */
const maxBlockedMs = 10_000

/** Events per read, and the most that are buffered for a slow reader. */
export const eventsPerPage = 100

/** Whether a reader may continue, and until when (ISO 8601) unless its API key changes. */
export type Permission = { until?: string } | 'refused'

/** Where a stream's events go. */
export interface EventSink {
  /** Returns false once the sink is full; the stream then waits for `resume`. */
  send(events: readonly LedgerEvent[]): boolean
  /**
   * Tells the reader that what it has belongs to a discarded history; the ledger follows from its
   * first event. Returns as `send` does.
   */
  reset(): boolean
  heartbeat(): void
  /** Checks whether the API key that opened the stream still permits it. */
  permission(): Promise<Permission>
  /**
   * Called once: with `complete` after the last event and at shutdown, with `cut` if the reader is
   * too slow or no longer permitted, or if the stream failed (`error`).
   */
  end(how: 'complete' | 'cut', error?: unknown): void
}

const isDeletion = ({ type }: LedgerEvent) => type === 'project.deleted'

export type EventStream = ReturnType<typeof createEventStream>

interface StreamSource {
  clock: Clock
  watch: RevisionWatch
  ledgerId: string
  sink: EventSink
  after: LedgerPosition
  isProjectDeleted(): Promise<boolean>
  read(after: LedgerPosition): Promise<LedgerEvent[] | 'history_changed'>
  onEnd(): void
}

interface StreamState {
  isOpen: boolean
  end(how: 'complete' | 'cut', error?: unknown): void
  /** Ends the stream, but not while the database is unavailable: the watch repeats the update. */
  fail(error: unknown): void
}

/**
 * Streams the existing events of a ledger to one reader, and then new ones as they come. A page is
 * sent once the reader has read the previous one; a reader that takes longer than 10 seconds is
 * disconnected and can resume after its last event.
 */
export function createEventStream(source: StreamSource) {
  const { clock, watch, ledgerId, sink } = source
  const state: StreamState = {
    isOpen: true,
    end(how, error) {
      if (!state.isOpen) return
      state.isOpen = false
      for (const { stop } of [following, rights]) stop()
      source.onEnd()
      sink.end(how, error)
    },
    fail(error) {
      if (!isStorageUnavailable(error)) state.end('cut', error)
    },
  }
  const access = createAccessCheck(sink, clock, state)
  const delivery = createDelivery(source, state)
  // The system ledger records changes to API keys.
  const rights = watch.follow(systemLedgerId, access)
  const following = watch.follow(ledgerId, delivery)
  following.update()

  return {
    /** Call it at intervals: ends the stream if it must end. */
    check() {
      if (delivery.isTooSlow() || access.isExpired()) state.end('cut')
      else delivery.heartbeatIfDue()
    },
    /** Continues after `send` returned false: the sink has room again. */
    resume() {
      if (delivery.unblock()) following.update()
    },
    close: () => state.end(delivery.isBlocked() ? 'cut' : 'complete'),
  }
}

/** Checks the reader's permission whenever the system ledger has a new event. */
function createAccessCheck(sink: EventSink, clock: Clock, state: StreamState) {
  let checkedAt: string | undefined
  let expiresAt = Number.POSITIVE_INFINITY
  return {
    isExpired: () => clock.now() >= expiresAt,
    isCurrent: (head: LedgerHead | undefined) => head === undefined || head.hash === checkedAt,
    async update(head: LedgerHead | undefined): Promise<void> {
      try {
        const permission = await sink.permission()
        if (permission === 'refused') return state.end('cut')
        expiresAt = permission.until === undefined ? Infinity : Date.parse(permission.until)
        checkedAt = head?.hash
      } catch (error) {
        state.fail(error)
      }
    },
  }
}

/**
 * Reads events and sends them as fast as the sink takes them. One closure, because all of it
 * depends on what was sent last and on whether the sink is full.
 */
function createDelivery(source: StreamSource, state: StreamState) {
  const { clock, ledgerId, sink } = source
  let last = source.after
  let sentAt = clock.monotonic()
  let blockedSince: number | undefined
  /** From then on, the deletion of the project arrives as an event. */
  let projectExisted = ledgerId === systemLedgerId

  function write(send: () => boolean): void {
    sentAt = clock.monotonic()
    // Set first: the sink can call `resume` before `send` returns.
    blockedSince = sentAt
    if (send()) blockedSince = undefined
  }
  function send(events: LedgerEvent[]): void {
    last = events.map(positionOf).at(-1) ?? last
    write(() => sink.send(events))
    if (ledgerId !== systemLedgerId && events.some(isDeletion)) {
      state.end('complete')
    }
  }
  async function update(): Promise<void> {
    try {
      let hasMore = true
      while (hasMore && state.isOpen && blockedSince === undefined) {
        // Checked before the read, which then returns the last event of a deleted project.
        const isDeleted = !projectExisted && (await source.isProjectDeleted())
        const events = await source.read(last)
        if (events === 'history_changed') {
          last = ledgerStart
          if (state.isOpen) write(() => sink.reset())
          continue
        }
        if (state.isOpen && events.length > 0) send(events)
        else if (isDeleted) state.end('complete')
        projectExisted ||= !isDeleted
        hasMore = events.length === eventsPerPage
      }
    } catch (error) {
      state.fail(error)
    }
  }
  return {
    isCurrent: (head: LedgerHead | undefined) =>
      head === undefined || (isAt(last, head) && projectExisted),
    update,
    isBlocked: () => blockedSince !== undefined,
    isTooSlow: () => blockedSince !== undefined && clock.monotonic() - blockedSince >= maxBlockedMs,
    heartbeatIfDue(): void {
      const now = clock.monotonic()
      if (blockedSince !== undefined || now - sentAt < heartbeatMs) return
      sentAt = now
      sink.heartbeat()
    },
    /** Whether it was blocked. */
    unblock(): boolean {
      const wasBlocked = blockedSince !== undefined
      blockedSince = undefined
      return wasBlocked
    },
  }
}
