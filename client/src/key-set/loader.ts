import { elapsedMs, now, type Timestamp } from './timestamp.ts'

/** For this long after a failed load, callers get the same error without another request. */
const failureBackoffMs = 1_000

/** Loads the key set on demand. Concurrent callers share one request. */
export type Loader = {
  load(): Promise<void>
  /** Whether the last load is too recent to load again for an unknown kid. */
  isCoolingDown(): boolean
}

export function createLoader(fetchNow: () => Promise<unknown>, coolDownMs: number): Loader {
  let inFlight: Promise<void> | undefined
  let loadedAt: Timestamp | undefined
  let failure: { error: unknown; at: Timestamp } | undefined

  async function run(): Promise<void> {
    try {
      await fetchNow()
      failure = undefined
      loadedAt = now()
    } catch (error) {
      failure = { error, at: now() }
      throw error
    } finally {
      inFlight = undefined
    }
  }
  return {
    async load() {
      if (failure !== undefined && elapsedMs(failure.at) < failureBackoffMs) throw failure.error
      inFlight ??= run()
      await inFlight
    },
    isCoolingDown: () => loadedAt !== undefined && elapsedMs(loadedAt) < coolDownMs,
  }
}
