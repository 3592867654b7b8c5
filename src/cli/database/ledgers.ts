import { systemLedgerId } from '../../core/ledger/chain.ts'
import { type LedgerReads, verifyLedgers } from '../../core/ledger/verification.ts'

/** A line for each ledger whose hash chain is broken. */
export async function brokenLedgers(ledgers: LedgerReads): Promise<string[]> {
  const lines: string[] = []
  for await (const { ledgerId, broken } of verifyLedgers(ledgers)) {
    const name = ledgerId === systemLedgerId ? 'the system' : ledgerId
    if (broken) lines.push(`ledger of ${name}, revision ${broken.revision}: ${broken.detail}`)
  }
  return lines
}
