import { createPlaces } from '../../async/places.ts'
import type { Context } from '../context.ts'
import { createKeyStatistics } from '../keys/statistics.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import { withCommitNotices } from '../ledger/commit-notices.ts'
import { type Contradiction, createContradictions } from '../ledger/contradictions.ts'
import { createEventFeed } from '../ledger/feed.ts'
import { createRevisionWatch } from '../ledger/revision-watch.ts'
import { createLog } from '../log/log.ts'
import { createWitnesses } from '../log/witnesses.ts'
import { createRotationSchedule } from '../rotations/due-steps.ts'
import { createLiveKeySets } from './held-requests.ts'
import { createPublishedNames } from './names.ts'
import { createPublisher } from './publisher.ts'
import { createReadPublished } from './read-published.ts'

/** Milliseconds between observations, so that a waiter learns of a change well within a second. */
const watchIntervalMs = 250

/** Called with what the services come across. */
interface Observers {
  onContradiction(contradiction: Contradiction): void
  onRotationError(error: unknown): void
}

export type LiveServices = ReturnType<typeof createLiveServices>

/** The services that publish documents and events and wait for changes. */
export function createLiveServices(
  coreContext: Context,
  { onContradiction = () => {}, onRotationError = () => {} }: Partial<Observers> = {},
) {
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
    /** Its store invalidates the copies of this process before a commit resolves. */
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
    /** Ends all waits and streams; later requests do not wait. */
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
