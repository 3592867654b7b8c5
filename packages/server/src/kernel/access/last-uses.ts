import type { Outcome, Transaction } from '../changes.ts'
import type { Store } from '../context.ts'
import { type CredentialUses, kernelChanges, type UsedCredential } from '../kernel-changes.ts'
import { isoTime } from '../values/times.ts'

const flushIntervalMs = 10_000

/**
 * Records the last uses of API keys and sessions, and writes them with one change every 10 seconds. Best effort:
 * a failed write is retried with the next one, and lost if the process ends.
 */
export function createLastUses(store: Pick<Store, 'commit'>) {
  const uses = new Map<string, { credential: UsedCredential; time: number }>()
  const timer = setInterval(() => void flush(), flushIntervalMs)
  timer.unref()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    if (uses.size === 0) return
    const recorded = [...uses]
    uses.clear()
    try {
      const lastUses = recorded.map(([, { credential, time }]) => ({
        ...credential,
        time: isoTime(time),
      }))
      await store.commit(kernelChanges.touchCredentials, { uses: lastUses })
    } catch {
      for (const [id, use] of recorded) if (!uses.has(id)) uses.set(id, use)
    }
  }
  /** Resolves once an attempt to write all uses recorded so far has ended. */
  async function flush(): Promise<void> {
    // A write in progress contains only earlier uses; later ones need another write.
    await writing
    writing ??= write().finally(() => {
      writing = undefined
    })
    await writing
  }

  return {
    /** `time` is in epoch milliseconds. */
    record(credential: UsedCredential, time: number): void {
      uses.set(credential.id, { credential, time })
    },
    flush,
    async close(): Promise<void> {
      clearInterval(timer)
      await flush()
    },
  }
}

/**
 * Records the last uses of API keys and sessions, without an event. A later time, which another replica
 * has recorded, stays. Includes revoked API keys, since an investigation of a leak needs their uses.
 */
export async function touchCredentials(
  { db }: Transaction,
  { uses }: CredentialUses,
): Promise<Outcome<undefined>> {
  for (const { type, id, time } of uses) {
    await db
      .updateTable(type)
      .set({ last_use_time: time })
      .where('id', '=', id)
      .where((where) =>
        where.or([where('last_use_time', 'is', null), where('last_use_time', '<', time)]),
      )
      .execute()
  }
  return { result: undefined, changed: true }
}
