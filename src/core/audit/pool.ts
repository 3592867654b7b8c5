import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import type { SharedPrime } from '../../intake/rsa/index.ts'
import type { Fault } from '../../intake/types.ts'
import { siblingModule } from '../../runtime/modules.ts'
import type { KeyToExamine } from './worker.ts'

/** The audit's computing, off the event loop. */
export interface AuditWork {
  /** Keys that are worth handing out at the same time. */
  lanes: number
  /** `examineSlowly` in a thread. Rejects where the examination itself failed or was aborted. */
  examine(key: KeyToExamine): Promise<Fault[]>
  /** `sharedPrimes` in a thread. */
  sharedPrimes(moduli: readonly bigint[]): Promise<SharedPrime[]>
  close(): Promise<void>
}

/** Leaves one processor to whatever else runs on the machine. An abort stops work that has begun. */
export function createAuditPool(signal?: AbortSignal): AuditWork {
  const lanes = Math.max(1, availableParallelism() - 1)
  const source = siblingModule(import.meta.url, 'worker')
  const options = { filename: source.href, minThreads: 0 }
  const examiners = new Piscina<KeyToExamine, Fault[]>({
    ...options,
    name: 'examineSlowly',
    maxThreads: lanes,
  })
  const comparer = new Piscina<readonly bigint[], SharedPrime[]>({
    ...options,
    name: 'findSharedPrimes',
    maxThreads: 1,
  })
  const abortable = signal === undefined ? {} : { signal }
  return {
    lanes,
    examine: (key) => examiners.run(key, abortable),
    sharedPrimes: (moduli) => comparer.run(moduli, abortable),
    async close() {
      await Promise.all([examiners.destroy(), comparer.destroy()])
    },
  }
}
