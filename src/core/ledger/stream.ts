import type { Clock } from '../context.ts'
import type { Observation } from '../publishing/revision-watch.ts'
import { isStorageUnavailable } from '../storage-faults.ts'
import type { LedgerEvent } from './chain.ts'

/** Milliseconds between signs of life. */
const heartbeatInterval = 15_000

/** Milliseconds that a reader may take over what it was sent last. */
const slowLimit = 10_000

/** Whether a reader may go on, and until when (ISO 8601) if nothing changes. */
export type Permission = { until?: string } | 'refused'

/** Where a stream's events go. */
export interface EventSink {
  /** Answers whether there is room for more; if not, the stream's `drained` is called when so. */
  send(events: readonly LedgerEvent[]): boolean
  heartbeat(): void
  /** Whether the API key that opened the stream would still be let in. */
  permission(): Promise<Permission>
  /**
   * Called once, however the stream ends: `complete` after its last event and at shutdown, `cut`
   * where the reader is too slow, may not go on, or something of ours failed (`error`).
   */
  end(how: 'complete' | 'cut', error?: unknown): void
}

export interface EventStream {
  /** Sends what there is already; from then on whatever comes. */
  start(): void
  /** The reader has taken what it was sent. */
  drained(): void
  /** Some API key has changed, perhaps the reader's. */
  accessChanged(): void
  close(): void
}

interface Source {
  clock: Clock
  sink: EventSink
  /** The revision that the reader has seen last. */
  after: number
  /** Whether nothing can come after `project.deleted`. */
  endsWithProject: boolean
  /** Whether the project is deleted already; asked where the stream ends with it. */
  isOver(): Promise<boolean>
  read(after: number): Promise<{ events: LedgerEvent[]; more: boolean }>
  watch(watcher: (observation: Observation) => void): () => void
  closed(): void
}

/**
 * One reader of a ledger. It is never sent more than a page before it has taken the one before; one
 * that takes none for 10 seconds is cut off, and can resume where it was.
 */
export function createEventStream(source: Source): EventStream {
  const { clock, sink } = source
  let open = true
  let last = source.after
  let reading = false
  let lastSign = clock.monotonic()
  let blockedSince: number | undefined
  /** Whether the end of the ledger is still to come, and then as an event. */
  let settled = !source.endsWithProject
  let checked = false
  let checking = false
  let expires = Number.POSITIVE_INFINITY
  let unwatch: (() => void) | undefined

  function close(how: 'complete' | 'cut', error?: unknown): void {
    if (!open) return
    open = false
    unwatch?.()
    source.closed()
    sink.end(how, error)
  }
  /** The store being away ends nothing: the next look tries again. */
  function failed(error: unknown): void {
    if (!isStorageUnavailable(error)) close('cut', error)
  }
  function send(events: LedgerEvent[]): void {
    lastSign = clock.monotonic()
    last = events.at(-1)?.revision ?? last
    // Set before, since the sink can have drained before it answers.
    blockedSince = lastSign
    if (sink.send(events)) blockedSince = undefined
    if (source.endsWithProject && events.some(({ type }) => type === 'project.deleted')) {
      close('complete')
    }
  }
  async function catchUp(): Promise<void> {
    if (reading) return
    reading = true
    try {
      let more = true
      while (more && open && blockedSince === undefined) {
        // Asked before, so that what is read then is all that there will ever be.
        const over = !settled && (await source.isOver())
        const page = await source.read(last)
        if (open && page.events.length > 0) send(page.events)
        else if (over) close('complete')
        settled ||= !over
        more = page.more
      }
    } catch (error) {
      failed(error)
    } finally {
      reading = false
    }
  }
  async function check(): Promise<void> {
    if (checking) return
    checking = true
    checked = true
    try {
      const permission = await sink.permission()
      if (permission === 'refused') return close('cut')
      expires = permission.until === undefined ? Infinity : Date.parse(permission.until)
    } catch (error) {
      checked = false
      failed(error)
    } finally {
      checking = false
    }
  }
  function look(observation: Observation): void {
    const now = clock.monotonic()
    const tooSlow = blockedSince !== undefined && now - blockedSince >= slowLimit
    if (tooSlow || clock.now() >= expires) close('cut')
    if (!open) return
    if (!checked) void check()
    if (blockedSince === undefined && now - lastSign >= heartbeatInterval) {
      lastSign = now
      sink.heartbeat()
    }
    if (observation !== 'unknown' && (observation > last || !settled)) void catchUp()
  }

  return {
    start() {
      unwatch = source.watch(look)
      void check()
      void catchUp()
    },
    drained() {
      if (blockedSince === undefined) return
      blockedSince = undefined
      void catchUp()
    },
    accessChanged() {
      checked = false
      void check()
    },
    close: () => close(blockedSince === undefined ? 'complete' : 'cut'),
  }
}
