import type { Clock } from '../context.ts'
import { matchesTag } from '../keys/preconditions.ts'
import { isStorageUnavailable } from '../storage-faults.ts'
import type { PublishedProject, Publisher } from './publisher.ts'
import type { Observation, RevisionWatch } from './revision-watch.ts'

/** A request that waits. */
interface HeldRequest {
  /** The `If-None-Match` of the request. */
  known: string
  /** Monotonic milliseconds. */
  deadline: number
  resolve(published: PublishedProject | Promise<PublishedProject>): void
  reject(error: unknown): void
}

/** All requests that wait for one project. */
interface Group {
  projectId: string
  held: Set<HeldRequest>
  latest: PublishedProject
  refreshing: boolean
  unwatch(): void
}

/** The place of a request among those that wait. */
export interface Waiter {
  /**
   * Resolves as soon as the project's JWKS is known not to be the one that the caller has, and with
   * what it is then when the wait is over and at shutdown.
   */
  result: Promise<PublishedProject>
  /** Frees the place at once: the client went away. */
  cancel(): void
}

export interface LiveKeySets {
  /**
   * Holds a request that has seen `latest` and knows it (`known`, its `If-None-Match`) for up to
   * `wait` milliseconds. Undefined where too many wait already, and after `close`.
   */
  wait(latest: PublishedProject, known: string, wait: number): Waiter | undefined
  /** How many requests are held. */
  count(): number
  /** Answers all that wait, and from then on holds nobody. */
  close(): void
}

/** Long polling for verifiers: an idle connection each, and one look at the store for all. */
export function createLiveKeySets(
  publisher: Publisher,
  watch: RevisionWatch,
  clock: Clock,
  maxHeld: number,
): LiveKeySets {
  const groups = new Map<string, Group>()
  let count = 0
  let closed = false

  function remove(group: Group, held: HeldRequest): boolean {
    if (!group.held.delete(held)) return false
    count -= 1
    if (group.held.size === 0) {
      group.unwatch()
      groups.delete(group.projectId)
    }
    return true
  }
  function answer(group: Group, isDue: (held: HeldRequest) => boolean): void {
    for (const held of group.held) {
      if (isDue(held) && remove(group, held)) held.resolve(publisher.published(group.projectId))
    }
  }
  async function refresh(group: Group): Promise<void> {
    if (group.refreshing) return
    group.refreshing = true
    try {
      publisher.changed(group.projectId)
      group.latest = await publisher.published(group.projectId)
      const { etag } = group.latest.jwks
      answer(group, (held) => !matchesTag(held.known, etag, 'weak'))
    } catch (error) {
      // While the store is away there is no news to tell; whoever waits goes on waiting.
      if (isStorageUnavailable(error)) return
      for (const held of group.held) if (remove(group, held)) held.reject(error)
    } finally {
      group.refreshing = false
    }
  }
  function look(group: Group, observation: Observation): void {
    const moved = observation !== 'unknown' && observation !== group.latest.revision
    if (moved || clock.now() >= group.latest.validUntil) void refresh(group)
    const now = clock.monotonic()
    answer(group, (held) => held.deadline <= now)
  }
  function open(latest: PublishedProject): Group {
    const { projectId } = latest
    const group: Group = {
      projectId,
      held: new Set(),
      latest,
      refreshing: false,
      unwatch: watch.watch(projectId, (observation) => look(group, observation)),
    }
    groups.set(projectId, group)
    return group
  }

  return {
    wait(latest, known, wait) {
      if (closed || count >= maxHeld) return undefined
      const group = groups.get(latest.projectId) ?? open(latest)
      const { promise, resolve, reject } = Promise.withResolvers<PublishedProject>()
      const held = { known, deadline: clock.monotonic() + wait, resolve, reject }
      group.held.add(held)
      count += 1
      // The group has seen another state, before or after this one: a look tells.
      if (group.latest.jwks.etag !== latest.jwks.etag) void refresh(group)
      return {
        result: promise,
        cancel: () => {
          if (remove(group, held)) resolve(latest)
        },
      }
    },
    count: () => count,
    close() {
      closed = true
      for (const group of groups.values()) answer(group, () => true)
    },
  }
}
