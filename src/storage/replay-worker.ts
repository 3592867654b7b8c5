import { workerData } from 'piscina'
import type { ReplayFindings } from '../core/ledger/verification.ts'
import { lowerThreadPriority } from '../runtime/priority.ts'
import type { LedgerReader } from './reads/ledger.ts'

// First: loading the rest costs more than replaying a short ledger.
lowerThreadPriority()
const { replayFindings, verifyLedger } = await import('../core/ledger/verification.ts')
const { openLedgerReader } = await import('./open.ts')
let reader: LedgerReader | undefined

/** Runs in the thread: `ReplayLedger`. */
export async function replay(ledgerId: string): Promise<ReplayFindings> {
  reader ??= await openLedgerReader(workerData.databaseUrl)
  return replayFindings(await verifyLedger(reader, ledgerId))
}
