import { createSingleFlight } from '../../async/single-flight.ts'
import type { Clock, Store } from '../context.ts'
import type { Observation, RevisionWatch } from '../publishing/revision-watch.ts'
import { type LedgerEvent, systemLedgerId } from './chain.ts'
import { formatPosition, type LedgerPosition, readEventsAfter } from './position.ts'
import { createEventStream, type EventSink, type EventStream, eventsPerPage } from './stream.ts'

export interface EventFeed {
  /**
   * Streams the events of a ledger after a position to the sink, in order and without a gap.
   * Undefined if too many streams are open, and after `close`.
   */
  open(ledgerId: string, after: LedgerPosition, sink: EventSink): EventStream | undefined
  count(): number
  /** Ends all streams and accepts no more. */
  close(): void
}

/**
 * Streams ledger events to readers, which share their reads of the store. Checks their permissions
 * again whenever the system ledger, which records changes to API keys, has a new event. One
 * closure, because the streams share one watch of that ledger, which ends with the last of them.
 */
export function createEventFeed(
  store: Store,
  watch: RevisionWatch,
  clock: Clock,
  maxStreams: number,
): EventFeed {
  const streams = new Set<EventStream>()
  const reads = createSingleFlight<LedgerEvent[] | 'history_changed'>()
  let isClosed = false
  let systemRevision: Observation = 'unknown'
  let unwatchSystem: (() => void) | undefined

  function observeSystem(observation: Observation): void {
    if (observation === 'unknown' || observation === systemRevision) return
    systemRevision = observation
    for (const stream of streams) stream.recheckAccess()
  }
  function remove(stream: EventStream): void {
    streams.delete(stream)
    if (streams.size > 0) return
    unwatchSystem?.()
    unwatchSystem = undefined
  }

  return {
    open(ledgerId, after, sink) {
      if (isClosed || streams.size >= maxStreams) return undefined
      const stream = createEventStream({
        clock,
        sink,
        after,
        endsWithProject: ledgerId !== systemLedgerId,
        isProjectDeleted: async () => (await store.findProject({ id: ledgerId })) === undefined,
        read: (last) =>
          reads.run(`${ledgerId} ${formatPosition(last)}`, () =>
            readEventsAfter(store, ledgerId, last, eventsPerPage),
          ),
        watch: (watcher) => watch.watch(ledgerId, watcher),
        onEnd: () => remove(stream),
      })
      streams.add(stream)
      unwatchSystem ??= watch.watch(systemLedgerId, observeSystem)
      stream.start()
      return stream
    },
    count: () => streams.size,
    close() {
      isClosed = true
      for (const stream of streams) stream.close()
    },
  }
}
