import { setImmediate } from 'node:timers/promises'
import type { Places } from '../../async/places.ts'
import type { PubringError } from '../../errors.ts'
import type { Clock, ProjectRef } from '../context.ts'
import { type EntityTags, includesEntityTag } from '../entity-tags.ts'
import type { RevisionWatch } from '../ledger/revision-watch.ts'
import { isStorageUnavailable, storageUnavailable } from '../storage-faults.ts'
import { always, includes } from '../validity.ts'
import type { KeySetName, PublishedProject, Publisher } from './publisher.ts'
import type { ReadPublished } from './read-published.ts'

/**
 * Requests that one process holds. Each takes 20 KiB, so all take 200 MB at most. One client address
 * may have half of them: five agents behind one address can hold a request for 1,000 projects each.
 */
export const heldRequestPlaces = { capacity: 10_000, share: 50 }

/** Requests resolved at once; then other work of the event loop gets its turn. */
const sliceSize = 200

/**
 * Milliseconds since the last completed read after which requests that accept no stale answer are
 * sent elsewhere: early enough that another replica still tells them of a change within a second.
 */
const unconfirmedAfterMs = 500

/** A request for the key set of a project, which it names by id or name. */
export interface KeySetRequest {
  ref: ProjectRef
  keySet: KeySetName
  /** Its `If-None-Match`, parsed on arrival. */
  ifNoneMatch: EntityTags
  /** Reject it with `storage_unavailable` as soon as this process may have missed a change. */
  freshOnly?: boolean
  /** The address of the client, which has a share of the held requests. */
  address: string
}

interface HeldRequest extends KeySetRequest {
  group: Group
  release(): void
  /** Monotonic milliseconds. */
  deadline: number
  resolve(published: PublishedProject | Promise<PublishedProject>): void
}

/** All requests held for one project. */
interface Group {
  projectId: string
  requests: Set<HeldRequest>
  latest: PublishedProject
  /** The hash of the head that the watch has reported; `latest` may be behind it. */
  head: string | undefined
  isRefreshing: boolean
  unwatch(): void
}

interface LiveKeySetServices {
  publisher: Publisher
  readPublished: ReadPublished
  watch: RevisionWatch
  clock: Clock
}

/**
 * Long polling for verifiers: each holds an idle connection, and all share one query of the store.
 * Long because its functions share the groups.
 */
