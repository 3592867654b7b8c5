import { newId } from '../../core/ids.ts'
import { now } from '../../core/times.ts'
import { systemClock } from '../../runtime/clock.ts'
import { openStore } from '../../storage/open.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'
import { findLedgerFaults } from './ledger.ts'

/**
 * Accepts broken ledgers, and rows that contradict them, as they are, with or without a running server.
 * Lists them, and asks first.
 */
export async function accept(terminal: Terminal, flags: DatabaseFlags & YesFlag): Promise<void> {
  const databaseUrl = resolveDatabaseUrl(terminal, flags)
  const { ledgerIds, lines } = await findLedgerFaults(terminal, databaseUrl)
  for (const line of lines) notify(terminal, line)
  if (lines.length > 0) {
    const statement = 'From now on all of this counts as true, and is served.'
    const question = 'Accept it?'
    await confirm(terminal, flags, { statement, question, unattended: 'refuse' })
    await acceptLedgers(databaseUrl, ledgerIds)
  }
  printResult(terminal, { accepted: lines })
  notify(terminal, lines.length === 0 ? 'Nothing is broken.' : 'Accepted, and recorded as events.')
}

/** That of the system comes first, if it is among them: the others are recorded in it. */
export async function acceptLedgers(
  databaseUrl: string,
  ledgerIds: readonly string[],
): Promise<void> {
  const store = await openStore(databaseUrl)
  try {
    const actor = { name: 'an operator, who accepted what was broken' }
    const origin = { actor, requestId: newId(), time: now(systemClock) }
    for (const ledgerId of ledgerIds) {
      await store.commit({ type: 'ledger.accept', origin, ledgerId })
    }
  } finally {
    await store.close()
  }
}
