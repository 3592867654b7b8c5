import { isSameKeySet, type KeyEntry, type KeySetContents, parseKeySet } from './contents.ts'
import { type KeySetResponse, notAKeySet } from './fetch.ts'
import { goesBack, historyChanged, mayBeEarlier } from './head.ts'
import { addMs, elapsedMs, now, type Timestamp } from './timestamp.ts'

/** The state of the cache when a request was sent. */
type SentWith = { etag: string | undefined; version: number; waitSeconds: number }

/** The last key set received, and how long it may be trusted. */
export type KeySetCache = ReturnType<typeof createKeySetCache>

export function createKeySetCache(url: string, maxStaleMs: number) {
  let contents: KeySetContents | undefined
  let confirmedAt: Timestamp | undefined
  /** When the server last had the contents: unlike `confirmedAt`, not moved by copies of earlier ones. */
  let seenAt = now()
  let version = 0

  function markFresh(asOf: Timestamp): void {
    if (confirmedAt === undefined || elapsedMs(asOf) < elapsedMs(confirmedAt)) confirmedAt = asOf
  }
  function keep(received: KeySetContents, age: number): void {
    contents = received
    seenAt = addMs(now(), -age * 1_000)
  }
  return {
    contents: () => contents,
    /** Incremented whenever the contents change. */
    version: () => version,
    /** The latest time at which the contents are known to have been current. */
    confirmedAt: () => confirmedAt,
    /** The head that a response is of, or confirms; undefined if neither is known. */
    headOf: ({ body, head }: KeySetResponse) =>
      head ?? (body === undefined ? contents?.head : undefined),
    /** The keys of a response, or those that it confirms. */
    keysOf({ body, etag, head }: KeySetResponse): KeyEntry[] {
      const found = body === undefined ? contents : parseKeySet(body, { etag, head }, contents)
      return [...(found?.entries.values() ?? [])]
    },
    /** Whether the contents were confirmed recently enough to be trusted. */
    isFresh: () => confirmedAt !== undefined && elapsedMs(confirmedAt) <= maxStaleMs,
    /**
     * Stores a response. Delayed on its way, it can be older than the cached contents: a plain request's
     * response is dropped if the contents have changed since it was sent, and so is a cached copy of an
     * earlier revision. Throws `key_set_history_changed` if the server itself goes back, and
     * `key_set_unavailable` if it is not a key set.
     */
    store(response: KeySetResponse, sentWith: SentWith): void {
      const asOf = asOfTime(response, sentWith.waitSeconds)
      const { head, age = 0 } = response
      if (contents?.head !== undefined && head !== undefined && goesBack(contents.head, head)) {
        if (sentWith.version !== version) return
        if (!mayBeEarlier(response.age, elapsedMs(seenAt))) {
          throw historyChanged(contents.head, head, advice)
        }
        markFresh(asOf)
        return
      }
      if (response.body === undefined) {
        // "Not modified" confirms only the key set that the request was about.
        if (sentWith.etag === undefined || sentWith.etag !== contents?.etag) return
        keep({ ...contents, head: head ?? contents.head }, age)
        markFresh(asOf)
        return
      }
      const received = parseKeySet(
        response.body,
        { ...response, head: head ?? contents?.head },
        contents,
      )
      if (received === undefined) throw notAKeySet(url)
      if (sentWith.waitSeconds === 0 && sentWith.version !== version) return
      if (contents === undefined || !isSameKeySet(received, contents)) version += 1
      keep(received, age)
      markFresh(asOf)
    },
  }
}

const advice =
  'Once an operator has looked at the server, restart this process to use what it has now.'

/**
 * The latest time at which the response is certain to have been correct: when the request was sent,
 * or the end of a long poll that ran for its full wait. Earlier if a cache served the response beyond
 * its `max-age` (RFC 9111 section 4.2).
 */
function asOfTime(response: KeySetResponse, waitSeconds: number): Timestamp {
  const { sentAt, age = 0, maxAge } = response
  const waitedMs = ranFullWait(response, waitSeconds) ? waitSeconds * 1_000 : 0
  return addMs(sentAt, waitedMs - Math.max(0, age - maxAge) * 1_000)
}

/** Whether the service itself held the request for the full wait and saw no change. */
export function ranFullWait(
  { body, sentAt, appliedWait, age }: KeySetResponse,
  waitSeconds: number,
): boolean {
  if (body !== undefined || appliedWait !== waitSeconds || waitSeconds === 0) return false
  if ((age ?? 0) > 0) return false
  // The wall clock could be set forward and show more than the time that has passed.
  return performance.now() - sentAt.monotonicMs >= waitSeconds * 1_000
}
