import { Piscina } from 'piscina'
import type { ReplayLedger } from '../core/context.ts'
import type { ReplayFindings } from '../core/ledger/verification.ts'
import { siblingModule } from '../runtime/modules.ts'

/** How long the thread waits for the next ledger before it ends. */
const idleMs = 60_000

/** Replays ledgers, one at a time, in a thread with its own connection and low priority. */
export function createReplayThread(databaseUrl: string): {
  replayLedger: ReplayLedger
  /** Ends a replay in progress. */
  close(): Promise<void>
} {
  const pool = new Piscina<string, ReplayFindings>({
    filename: siblingModule(import.meta.url, 'replay-worker').href,
    name: 'replay',
    workerData: { databaseUrl },
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    // It has time to collect garbage often, and would otherwise use more memory than all caches.
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  })
  return { replayLedger: (ledgerId) => pool.run(ledgerId), close: () => pool.destroy() }
}
