import { availableParallelism } from 'node:os'
import type { Fault } from '@pubring/intake'
import type { SharedPrime } from '@pubring/intake/rsa'
import { Piscina } from 'piscina'
import { siblingModule } from '../../runtime/modules.ts'
import { present } from '../../runtime/present.ts'
import type { KeyToExamine } from './worker.ts'

export type AuditPool = ReturnType<typeof createAuditPool>

/**
 * Worker threads for the computations of an audit, which leave one processor to other programs.
 * `signal` aborts computations that are under way.
 */
export function createAuditPool(signal?: AbortSignal) {
  const threads = Math.max(1, availableParallelism() - 1)
  const source = siblingModule(import.meta.url, 'worker')
  const options = { filename: source.href, minThreads: 0 }
  const examiners = new Piscina<KeyToExamine, Fault[]>({
    ...options,
    name: 'examineSlowly',
    maxThreads: threads,
  })
  const comparer = new Piscina<readonly bigint[], SharedPrime[]>({
    ...options,
    name: 'sharedPrimes',
    maxThreads: 1,
  })
  const abortable = present({ signal })
  return {
    /** Keys that can be examined at the same time. */
    threads,
    /** `examineSlowly` in a thread. Rejects if the examination failed or was aborted. */
    examine: (key: KeyToExamine) => examiners.run(key, abortable),
    /** `sharedPrimes` in a thread. */
    sharedPrimes: (moduli: readonly bigint[]) => comparer.run(moduli, abortable),
    async close(): Promise<void> {
      await Promise.all([examiners.destroy(), comparer.destroy()])
    },
  }
}
