import type { Context } from '../context.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import { announceCommits } from '../ledger/commit-notices.ts'
import { createEventFeed, type EventFeed } from '../ledger/feed.ts'
import { createLiveKeySets, type LiveKeySets } from './held-requests.ts'
import { createPublishedNames, type PublishedNames } from './names.ts'
import { createPublisher, type Publisher, recheckInterval } from './publisher.ts'
import { createRevisionWatch } from './revision-watch.ts'

/** Milliseconds between looks at what is waited for: news reach whoever waits well within a second. */
const watchInterval = 250

/** All that is kept of the registry in memory, and everybody who waits for news of it. */
export interface LiveServices {
  /** What changes must go through, so that the copies of this process hear of them at once. */
  context: Context
  publisher: Publisher
  names: PublishedNames
  keySets: LiveKeySets
  events: EventFeed
  /** Answers or ends whatever waits; what is asked for afterwards is answered at once. */
  close(): void
}

export function createLiveServices(context: Context): LiveServices {
  const { store, clock, config } = context
  const publisher = createPublisher(context)
  const names = createPublishedNames(context, recheckInterval)
  const watch = createRevisionWatch(store, watchInterval)
  const keySets = createLiveKeySets(publisher, watch, clock, config.maxHeldRequests)
  const events = createEventFeed(store, watch, clock, config.maxEventStreams)
  const changed = (ledgerId: string) => {
    publisher.changed(ledgerId)
    if (ledgerId === systemLedgerId) names.changed()
    watch.checkNow(ledgerId)
  }
  return {
    context: { ...context, store: announceCommits(store, changed) },
    publisher,
    names,
    keySets,
    events,
    close() {
      keySets.close()
      events.close()
      watch.close()
    },
  }
}
