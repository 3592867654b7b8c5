import type { Store } from '../context.ts'
import { isoTime } from '../times.ts'

const flushIntervalMs = 10_000

export interface LastUses {
  /** `time` is in epoch milliseconds. */
  record(apiKeyId: string, time: number): void
  /** Resolves once an attempt to write all uses recorded so far has ended. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * Records the last uses of API keys, and writes them with one change every 10 seconds. Best effort:
 * a failed write is retried with the next one, and lost if the process ends.
 */
export function createLastUses(store: Pick<Store, 'commit'>): LastUses {
  const uses = new Map<string, number>()
  const timer = setInterval(() => void flush(), flushIntervalMs)
  timer.unref()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    if (uses.size === 0) return
    const recorded = [...uses]
    uses.clear()
    try {
      const lastUses = recorded.map(([id, time]) => ({ id, time: isoTime(time) }))
      await store.commit({ type: 'api_key.touch', uses: lastUses })
    } catch {
      for (const [id, time] of recorded) if (!uses.has(id)) uses.set(id, time)
    }
  }
  async function flush(): Promise<void> {
    // A write in progress contains only earlier uses; later ones need another write.
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
