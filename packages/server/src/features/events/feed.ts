import { Readable } from 'node:stream'
import { createPlaces, type Refusal } from '../../async/places.ts'
import { createSingleFlight } from '../../async/single-flight.ts'
import { isStorageUnavailable } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { type LedgerEvent, systemLedgerId } from '../../kernel/ledger/chain.ts'
import {
  formatPosition,
  isAt,
  type LedgerPosition,
  ledgerStart,
  positionOf,
  readEventsAfter,
} from '../../kernel/ledger/position.ts'
import type { RevisionWatch } from '../../kernel/ledger/revision-watch.ts'
import type { LedgerHead } from '../../kernel/records.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Permission, toEvent } from './operations.ts'

/**
 * Event streams that one process has open. Each is a connection and a read of its ledger at every
 * change. One API key, or the readers of one project, may have a quarter of them.
 */
export const eventStreamPlaces = { capacity: 1_000, share: 25 }

interface StreamRequest {
  ledgerId: string
  after: LedgerPosition
  /** The credential of the reader. */
  callerId: string
  /** Checks whether the caller may still read. */
  permission(): Promise<Permission>
}

/** Streams ledger events to readers, which share their reads of the store. */
export const eventFeedOf = oneFor(({ store, watch, clock, config, onClose }: Kernel) => {
  const places = createPlaces(config.eventStreams ?? eventStreamPlaces)
  const streams = new Set<EventStream>()
  const reads = createSingleFlight<LedgerEvent[] | 'history_changed'>()
  let isClosed = false

  watch.onRead(() => {
    for (const stream of streams) stream.check()
  })
  onClose(() => {
    isClosed = true
    for (const stream of streams) stream.close()
  })
  return {
    /**
     * Streams the events of a ledger after a position, in order and without a gap. Refused if too many
     * streams are open, in all or of this API key or ledger, and after the close of the kernel.
     */
    open({ callerId, ...wanted }: StreamRequest): EventStream | Refusal {
      const { ledgerId } = wanted
      if (isClosed) return 'full'
      const release = places.take([`caller ${callerId}`, `ledger ${ledgerId}`])
      if (typeof release === 'string') return release
      const stream = createEventStream({
        ...{ clock, watch },
        ...wanted,
        isProjectDeleted: async () => (await store.identifyProject({ id: ledgerId })) === undefined,
        read: (last) =>
          reads.run(`${ledgerId} ${formatPosition(last)}`, () =>
            readEventsAfter(store.reader, ledgerId, last, eventsPerPage),
          ),
        onEnd() {
          release()
          streams.delete(stream)
        },
      })
      streams.add(stream)
      return stream
    },
    count: places.count,
  }
})

const heartbeatMs = 15_000

/** How long a reader may take to read a page. */
const maxBlockedMs = 10_000

/** How long a client should wait before it reconnects. */
const retryMs = 2_000

/** Events per read, and the most that are buffered for a slow reader, besides these bytes. */
const eventsPerPage = 100
const bufferSize = 64 * 1024

type EventStream = ReturnType<typeof createEventStream>

interface StreamSource {
  clock: Clock
  watch: RevisionWatch
  ledgerId: string
  after: LedgerPosition
  /** Checks whether the API key that opened the stream still permits it. */
  permission(): Promise<Permission>
  isProjectDeleted(): Promise<boolean>
  read(after: LedgerPosition): Promise<LedgerEvent[] | 'history_changed'>
  onEnd(): void
}

interface StreamState {
  isOpen: boolean
  /**
   * `complete`: after the last event and at shutdown. `cut`: the reader is too slow or no longer permitted, or
   * the stream failed by the error.
   */
  end(how: 'complete' | 'cut', error?: unknown): void
  /** Ends the stream, but not while the database is unavailable: the watch repeats the update. */
  fail(error: unknown): void
}

