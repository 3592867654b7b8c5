import { createSingleFlight } from '../transport/request-bound.ts'
import { elapsedMs, now, type Timestamp } from './timestamp.ts'

/** For this long after a failed load, callers get the same error without another request. */
const failureBackoffMs = 1_000

export type Loader = ReturnType<typeof createLoader>

/** Loads the key set on demand. With `shared`, concurrent callers share one request. */
export function createLoader(
  fetchNow: () => Promise<unknown>,
  { coolDown, shared }: { coolDown: number; shared: boolean },
) {
  let startedAt: Timestamp | undefined
  let loadedAt: Timestamp | undefined
  let failure: { error: unknown; at: Timestamp } | undefined

  const run = createSingleFlight(async () => {
    startedAt = now()
    try {
      await fetchNow()
      failure = undefined
      loadedAt = now()
    } catch (error) {
      failure = { error, at: now() }
      throw error
    }
  }, shared)
  const isRecent = (time: Timestamp | undefined) => time !== undefined && elapsedMs(time) < coolDown
  return {
    async load(): Promise<void> {
      if (failure !== undefined && elapsedMs(failure.at) < failureBackoffMs) throw failure.error
      await run()
    },
    /** Whether the last load is too recent to load again for an unknown kid. */
    isCoolingDown: () => isRecent(loadedAt),
    /** Whether no load has started for `coolDown`. */
    isDue: () => !isRecent(startedAt),
  }
}
