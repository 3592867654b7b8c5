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
import { createEventStream, type EventSink, type EventStream, eventsPerPage } from './stream.ts'

/**
 * Event streams and exports that one process has open. Each is a connection and a read of its ledger
 * at every change. One API key, or the readers of one project, may have a quarter of them.
 */
export const eventStreamPlaces = { capacity: 1_000, share: 25 }

interface StreamRequest {
  ledgerId: string
  after: LedgerPosition
  /** The credential of the reader. */
  callerId: string
}

/** Streams ledger events to readers, which share their reads of the store. */
export const eventFeedOf = oneFor(({ store, watch, clock, config, onClose }: Kernel) => {
  const places = createPlaces(config.eventStreams ?? eventStreamPlaces)
  const streams = new Set<EventStream>()
  const reads = createSingleFlight<LedgerEvent[] | 'history_changed'>()
  let isClosed = false

  /** Takes the place of a stream for an export, or is refused like a stream. */
  function reserve({ ledgerId, callerId }: Pick<StreamRequest, 'ledgerId' | 'callerId'>) {
    return isClosed ? 'full' : places.take([`caller ${callerId}`, `ledger ${ledgerId}`])
  }

  watch.onRead(() => {
    for (const stream of streams) stream.check()
  })
  onClose(() => {
    isClosed = true
    for (const stream of streams) stream.close()
  })
  return {
    reserve,
    /**
     * Streams the events of a ledger after a position to the sink, in order and without a gap. Refused
     * if too many streams are open, in all or of this API key or ledger, and after the close of the kernel.
     */
    open({ ledgerId, after, callerId }: StreamRequest, sink: EventSink): EventStream | Refusal {
      const release = reserve({ ledgerId, callerId })
      if (typeof release === 'string') return release
      const stream = createEventStream({
        clock,
        watch,
        ledgerId,
        sink,
        after,
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
