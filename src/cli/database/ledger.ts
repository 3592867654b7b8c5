import { loadConfig } from '../../config/server-settings.ts'
import { parseProjectRef } from '../../core/access.ts'
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
import { notify } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './flags.ts'

/**
 * Checks the hash chain of every ledger, or of one project's: a line per ledger on stdout, exit
 * code 1 where one is broken. Reads the configured database itself, whether a server runs or not.
 */
export async function verify(
  terminal: Terminal,
  flags: DatabaseFlags & { project?: string },
): Promise<void> {
  const { project, databaseUrl } = flags
  const config = loadConfig(terminal.env, { databaseUrl })
  const ledgers = await openLedgerReader(config.databaseUrl)
  try {
    const verdicts =
      project === undefined ? verifyLedgers(ledgers) : [await verifyOne(ledgers, project)]
    const seen = { ledgers: 0, events: 0, broken: 0 }
    const documents: object[] = []
    for await (const verdict of verdicts) {
      seen.ledgers += 1
      seen.events += verdict.events
      seen.broken += verdict.broken === undefined ? 0 : 1
      if (flags.json === true) documents.push(documentOf(verdict))
      else terminal.stdout.write(line(verdict, terminal))
    }
    if (flags.json === true) terminal.stdout.write(`${JSON.stringify(documents, null, 2)}\n`)
    notify(terminal, summary(seen))
    if (seen.broken > 0) terminal.exitCode = exitCodes.failed.code
  } finally {
    await ledgers.close()
  }
}

/** The ledger of a project, of a deleted one by its id. */
async function verifyOne(ledgers: LedgerReader, idOrName: string): Promise<LedgerVerdict> {
  const ref = parseProjectRef(idOrName)
  const id = 'id' in ref ? ref.id : (await ledgers.findProject(ref))?.id
  if (id === undefined || !(await hasLedger(ledgers, id))) {
    throw new CommandError(
      'not_found',
      `There is no ledger of ${idOrName}; that of a deleted project has its id alone.`,
    )
  }
  return verifyLedger(ledgers, id)
}

function documentOf({ ledgerId, events, hash, broken }: LedgerVerdict): object {
  const whole = broken === undefined
  return { ledger: nameOf(ledgerId), whole, ...(whole ? { revision: events, hash } : { broken }) }
}

function nameOf(ledgerId: string): string {
  return ledgerId === systemLedgerId ? 'system' : ledgerId
}

function line({ ledgerId, events, hash, broken }: LedgerVerdict, terminal: Terminal): string {
  const { green, red } = colorsFor(terminal.stdout, terminal.env)
  const name = nameOf(ledgerId).padEnd(36)
  if (broken === undefined) {
    return `${green('whole ')}  ${name}  revision ${events}  ${hash}\n`
  }
  return `${red('BROKEN')}  ${name}  revision ${broken.revision}: ${broken.detail}\n`
}

function summary(seen: { ledgers: number; events: number; broken: number }): string {
  const { ledgers, events, broken } = seen
  const all = `${count(ledgers, 'ledger')}, ${count(events, 'event')}`
  if (broken > 0) return `${all}: ${broken} broken.`
  return `${all}: all whole.
Who can write to the database can also recompute a chain: keep these hashes elsewhere, and compare
them later with those of the events.`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
