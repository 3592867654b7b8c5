import { setTimeout as delay } from 'node:timers/promises'
import { PubringError } from '../../errors.ts'
import type { PostgresAddress } from './address.ts'
import { readOnly, toStorageError, unavailable, withConnectionTimeout } from './errors.ts'
import { type HostPool, openHostPool, type ServerInfo } from './pool.ts'

/** Which server to use: the one that takes writes, or any that responds. */
export type Target = 'primary' | 'any'

/** How long callers wait for a search, from its start; after that they are rejected immediately. */
const searchWaitMs = 600

/** Pause between two probes of the hosts, doubled each time. */
const firstPauseMs = 50
const maxPauseMs = 2_000

/** How long to use a read-only server before searching again for one that takes writes. */
const readOnlyPauseMs = 1_000

export interface PrimaryFinder {
  /** The pool of the server in use. Rejects with `storage_unavailable` if none is found in time. */
  current(timeoutMs: number): Promise<HostPool>
  /** Stops using the server and searches for the primary. */
  reportFailure(pool: HostPool): void
  close(): Promise<void>
}

/**
 * Finds the primary among several hosts, and finds it again after a fail-over or a restart. Long
 * because all of it depends on the current server and the search for the next one.
 */
export function createPrimaryFinder(address: PostgresAddress, target: Target): PrimaryFinder {
  const closing = new AbortController()
  const ending = new Set<Promise<void>>()
  let current: HostPool | undefined
  let search: { result: Promise<HostPool>; startTime: number } | undefined
  let lastError: unknown

  function endPool(pool: HostPool): void {
    const ended = pool.end().finally(() => ending.delete(ended))
    ending.add(ended)
  }
  async function probe(): Promise<HostPool> {
    try {
      return await probeHosts(address, target, endPool)
    } catch (error) {
      lastError = error
      throw error
    }
  }
  function startSearch() {
    const started = { result: retry(probe, closing.signal), startTime: performance.now() }
    search = started
    const clear = () => {
      if (search === started) search = undefined
    }
    started.result.then((pool) => {
      clear()
      use(pool)
    }, clear)
    return started
  }
  function use(pool: HostPool): void {
    if (closing.signal.aborted) {
      endPool(pool)
      return
    }
    current = pool
    pool.onLost(() => reportFailure(pool))
    const readOnlyFallback = target === 'primary' && pool.serverInfo.isReadOnly
    if (readOnlyFallback) setTimeout(() => reportFailure(pool), readOnlyPauseMs).unref()
  }
  function reportFailure(pool: HostPool): void {
    if (current !== pool || closing.signal.aborted) return
    current = undefined
    endPool(pool)
    startSearch()
  }

  return {
    async current(timeoutMs) {
      if (current !== undefined) return current
      const { result, startTime } = search ?? startSearch()
      const waitMs = Math.min(timeoutMs, startTime + searchWaitMs - performance.now())
      if (waitMs <= 0) throw noServer(lastError)
      try {
        return await withConnectionTimeout(result, waitMs)
      } catch (error) {
        throw noServer(lastError ?? error)
      }
    },
    reportFailure,
    async close() {
      closing.abort()
      if (current !== undefined) endPool(current)
      current = undefined
      await search?.result.catch(() => undefined)
      await Promise.all(ending)
    },
  }
}

/** Probes until a probe succeeds or the signal aborts. */
async function retry(probe: () => Promise<HostPool>, signal: AbortSignal): Promise<HostPool> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    signal.throwIfAborted()
    const pool = await probe().catch(() => undefined)
    if (pool !== undefined) return pool
    await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal })
  }
}

/** Connects to all hosts at once and picks one; `discard` gets the other pools. */
async function probeHosts(
  address: PostgresAddress,
  target: Target,
  discard: (pool: HostPool) => void,
): Promise<HostPool> {
  const accepts = (info: ServerInfo) => target === 'any' || !info.isStandby
  const opening = address.hosts.map((host) => openHostPool(address, host, accepts))
  const picked = await pickServer(opening, target)
  for (const one of opening) {
    one.then(
      (pool) => pool !== picked && discard(pool),
      () => undefined,
    )
  }
  return picked
}

/**
 * The first server that takes writes. Otherwise a primary that is read-only (a full disk,
 * maintenance), which can still serve reads.
 */
async function pickServer(opening: Promise<HostPool>[], target: Target): Promise<HostPool> {
  const writable = opening.map(async (one) => {
    const pool = await one
    if (target === 'primary' && pool.serverInfo.isReadOnly) throw readOnly()
    return pool
  })
  try {
    return await Promise.any(writable)
  } catch {
    const all = await Promise.allSettled(opening)
    const readable = all.find((one) => one.status === 'fulfilled')
    if (readable !== undefined) return readable.value
    throw all.find((one) => one.status === 'rejected')?.reason
  }
}

function noServer(cause: unknown): PubringError {
  const error = toStorageError(cause)
  if (error instanceof PubringError) return error
  return unavailable('The database cannot be reached. Try again in a few seconds.', cause)
}
