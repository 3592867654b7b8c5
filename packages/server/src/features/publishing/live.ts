import { createPlaces, type PlacesOptions } from '../../async/places.ts'
import type { Context } from '../../kernel/context.ts'
import { systemLedgerId } from '../../kernel/ledger/chain.ts'
import { withCommitNotices } from '../../kernel/ledger/commit-notices.ts'
import { createRevisionWatch } from '../../kernel/ledger/revision-watch.ts'
import { createEventFeed, eventStreamPlaces } from '../events/feed.ts'
import { createLog } from '../log/log.ts'
import { createWitnesses } from '../log/witnesses.ts'
import { createKeyStatistics } from '../warnings/statistics.ts'
import { createLiveKeySets, heldRequestPlaces } from './held-requests.ts'
import { createPublishedNames, createReadPublished } from './names.ts'
import { createPublisher } from './publisher.ts'

/** Milliseconds between observations, so that a waiter learns of a change well within a second. */
const watchIntervalMs = 250

/** Limits of held requests and event streams; by default those of their modules. */
export interface LiveLimits {
  heldRequests?: PlacesOptions | undefined
  eventStreams?: PlacesOptions | undefined
}

export type LiveServices = ReturnType<typeof createLiveServices>

/** The services that publish documents and events and wait for changes. */
export function createLiveServices(
  context: Context,
  { heldRequests = heldRequestPlaces, eventStreams = eventStreamPlaces }: LiveLimits = {},
) {
  const { store, clock, config } = context
  const publisher = createPublisher(context)
  const names = createPublishedNames(context)
  const readPublished = createReadPublished(names, publisher)
  const watch = createRevisionWatch(store, clock, watchIntervalMs)
  const keySets = createLiveKeySets(
    { publisher, readPublished, watch, clock },
    createPlaces(heldRequests),
  )
  const events = createEventFeed(store, watch, clock, createPlaces(eventStreams))
  const onCommit = (ledgerId: string) => {
    publisher.invalidate(ledgerId)
    if (ledgerId === systemLedgerId) names.invalidate()
    watch.checkNow(ledgerId)
  }
  const noticed = { ...context, store: withCommitNotices(store, onCommit) }
  const witnesses = createWitnesses(config.logWitnesses, context.fetch)
  const log = createLog({ ...noticed, witnesses }, context.logSigner)
  return {
    /** A context whose store invalidates the copies of this process before a commit resolves. */
    context: noticed,
    publisher,
    names,
    readPublished,
    keySets,
    watch,
    events,
    log,
    statistics: createKeyStatistics(context),
    /** Ends all waits and streams; later requests do not wait. */
    close() {
      log.close()
      keySets.close()
      events.close()
      watch.close()
    },
  }
}
