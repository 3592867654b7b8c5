import { parseProjectRef } from '../../core/access/projects.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import {
  hasLedger,
  type LedgerVerdict,
  verifyLedger,
  verifyLedgers,
} from '../../core/ledger/verification.ts'
import { openLedgerReader } from '../../storage/open.ts'
import type { LedgerReader } from '../../storage/reads/ledger.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import { formatCount, notify, printResult } from '../terminal/output.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'

/**
 * Verifies the hash chain of every ledger, or of one project's: one line per ledger on stdout, exit
 * code 1 if one is broken. Reads the database directly, with or without a running server.
 */
export async function verify(
  terminal: Terminal,
  flags: DatabaseFlags & { project?: string },
): Promise<void> {
  const { project } = flags
  const { ledgers, bar, close } = await openLedgers(terminal, resolveDatabaseUrl(terminal, flags))
  try {
    const verdicts =
      project === undefined ? verifyLedgers(ledgers) : [await verifyProject(ledgers, project)]
    const totals = { ledgers: 0, events: 0, broken: 0 }
    const documents: object[] = []
    for await (const verdict of verdicts) {
      totals.ledgers += 1
      totals.events += verdict.events
      totals.broken += verdict.broken === undefined ? 0 : 1
      if (terminal.json) documents.push(verdictDocument(verdict))
      else bar.interrupt(() => terminal.stdout.write(verdictLine(verdict, terminal)))
    }
    bar.stop()
    printResult(terminal, documents)
    notify(terminal, summary(totals))
    if (totals.broken > 0) terminal.exitCode = exitCodes.failed.code
  } finally {
    await close()
  }
}

/** The ledgers of the database. A bar on the terminal shows how many of their events are read. */
async function openLedgers(terminal: Terminal, databaseUrl: string) {
  const reader = await openLedgerReader(databaseUrl)
  const bar = createProgressBar(terminal)
  const total = await reader.countEvents().catch(async (error: unknown) => {
    await reader.close()
    throw error
  })
  let done = 0
  const ledgers: LedgerReader = {
    ...reader,
    async ledgerEntries(ledgerId, page) {
      const entries = await reader.ledgerEntries(ledgerId, page)
      done += entries.length
      bar.show('Verifying events', Math.min(done, total), total)
      return entries
    },
  }
  async function close(): Promise<void> {
    bar.stop()
    await reader.close()
  }
  return { ledgers, bar, close }
}

/** One line for each ledger of the database whose hash chain is broken. */
export async function findBrokenLedgers(
  terminal: Terminal,
  databaseUrl: string,
): Promise<string[]> {
  const { ledgers, close } = await openLedgers(terminal, databaseUrl)
  try {
    const lines: string[] = []
    for await (const { ledgerId, broken } of verifyLedgers(ledgers)) {
      if (broken === undefined) continue
      const { revision, detail } = broken
      lines.push(`ledger of ${ledgerName(ledgerId)}, revision ${revision}: ${detail}`)
    }
    return lines
  } finally {
    await close()
  }
}

/** A deleted project has no name any more, so its ledger is found only by id. */
async function verifyProject(ledgers: LedgerReader, idOrName: string): Promise<LedgerVerdict> {
  const ref = parseProjectRef(idOrName)
  const id = 'id' in ref ? ref.id : (await ledgers.findProject(ref))?.id
  if (id === undefined || !(await hasLedger(ledgers, id))) {
    const message = `There is no ledger of ${idOrName}. For a deleted project, use its id.`
    throw new CommandError('not_found', message)
  }
  return verifyLedger(ledgers, id)
}

function verdictDocument({ ledgerId, events, hash, broken }: LedgerVerdict): object {
  const whole = broken === undefined
  const result = whole ? { revision: events, hash } : { broken }
  return { ledger: ledgerName(ledgerId), whole, ...result }
}

function ledgerName(ledgerId: string): string {
  return ledgerId === systemLedgerId ? 'system' : ledgerId
}

function verdictLine(
  { ledgerId, events, hash, broken }: LedgerVerdict,
  terminal: Terminal,
): string {
  const { green, red } = colorsFor(terminal)
  const name = ledgerName(ledgerId).padEnd(36)
  if (broken === undefined) {
    return `${green('whole ')}  ${name}  revision ${events}  ${hash}\n`
  }
  return `${red('BROKEN')}  ${name}  revision ${broken.revision}: ${broken.detail}\n`
}

function summary(totals: { ledgers: number; events: number; broken: number }): string {
  const counts = `${formatCount(totals.ledgers, 'ledger')}, ${formatCount(totals.events, 'event')}`
  if (totals.broken > 0) return `${counts}: ${totals.broken} broken.`
  return `${counts}: all whole.
Anyone who can write to the database can also recompute a chain: store these hashes elsewhere, and
compare them later with those of the events.`
}
