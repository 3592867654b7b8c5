import type { Store } from '../context.ts'
import { isoTime } from '../times.ts'

/** Milliseconds between two writings. */
const flushInterval = 10_000

export interface LastUses {
  /** `time`: milliseconds since the epoch. */
  record(apiKeyId: string, time: number): void
  /** Resolves once what was noted before is written down, or was found not to be possible now. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * When API keys were last used: noted in memory, one entry for each, and written by one change every
 * 10 seconds. Nobody waits for that, and it is best effort: what cannot be written now is tried
 * again, and is lost with the process.
 */
export function createLastUses(store: Pick<Store, 'commit'>): LastUses {
  const uses = new Map<string, number>()
  const timer = setInterval(() => void flush(), flushInterval)
  timer.unref()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    if (uses.size === 0) return
    const noted = [...uses]
    uses.clear()
    try {
      const written = noted.map(([id, time]) => ({ id, time: isoTime(time) }))
      await store.commit({ type: 'api_key.touch', uses: written })
    } catch {
      for (const [id, time] of noted) if (!uses.has(id)) uses.set(id, time)
    }
  }
  async function flush(): Promise<void> {
    // What is being written now was noted earlier; what came since is written after it.
    await writing
    writing ??= write().finally(() => {
      writing = undefined
    })
    await writing
  }

  return {
    record: (apiKeyId, time) => void uses.set(apiKeyId, time),
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