/**
 * Streams the existing events of a ledger to one reader as server-sent events, and then new ones as they come
 * (HTML Living Standard, section 9.2: `id` is the position, `event` the type, `data` the event). A page is sent
 * once the reader has read the previous one; a reader that takes longer than 10 seconds is disconnected and can
 * resume after its last event.
 */
function createEventStream(source: StreamSource) {
  const { watch, ledgerId } = source
  const body = new Readable({
    highWaterMark: bufferSize,
    read() {
      if (delivery.unblock()) following.update()
    },
  })
  body.push(`retry: ${retryMs}\n\n`)
  const state: StreamState = {
    isOpen: true,
    end(how, error) {
      if (!state.isOpen) return
      state.isOpen = false
      for (const { stop } of [following, rights]) stop()
      source.onEnd()
      if (how === 'complete') body.push(null)
      else body.destroy(error instanceof Error ? error : undefined)
    },
    fail(error) {
      if (!isStorageUnavailable(error)) state.end('cut', error)
    },
  }
  const access = createAccessCheck(source, state)
  const delivery = createDelivery(source, body, state)
  // The system ledger records changes to API keys.
  const rights = watch.follow(systemLedgerId, access)
  const following = watch.follow(ledgerId, delivery)
  following.update()

  return {
    body,
    /** Call it at intervals: ends the stream if it must end. */
    check() {
      if (delivery.isTooSlow() || access.isExpired()) state.end('cut')
      else delivery.heartbeatIfDue()
    },
    close: () => state.end(delivery.isBlocked() ? 'cut' : 'complete'),
  }
}

/** Checks the reader's permission whenever the system ledger has a new event. */
function createAccessCheck({ permission, clock }: StreamSource, state: StreamState) {
  let checkedAt: string | undefined
  let expiresAt = Number.POSITIVE_INFINITY
  return {
    isExpired: () => clock.now() >= expiresAt,
    isCurrent: (head: LedgerHead | undefined) => head === undefined || head.hash === checkedAt,
    async update(head: LedgerHead | undefined): Promise<void> {
      try {
        const found = await permission()
        if (found === 'refused') return state.end('cut')
        expiresAt = found.until === undefined ? Infinity : Date.parse(found.until)
        checkedAt = head?.hash
      } catch (error) {
        state.fail(error)
      }
    },
  }
}

/**
 * Reads events and sends them as fast as the reader takes them. One closure, because all of it
 * depends on what was sent last and on whether the buffer is full.
 */
function createDelivery(source: StreamSource, body: Readable, state: StreamState) {
  const { clock, ledgerId } = source
  let last = source.after
  let sentAt = clock.monotonic()
  let blockedSince: number | undefined
  /** From then on, the deletion of the project arrives as an event. */
  let projectExisted = ledgerId === systemLedgerId

  function write(text: string): void {
    sentAt = clock.monotonic()
    // Set first: the body can be read, which unblocks it, before `push` returns.
    blockedSince = sentAt
    if (body.push(text)) blockedSince = undefined
  }
  function send(events: LedgerEvent[]): void {
    last = events.map(positionOf).at(-1) ?? last
    write(events.map(frame).join(''))
    if (ledgerId !== systemLedgerId && events.some(isDeletion)) state.end('complete')
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
          if (state.isOpen) write(resetFrame)
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
      body.push(':\n\n')
    },
    /** Whether it was blocked. */
    unblock(): boolean {
      const wasBlocked = blockedSince !== undefined
      blockedSince = undefined
      return wasBlocked
    },
  }
}

const isDeletion = ({ type }: LedgerEvent) => type === 'project.deleted'

/** The empty `id` makes a client that reconnects now start again too. */
const resetFrame = `id:\nevent: reset\ndata: ${JSON.stringify({ code: 'history_changed' })}\n\n`

function frame(event: LedgerEvent): string {
  const data = JSON.stringify(toEvent(event))
  return `id: ${formatPosition(positionOf(event))}\nevent: ${event.type}\ndata: ${data}\n\n`
}