export function createLiveKeySets(
  { publisher, readPublished, watch, clock }: LiveKeySetServices,
  places: Places,
) {
  const groups = new Map<string, Group>()
  /** Groups that may have to be refreshed: most are not. */
  const unsettled = new Set<Group>()
  /** By the second of their deadline. */
  const expiring = new Map<number, Set<HeldRequest>>()
  let isClosed = false

  function remove(request: HeldRequest): boolean {
    const { group, deadline } = request
    if (!group.requests.delete(request)) return false
    request.release()
    const second = secondOf(deadline)
    expiring.get(second)?.delete(request)
    if (expiring.get(second)?.size === 0) expiring.delete(second)
    if (group.requests.size === 0) {
      group.unwatch()
      groups.delete(group.projectId)
    }
    return true
  }
  async function resolveDue(
    requests: ReadonlySet<HeldRequest>,
    isDue: (request: HeldRequest) => boolean,
  ): Promise<void> {
    let resolved = 0
    for (const request of requests) {
      if (!isDue(request) || !remove(request)) continue
      request.resolve(readPublished(request.ref))
      resolved += 1
      if (resolved % sliceSize === 0) await setImmediate()
    }
  }
  async function refresh(group: Group): Promise<void> {
    if (group.isRefreshing) return
    group.isRefreshing = true
    try {
      publisher.invalidate(group.projectId)
      group.latest = await publisher.published(group.projectId)
      const { latest } = group
      await resolveDue(group.requests, ({ ref, keySet, ifNoneMatch }) => {
        if (!includesEntityTag(ifNoneMatch, latest[keySet].etag, 'weak')) return true
        return 'name' in ref && ref.name !== latest.name
      })
    } catch (error) {
      // Keep holding requests while the store is unavailable.
      if (isStorageUnavailable(error)) return
      await resolveDue(group.requests, () => true)
    } finally {
      group.isRefreshing = false
      unsettled.add(group)
    }
  }
  function rejectUnconfirmed(group: Group): void {
    for (const request of group.requests) {
      if (request.freshOnly && remove(request)) request.resolve(Promise.reject(onlyStale()))
    }
  }
  function check(): void {
    const [time, now] = [clock.monotonic(), clock.now()]
    for (const group of unsettled) {
      const { requests, latest, head } = group
      const isCurrent = headOf(latest) === head
      if (requests.size === 0 || (isCurrent && latest.span === always)) unsettled.delete(group)
      // Also if an earlier attempt has failed.
      else if (!isCurrent || !includes(latest.span, now)) void refresh(group)
    }
    if (watch.ageMs() > unconfirmedAfterMs) groups.values().forEach(rejectUnconfirmed)
    for (const [second, requests] of expiring) {
      if (second > secondOf(time)) continue
      void resolveDue(requests, ({ deadline }) => deadline <= time)
    }
  }
  function openGroup(latest: PublishedProject): Group {
    const { projectId } = latest
    const group: Group = {
      projectId,
      requests: new Set(),
      latest,
      head: headOf(latest),
      isRefreshing: false,
      unwatch: watch.watch(projectId, ({ hash }) => {
        group.head = hash
        unsettled.add(group)
        if (hash !== headOf(group.latest)) void refresh(group)
      }),
    }
    groups.set(projectId, group)
    unsettled.add(group)
    return group
  }

  watch.onRead(check)
  return {
    /**
     * Holds a request whose `If-None-Match` names the key set in `latest`, for up to `waitMs`
     * milliseconds. Undefined if too many requests are held, in all or of its address, and after
     * `close`.
     */
    wait(waiting: KeySetRequest, latest: PublishedProject, waitMs: number) {
      const release = isClosed ? 'full' : places.take([waiting.address])
      if (typeof release === 'string') return undefined
      const group = groups.get(latest.projectId) ?? openGroup(latest)
      const { promise, resolve } = Promise.withResolvers<PublishedProject>()
      const deadline = clock.monotonic() + waitMs
      const request = { ...waiting, group, deadline, resolve, release }
      group.requests.add(request)
      const second = secondOf(deadline)
      expiring.set(second, (expiring.get(second) ?? new Set()).add(request))
      // Either this request or the group has outdated documents.
      if (differ(group.latest, latest)) void refresh(group)
      return {
        /**
         * Settles as a plain GET would: once its key set differs from the client's, or its name leads
         * to another project or none; and at the deadline and at shutdown.
         */
        result: promise,
        /** Stops waiting: the client has disconnected. */
        cancel: () => {
          if (remove(request)) resolve(latest)
        },
      }
    },
    count: places.count,
    /** Resolves all held requests and accepts no more. */
    close() {
      isClosed = true
      for (const group of groups.values()) void resolveDue(group.requests, () => true)
    },
  }
}

/** The second of a monotonic time in milliseconds. */
const secondOf = (time: number) => Math.floor(time / 1_000)

/** The hash, because a fail-over that loses changes reuses their revisions. */
const headOf = ({ validity }: PublishedProject) => validity.heads[0]?.hash

/** The full key set has all keys, so it changes with the other. */
function differ(one: PublishedProject, other: PublishedProject): boolean {
  return headOf(one) !== headOf(other) || one.fullJwks.etag !== other.fullJwks.etag
}

/** For a request that accepts no stale answer, so that a load balancer asks another replica. */
export function onlyStale(): PubringError {
  return storageUnavailable(
    'The database is unavailable, and the request accepts no answer from memory (stale-if-error).',
    1,
  )
}
