import type { LRUCache } from 'lru-cache'
import { createSemaphore } from '../../async/semaphore.ts'
import { createSingleFlight, type Flight } from '../../async/single-flight.ts'
import type { PubringError } from '../../errors.ts'
import {
  isStorageUnavailable,
  storageUnavailable,
  withStorageTimeout,
} from '../../kernel/faults.ts'
import type { Clock } from '../../runtime/clock.ts'

/** Milliseconds from the start of a read for which its copy is served. */
const recheckIntervalMs = 500

/** Milliseconds that a caller waits for the store if there is a copy to serve instead. */
const readTimeoutMs = 400

/**
 * Projects that are read at once and have no copy. Those that arrive during a read are in the next one
 * together, so that a process that starts far from its database fills its memory by few round trips; and
 * anyone who asks for thousands of projects occupies one connection. Few enough that a slow network
 * transfers their key sets within the timeout of a statement.
 */
const maxFirstReads = 100

/** First reads that may wait for others, and for how long. */
const maxWaitingFirstReads = 1_000
const firstReadTimeoutMs = 3_000

/** A cached value of the store. Times are monotonic milliseconds. */
export interface Copy<Value> {
  value: Value
  /** When the last successful read began. */
  readAt: number
  /** When the last read began, whether or not it has succeeded. */
  attemptedAt: number
  /** From this time on, the copy must be read again before it is served. */
  recheckAt: number
  /** When the first of the reads failed that have failed since the last successful one. */
  failingSince?: number
}

interface Options<Value> {
  clock: Clock
  copies: LRUCache<string, Copy<Value>>
  /** Milliseconds from the last successful read for which a copy is served while reads fail. */
  staleLimitMs: number
  /** Reads the current value; undefined if there is none. `previous` is to be revalidated. */
  read(key: string, previous: Value | undefined): Promise<Value | undefined>
  /** Gets the error of a read in place of which a copy is served, and for how long reads have failed. */
  onFailure?(error: unknown, failingMs: number): void
}

/**
 * Copies with bounded staleness: one read per key at a time, stale if the store is unavailable.
 * Long because reads, the fallback and invalidation share the copies.
 */
export function createRevalidatedCache<Value>(options: Options<Value>) {
  const { clock, copies, staleLimitMs } = options
  const reads = createSingleFlight<Value | undefined>()
  const firstReads = createSemaphore({
    permits: maxFirstReads,
    maxWaiting: maxWaitingFirstReads,
    fullError: tooManyFirstReads,
  })

  async function readFirst(key: string, flight: Pick<Flight<unknown>, 'isSuperseded'>) {
    const release = await firstReads.acquire(firstReadTimeoutMs)
    try {
      return await read(key, flight)
    } finally {
      release()
    }
  }
  async function read(
    key: string,
    flight: Pick<Flight<unknown>, 'isSuperseded'>,
  ): Promise<Value | undefined> {
    const readAt = clock.monotonic()
    const previous = copies.peek(key)
    if (previous !== undefined) previous.attemptedAt = readAt
    const value = await options.read(key, previous?.value)
    if (flight.isSuperseded) return value
    if (value === undefined) copies.delete(key)
    else {
      const recheckAt = readAt + recheckIntervalMs
      copies.set(key, { value, readAt, attemptedAt: readAt, recheckAt })
    }
    return value
  }
  /** Serves the last good copy up to the limit, and reads the store again only after a pause. */
  function lastGood(key: string, error: unknown, isSuperseded: boolean): Value {
    const copy = copies.peek(key)
    const time = clock.monotonic()
    const limit = (copy?.readAt ?? 0) + staleLimitMs
    if (copy === undefined || time >= limit) throw error
    copy.failingSince ??= time
    options.onFailure?.(error, time - copy.failingSince)
    if (!isSuperseded) copy.recheckAt = Math.min(time + recheckIntervalMs, limit)
    return copy.value
  }
  const isUsable = ({ readAt }: Copy<Value>) => clock.monotonic() < readAt + staleLimitMs
  /** The copy that `get` would return without a read. */
  const getFresh = (key: string) => {
    const copy = copies.get(key)
    return copy !== undefined && clock.monotonic() < copy.recheckAt ? copy.value : undefined
  }

  return {
    /**
     * The value with every change announced by `invalidate`, and at most 500 ms plus one read behind
     * other processes. While the store is unavailable, the last good value up to the limit; then
     * throws `storage_unavailable`.
     */
    async get(key: string): Promise<Value | undefined> {
      const fresh = getFresh(key)
      if (fresh !== undefined) return fresh
      const known = copies.peek(key)
      if (known === undefined) return reads.run(key, (started) => readFirst(key, started))
      const flight = reads.join(key, (started) => read(key, started))
      const untilTimeout = known.attemptedAt + readTimeoutMs - clock.monotonic()
      try {
        return await withStorageTimeout(flight.result, Math.max(0, untilTimeout))
      } catch (error) {
        if (!isStorageUnavailable(error)) throw error
        return lastGood(key, error, flight.isSuperseded)
      }
    },
    getFresh,
    /** The copy that `get` would return while the store is unavailable. */
    getUsable(key: string) {
      const copy = copies.peek(key)
      return copy && isUsable(copy) ? copy.value : undefined
    },
    /** Whether any copy would be served while the store is unavailable. */
    hasUsable: () => copies.values().some(isUsable),
    /** Milliseconds since the last successful read of the value began. */
    ageMs(key: string) {
      const copy = copies.peek(key)
      return copy && clock.monotonic() - copy.readAt
    },
    /** The value (or any) has changed: later callers do not get reads that began before now. */
    invalidate(key?: string) {
      reads.supersede(key)
      for (const copy of key === undefined ? copies.values() : [copies.peek(key)]) {
        if (copy !== undefined) copy.recheckAt = Number.NEGATIVE_INFINITY
      }
    },
  }
}

function tooManyFirstReads(): PubringError {
  const detail = 'Too many projects are being read for the first time. Try again in a few seconds.'
  return storageUnavailable(detail, 2)
}
