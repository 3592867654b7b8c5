import { createPlaces, type Refusal } from '../../async/places.ts'
import { createSingleFlight } from '../../async/single-flight.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { LedgerEvent } from '../../kernel/ledger/chain.ts'
import {
  formatPosition,
  type LedgerPosition,
  readEventsAfter,
} from '../../kernel/ledger/position.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { Permission } from './operations.ts'
import { createEventStream, type EventStream, eventsPerPage } from './stream.ts'

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
