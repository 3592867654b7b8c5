import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../context.ts'
import { type EntityTags, includesEntityTag } from '../entity-tags.ts'
import { isStorageUnavailable } from '../storage-faults.ts'
import { includes } from '../validity.ts'
import type { KeySetName, PublishedProject, Publisher } from './publisher.ts'
import type { Observation, RevisionWatch } from './revision-watch.ts'

/** Requests resolved at once; then other work of the event loop gets its turn. */
const sliceSize = 200

interface HeldRequest {
  keySet: KeySetName
  /** Its `If-None-Match`, parsed on arrival. */
  ifNoneMatch: EntityTags
  /** Monotonic milliseconds. */
  deadline: number
  resolve(published: PublishedProject | Promise<PublishedProject>): void
  reject(error: unknown): void
}

/** All requests held for one project. */
interface Group {
  projectId: string
  requests: Set<HeldRequest>
  latest: PublishedProject
  isRefreshing: boolean
  unwatch(): void
}

export interface Waiter {
  /**
   * Resolves with the project's documents once the key set differs from the client's, and with the
   * current ones at the deadline and at shutdown.
   */
  result: Promise<PublishedProject>
  /** Stops waiting: the client has disconnected. */
  cancel(): void
}

export interface LiveKeySets {
  /**
   * Holds a request whose `If-None-Match` names the key set in `latest`, for up to `waitMs`
   * milliseconds. Undefined if too many requests are held, and after `close`.
   */
  wait(
    latest: PublishedProject,
    keySet: KeySetName,
    ifNoneMatch: EntityTags,
    waitMs: number,
  ): Waiter | undefined
  count(): number
  /** Resolves all held requests and accepts no more. */
  close(): void
}

/**
 * Long polling for verifiers: each holds an idle connection, and all share one query of the store.
 * Long because its functions share the groups and their count.
 */
export function createLiveKeySets(
  publisher: Publisher,
  watch: RevisionWatch,
  clock: Clock,
  maxHeld: number,
): LiveKeySets {
  const groups = new Map<string, Group>()
  let count = 0
  let isClosed = false

  function remove(group: Group, request: HeldRequest): boolean {
    if (!group.requests.delete(request)) return false
    count -= 1
    if (group.requests.size === 0) {
      group.unwatch()
      groups.delete(group.projectId)
    }
    return true
  }
  async function resolveDue(group: Group, isDue: (request: HeldRequest) => boolean): Promise<void> {
    let resolved = 0
    for (const request of group.requests) {
      if (!isDue(request) || !remove(group, request)) continue
      request.resolve(publisher.published(group.projectId))
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
      await resolveDue(
        group,
        ({ keySet, ifNoneMatch }) => !includesEntityTag(ifNoneMatch, latest[keySet].etag, 'weak'),
      )
    } catch (error) {
      // Keep holding requests while the store is unavailable.
      if (isStorageUnavailable(error)) return
      for (const request of group.requests) if (remove(group, request)) request.reject(error)
    } finally {
      group.isRefreshing = false
    }
  }
  function onObservation(group: Group, observation: Observation): void {
    const { revision, span } = group.latest
    const hasChanged = observation !== 'unknown' && observation !== revision
    if (hasChanged || !includes(span, clock.now())) void refresh(group)
    const time = clock.monotonic()
    void resolveDue(group, ({ deadline }) => deadline <= time)
  }
  function openGroup(latest: PublishedProject): Group {
    const { projectId } = latest
    const group: Group = {
      projectId,
      requests: new Set(),
      latest,
      isRefreshing: false,
      unwatch: watch.watch(projectId, (observation) => onObservation(group, observation)),
    }
    groups.set(projectId, group)
    return group
  }

  return {
    wait(latest, keySet, ifNoneMatch, waitMs) {
      if (isClosed || count >= maxHeld) return undefined
      const group = groups.get(latest.projectId) ?? openGroup(latest)
      const { promise, resolve, reject } = Promise.withResolvers<PublishedProject>()
      const deadline = clock.monotonic() + waitMs
      const request = { keySet, ifNoneMatch, deadline, resolve, reject }
      group.requests.add(request)
      count += 1
      // Either this request or the group has an outdated key set.
      if (group.latest[keySet].etag !== latest[keySet].etag) void refresh(group)
      return {
        result: promise,
        cancel: () => {
          if (remove(group, request)) resolve(latest)
        },
      }
    },
    count: () => count,
    close() {
      isClosed = true
      for (const group of groups.values()) void resolveDue(group, () => true)
    },
  }
}
