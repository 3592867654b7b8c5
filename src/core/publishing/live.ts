import { createPlaces } from '../../async/places.ts'
import type { Context } from '../context.ts'
import { createKeyStatistics, type KeyStatistics } from '../keys/statistics.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import { withCommitNotices } from '../ledger/commit-notices.ts'
import {
  type Contradiction,
  type Contradictions,
  createContradictions,
} from '../ledger/contradictions.ts'
import { createEventFeed, type EventFeed } from '../ledger/feed.ts'
import { createRevisionWatch, type RevisionWatch } from '../ledger/revision-watch.ts'
import { createLog, type Log } from '../log/log.ts'
import { createWitnesses } from '../log/witnesses.ts'
import { createRotationSchedule } from '../rotations/due-steps.ts'
import { createLiveKeySets, type LiveKeySets } from './held-requests.ts'
import { createPublishedNames, type PublishedNames } from './names.ts'
import { createPublisher, type Publisher } from './publisher.ts'
import { createReadPublished, type ReadPublished } from './read-published.ts'

/** Milliseconds between observations, so that a waiter learns of a change well within a second. */
const watchIntervalMs = 250

/** Called with what the services come across. */
interface Observers {
  onContradiction(contradiction: Contradiction): void
  onRotationError(error: unknown): void
}

/** The services that publish documents and events and wait for changes. */
export interface LiveServices {
  /** Its store invalidates the copies of this process before a commit resolves. */
  context: Context
  publisher: Publisher
  contradictions: Contradictions
  names: PublishedNames
  readPublished: ReadPublished
  keySets: LiveKeySets
  watch: RevisionWatch
  events: EventFeed
  log: Log
  statistics: KeyStatistics
  /** Ends all waits and streams; later requests do not wait. */
  close(): void
}

export function createLiveServices(
  coreContext: Context,
  { onContradiction = () => {}, onRotationError = () => {} }: Partial<Observers> = {},
): LiveServices {
  const contradictions = createContradictions(coreContext, onContradiction)
  const context = { ...coreContext, store: contradictions.store }
  const { store, clock, config } = context
  const publisher = createPublisher(context)
  const names = createPublishedNames(context)
  const readPublished = createReadPublished(names, publisher)
  const watch = createRevisionWatch(store, clock, watchIntervalMs)
  const keySets = createLiveKeySets(
    { publisher, readPublished, watch, clock },
    createPlaces({ capacity: config.maxHeldRequests, share: config.heldRequestShare }),
  )
  const streams = { capacity: config.maxEventStreams, share: config.eventStreamShare }
  const events = createEventFeed(store, watch, clock, createPlaces(streams))
  const onCommit = (ledgerId: string) => {
    publisher.invalidate(ledgerId)
    if (ledgerId === systemLedgerId) names.invalidate()
    watch.checkNow(ledgerId)
  }
  const noticed = { ...context, store: withCommitNotices(store, onCommit) }
  const witnesses = createWitnesses(config.logWitnesses, context.fetch)
  const log = createLog({ ...noticed, witnesses }, context.logSigner)
  const rotations = createRotationSchedule(noticed, onRotationError)
  return {
    context: noticed,
    publisher,
    contradictions,
    names,
    readPublished,
    keySets,
    watch,
    events,
    log,
    statistics: createKeyStatistics(context),
    close() {
      rotations.close()
      log.close()
      contradictions.close()
      keySets.close()
      events.close()
      watch.close()
    },
  }
}
