import type { Clock } from '../context.ts'
import type { LedgerHead } from '../records.ts'
import { isStorageUnavailable } from '../storage-faults.ts'
import type { LedgerEvent } from './chain.ts'
import { isAt, type LedgerPosition, ledgerStart, positionOf } from './position.ts'

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

export type EventStream = ReturnType<typeof createEventStream>

interface StreamSource {
  clock: Clock
  sink: EventSink
  after: LedgerPosition
  /** Whether the ledger ends with `project.deleted`. */
  endsWithProject: boolean
  isProjectDeleted(): Promise<boolean>
  read(after: LedgerPosition): Promise<LedgerEvent[] | 'history_changed'>
  watch(watcher: (head: LedgerHead) => void): () => void
  onEnd(): void
}

interface StreamState {
  isOpen: boolean
  end(how: 'complete' | 'cut', error?: unknown): void
  /** Ends the stream, but not while the database is unavailable: the next check retries. */
  fail(error: unknown): void
}

/**
 * Streams a ledger to one reader. A page is sent once the reader has read the previous one; a
 * reader that takes longer than 10 seconds is disconnected and can resume after its last event.
 */
export function createEventStream(source: StreamSource) {
  const { clock, sink } = source
  let unwatch: (() => void) | undefined
  const state: StreamState = {
    isOpen: true,
    end(how, error) {
      if (!state.isOpen) return
      state.isOpen = false
      unwatch?.()
      source.onEnd()
      sink.end(how, error)
    },
    fail(error) {
      if (!isStorageUnavailable(error)) state.end('cut', error)
    },
  }
  const access = createAccessCheck(sink, clock, state)
  const delivery = createDelivery(source, state)

  return {
    /** Call it at intervals: ends the stream if it must end, and repeats what has failed. */
    check() {
      if (delivery.isTooSlow() || access.isExpired()) state.end('cut')
      if (!state.isOpen) return
      access.checkIfNeeded()
      delivery.heartbeatIfDue()
      delivery.deliverIfNew()
    },
    /** Sends the existing events, and then new ones as they come. */
    start() {
      unwatch = source.watch(delivery.onHead)
      access.recheck()
      void delivery.deliver()
    },
    /** Continues after `send` returned false: the sink has room again. */
    resume: delivery.resume,
    /** Checks the permission again, because an API key has changed. */
    recheckAccess: access.recheck,
    close: () => state.end(delivery.isBlocked() ? 'cut' : 'complete'),
  }
}

/** Checks the reader's permission, one check at a time; a failed one is repeated when needed. */
function createAccessCheck(sink: EventSink, clock: Clock, state: StreamState) {
  let isChecked = false
  let isChecking = false
  let expiresAt = Number.POSITIVE_INFINITY

  async function check(): Promise<void> {
    if (isChecking) return
    isChecking = true
    isChecked = true
    try {
      const permission = await sink.permission()
      if (permission === 'refused') return state.end('cut')
      expiresAt = permission.until === undefined ? Infinity : Date.parse(permission.until)
    } catch (error) {
      isChecked = false
      state.fail(error)
    } finally {
      isChecking = false
    }
  }
  return {
    isExpired: () => clock.now() >= expiresAt,
    checkIfNeeded(): void {
      if (!isChecked) void check()
    },
    recheck(): void {
      isChecked = false
      void check()
    },
  }
}

/**
 * Reads events and sends them as fast as the sink takes them. One closure, because all of it
 * depends on what was sent last and on whether the sink is full.
 */
function createDelivery(source: StreamSource, state: StreamState) {
  const { clock, sink } = source
  let last = source.after
  /** The head of the ledger, once it is known. */
  let head: LedgerHead | undefined
  let isReading = false
  let sentAt = clock.monotonic()
  let blockedSince: number | undefined
  /** From then on, the deletion of the project arrives as an event. */
  let projectExisted = !source.endsWithProject

  function write(send: () => boolean): void {
    sentAt = clock.monotonic()
    // Set first: the sink can call `resume` before `send` returns.
    blockedSince = sentAt
    if (send()) blockedSince = undefined
  }
  function send(events: LedgerEvent[]): void {
    last = events.map(positionOf).at(-1) ?? last
    write(() => sink.send(events))
    if (source.endsWithProject && events.some(({ type }) => type === 'project.deleted')) {
      state.end('complete')
    }
  }
  async function deliver(): Promise<void> {
    if (isReading) return
    isReading = true
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
    } finally {
      isReading = false
    }
  }
  function deliverIfNew(): void {
    if (head === undefined) return
    if (!isAt(last, head) || !projectExisted) void deliver()
  }
  return {
    deliver,
    deliverIfNew,
    onHead(current: LedgerHead): void {
      head = current
      deliverIfNew()
    },
    isBlocked: () => blockedSince !== undefined,
    isTooSlow: () => blockedSince !== undefined && clock.monotonic() - blockedSince >= maxBlockedMs,
    heartbeatIfDue(): void {
      const now = clock.monotonic()
      if (blockedSince !== undefined || now - sentAt < heartbeatMs) return
      sentAt = now
      sink.heartbeat()
    },
    resume(): void {
      if (blockedSince === undefined) return
      blockedSince = undefined
      void deliver()
    },
  }
}
