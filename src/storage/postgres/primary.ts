import { setTimeout as delay } from 'node:timers/promises'
import { PubringError } from '../../errors.ts'
import type { PostgresAddress } from './address.ts'
import { toStorageError, unavailable } from './errors.ts'
import { type HostPool, openHostPool, type ServerInfo, withConnectionTimeout } from './pool.ts'

/** Which server is wanted: the one that takes writes, or any that answers. */
export type Wanted = 'primary' | 'any'

/** Milliseconds for which callers wait for a search; once it has lasted longer they are told at once. */
const searchPatience = 600

/** Milliseconds between two looks at the hosts: the first pause, doubled up to the longest. */
const firstPause = 50
const longestPause = 2_000

/** Milliseconds after which a server that is read-only is asked whether it still is. */
const readOnlyPause = 1_000

export interface PrimaryFinder {
  /** Connections to the server in use; rejects with `storage_unavailable` where none is found in time. */
  current(patience: number): Promise<HostPool>
  /** This server failed somebody: find out where the primary is now. */
  reportFailure(pool: HostPool): void
  close(): Promise<void>
}

/**
 * Keeps an eye on a list of hosts, of which one at a time is the primary, and a fail-over or a
 * restart moves it.
 */
export function createPrimaryFinder(address: PostgresAddress, wanted: Wanted): PrimaryFinder {
  const closing = new AbortController()
  const ending = new Set<Promise<void>>()
  let found: HostPool | undefined
  let search: Promise<HostPool> | undefined
  let since = 0
  let lastError: unknown

  function end(pool: HostPool): void {
    const ended = pool.end().finally(() => ending.delete(ended))
    ending.add(ended)
  }
  async function searchUntilFound(): Promise<HostPool> {
    for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
      closing.signal.throwIfAborted()
      try {
        return await probeHosts(address, wanted, end)
      } catch (error) {
        lastError = error
      }
      await delay(pause * (0.5 + Math.random() / 2), undefined, { signal: closing.signal })
    }
  }
  function begin(): Promise<HostPool> {
    since = performance.now()
    const running = searchUntilFound()
    search = running
    const over = () => {
      if (search === running) search = undefined
    }
    running.then((pool) => {
      over()
      use(pool)
    }, over)
    return running
  }
  function use(pool: HostPool): void {
    if (closing.signal.aborted) {
      end(pool)
      return
    }
    found = pool
    pool.onLost(() => reportFailure(pool))
    // It is made do with; whether it takes writes again is asked now and then.
    const readOnlyFallback = wanted === 'primary' && pool.serverInfo.readOnly
    if (readOnlyFallback) setTimeout(() => reportFailure(pool), readOnlyPause).unref()
  }
  function reportFailure(pool: HostPool): void {
    if (found !== pool || closing.signal.aborted) return
    found = undefined
    end(pool)
    begin()
  }

  return {
    async current(patience) {
      if (found !== undefined) return found
      const running = search ?? begin()
      const left = Math.min(patience, since + searchPatience - performance.now())
      if (left <= 0) throw away(lastError)
      try {
        return await withConnectionTimeout(running, left)
      } catch (error) {
        throw away(lastError ?? error)
      }
    },
    reportFailure,
    async close() {
      closing.abort()
      if (found !== undefined) end(found)
      found = undefined
      await search?.catch(() => undefined)
      await Promise.all(ending)
    },
  }
}

/**
 * Asks all hosts at once and takes the first that fits; `drop` gets the others. A host that is no
 * standby and read-only all the same (a full disk, maintenance) serves reads where no other takes
 * writes.
 */
async function probeHosts(
  address: PostgresAddress,
  wanted: Wanted,
  drop: (pool: HostPool) => void,
): Promise<HostPool> {
  const accepts = (facts: ServerInfo) => wanted === 'any' || !facts.standby
  const opening = address.hosts.map((host) => openHostPool(address, host, accepts))
  const chosen = await pickServer(opening, wanted)
  for (const one of opening) {
    one.then(
      (pool) => pool !== chosen && drop(pool),
      () => undefined,
    )
  }
  return chosen
}

async function pickServer(opening: Promise<HostPool>[], wanted: Wanted): Promise<HostPool> {
  const writable = opening.map(async (one) => {
    const pool = await one
    if (wanted === 'primary' && pool.serverInfo.readOnly) throw unavailable('It is read-only.')
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

function away(cause: unknown): PubringError {
  const told = toStorageError(cause)
  if (told instanceof PubringError) return told
  return unavailable('The database cannot be reached. Try again in a few seconds.', cause)
}
