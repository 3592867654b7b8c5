import { setImmediate } from 'node:timers/promises'
import { createPlaces } from '../../async/places.ts'
import type { PubringError } from '../../errors.ts'
import type { ProjectRef } from '../../kernel/context.ts'
import { type EntityTags, includesEntityTag } from '../../kernel/entity-tags.ts'
import { isStorageUnavailable, storageUnavailable } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { RevisionWatch } from '../../kernel/ledger/revision-watch.ts'
import { oneFor } from '../../kernel/shared.ts'
import { includes } from '../../kernel/values/validity.ts'
import { readPublished } from './names.ts'
import { type KeySetName, type PublishedProject, publisherOf } from './publisher.ts'

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
  following: ReturnType<RevisionWatch['follow']>
}

/**
 * Long polling for verifiers: each holds an idle connection, and all share one query of the store.
 * Long because its functions share the groups.
 */
export const heldRequestsOf = oneFor((kernel: Kernel) => {
  const { watch, clock, config } = kernel
  const publisher = publisherOf(kernel)
  const places = createPlaces(config.heldRequests ?? heldRequestPlaces)
  const groups = new Map<string, Group>()
  let isClosed = false
  /** How many functions are answering requests, which takes turns of the event loop if there are many. */
  let answering = 0

  function* allRequests(): Generator<HeldRequest> {
    for (const { requests } of groups.values()) yield* requests
  }
  function remove(request: HeldRequest): boolean {
    const { group } = request
    if (!group.requests.delete(request)) return false
    request.release()
    if (group.requests.size === 0) {
      group.following.stop()
      groups.delete(group.projectId)
    }
    return true
  }
  async function resolveDue(
    requests: Iterable<HeldRequest>,
    isDue: (request: HeldRequest) => boolean,
  ): Promise<void> {
    answering += 1
    try {
      let resolved = 0
      for (const request of requests) {
        if (!isDue(request) || !remove(request)) continue
        request.resolve(readPublished(kernel, request.ref))
        resolved += 1
        if (resolved % sliceSize === 0) await setImmediate()
      }
    } finally {
      answering -= 1
    }
  }
  async function refresh(group: Group): Promise<void> {
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
      if (!isStorageUnavailable(error)) await resolveDue(group.requests, () => true)
    }
  }
  function check(): void {
    const time = clock.monotonic()
    const isUnconfirmed = watch.ageMs() > unconfirmedAfterMs
    for (const request of isUnconfirmed ? allRequests() : []) {
      if (request.freshOnly && remove(request)) request.resolve(Promise.reject(onlyStale()))
    }
    void resolveDue(allRequests(), ({ deadline }) => deadline <= time)
  }
  function openGroup(latest: PublishedProject): Group {
    const { projectId } = latest
    const group: Group = {
      projectId,
      requests: new Set(),
      latest,
      following: watch.follow(projectId, {
        isCurrent: (head) =>
          (head === undefined || headOf(group.latest) === head.hash) &&
          includes(group.latest.span, clock.now()),
        update: () => refresh(group),
      }),
    }
    groups.set(projectId, group)
    return group
  }

  watch.onRead(check)
  kernel.onClose(() => {
    isClosed = true
    void resolveDue(allRequests(), () => true)
  })
  return {
    /**
     * Holds a request whose `If-None-Match` names the key set in `latest`, for up to `waitMs`
     * milliseconds. Undefined if too many requests are held, in all or of its address, and after
     * the close of the kernel.
     */
    wait(waiting: KeySetRequest, latest: PublishedProject, waitMs: number) {
      const release = isClosed ? 'full' : places.take([waiting.address])
      if (typeof release === 'string') return undefined
      const group = groups.get(latest.projectId) ?? openGroup(latest)
      const { promise, resolve } = Promise.withResolvers<PublishedProject>()
      const deadline = clock.monotonic() + waitMs
      const request = { ...waiting, group, deadline, resolve, release }
      group.requests.add(request)
      // Either this request or the group has outdated documents.
      if (differ(group.latest, latest)) group.following.update()
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
    /** Whether requests are being answered, slice by slice. */
    isAnswering: () => answering > 0,
  }
})

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
