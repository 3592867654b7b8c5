import { createSingleFlight } from '../../async/single-flight.ts'
import type { Clock, Store } from '../context.ts'
import type { Observation, RevisionWatch } from '../publishing/revision-watch.ts'
import { systemLedgerId } from './chain.ts'
import { createEventStream, type EventSink, type EventStream } from './stream.ts'

/** Events that one read of a backlog fetches, and that a slow reader has waiting at most. */
const pageSize = 100

export interface EventFeed {
  /**
   * Streams the ledger's events after a revision, in order and without a gap, to the sink.
   * Undefined where too many streams are open, and after `close`.
   */
  open(ledgerId: string, after: number, sink: EventSink): EventStream | undefined
  /** How many streams are open. */
  count(): number
  /** Ends all streams. */
  close(): void
}

/**
 * Ledger events as they happen, for any number of readers by one look at the store. Whether the
 * readers may go on is asked whenever the system's ledger says that API keys have changed.
 */
export function createEventFeed(
  store: Store,
  watch: RevisionWatch,
  clock: Clock,
  maxStreams: number,
): EventFeed {
  const streams = new Set<EventStream>()
  let closed = false
  let systemRevision: Observation = 'unknown'
  let unwatchSystem: (() => void) | undefined

  const reads = createSingleFlight<Awaited<ReturnType<Store['events']>>>()
  /** Readers who have seen the same share one read. */
  const readAfter = (ledgerId: string, after: number) =>
    reads.run(`${ledgerId} ${after}`, () => store.events(ledgerId, { after, limit: pageSize }))

  function lookAtApiKeys(observation: Observation): void {
    if (observation === 'unknown' || observation === systemRevision) return
    systemRevision = observation
    for (const stream of streams) stream.accessChanged()
  }
  function forget(stream: EventStream): void {
    streams.delete(stream)
    if (streams.size > 0) return
    unwatchSystem?.()
    unwatchSystem = undefined
  }

  return {
    open(ledgerId, after, sink) {
      if (closed || streams.size >= maxStreams) return undefined
      const stream = createEventStream({
        clock,
        sink,
        after,
        endsWithProject: ledgerId !== systemLedgerId,
        isOver: async () => (await store.findProject({ id: ledgerId })) === undefined,
        read: async (last) => {
          const events = await readAfter(ledgerId, last)
          return { events, more: events.length === pageSize }
        },
        watch: (watcher) => watch.watch(ledgerId, watcher),
        closed: () => forget(stream),
      })
      streams.add(stream)
      unwatchSystem ??= watch.watch(systemLedgerId, lookAtApiKeys)
      stream.start()
      return stream
    },
    count: () => streams.size,
    close() {
      closed = true
      for (const stream of streams) stream.close()
    },
  }
}
