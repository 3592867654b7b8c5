import { workerData } from 'piscina'
import { type ReplayFindings, replayFindings, verifyLedger } from '../core/ledger/verification.ts'
import { lowerThreadPriority } from '../runtime/priority.ts'
import { openLedgerReader } from './open.ts'
import type { LedgerReader } from './reads/ledger.ts'

lowerThreadPriority()
let reader: LedgerReader | undefined

/** Runs in the thread: `ReplayLedger`. */
export async function replay(ledgerId: string): Promise<ReplayFindings> {
  reader ??= await openLedgerReader(workerData.databaseUrl)
  return replayFindings(await verifyLedger(reader, ledgerId))
}
