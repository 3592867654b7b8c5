import { parseProjectRef } from '@pubring/server/kernel/access/projects'
import { kernelChanges } from '@pubring/server/kernel/kernel-changes'
import { verifyLedgers } from '@pubring/server/kernel/ledger/all-ledgers'
import { systemLedgerId } from '@pubring/server/kernel/ledger/chain'
import type { LedgerReader } from '@pubring/server/kernel/ledger/reads'
import {
  hasLedger,
  isWhole,
  type LedgerVerdict,
  logId,
  verifyLedger,
} from '@pubring/server/kernel/ledger/verification'
import { newId } from '@pubring/server/kernel/values/ids'
import { now } from '@pubring/server/kernel/values/times'
import { openLedgerReader, openStore } from '@pubring/server/registry'
import { present } from '@pubring/server/runtime/present'
import { formatCount } from '@pubring/server/runtime/text'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import {
  colorsFor,
  escapeControls,
  notify,
  printResult,
  type Terminal,
} from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './database.ts'
import { type LedgerFileFlags, verifyFile } from './ledger-file.ts'

type VerifyFlags = DatabaseFlags & { project?: string } & Partial<LedgerFileFlags>

/**
 * Verifies the hash chain of every ledger, or of one project's, and compares them with the tables: one
 * line per ledger or fault on stdout, exit code 1 if one is broken. Reads the database directly, with
 * or without a running server, or else the file of an export.
 */
export async function verify(terminal: Terminal, flags: VerifyFlags): Promise<void> {
  const { file, project } = flags
  if (file !== undefined) return verifyFile(terminal, { ...flags, file })
  requireFile(flags)
  const { ledgers, bar, close } = await openLedgers(terminal, resolveDatabaseUrl(terminal, flags))
  try {
    const totals = { ledgers: 0, events: 0, accepted: 0, broken: 0 }
    const documents: object[] = []
    for await (const verdict of verifySome(ledgers, project)) {
      totals.ledgers += 1
      totals.events += verdict.events
      totals.accepted += verdict.accepted === undefined ? 0 : 1
      totals.broken += isWhole(verdict) ? 0 : 1
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

/** Throws for options of an exported ledger without one: they would seem to verify something. */
function requireFile({ proof, logKey, witnessKey, log, since }: VerifyFlags): void {
  const all = [proof, logKey, witnessKey, log, since]
  if (all.every((flag) => flag === undefined)) return
  throw usageError('--proof, --log-key, --witness-key, --log and --since need --file.')
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

/** The faults of the ledgers of a database, and the rows that contradict them. */
interface LedgerFaults {
  /** Ledgers with a fault, which can be accepted; the log cannot. */
  ledgerIds: string[]
  /** One line for each fault. */
  lines: string[]
}

/** Verifies all ledgers, or one project's, and compares them with the tables. */
export async function findLedgerFaults(
  terminal: Terminal,
  databaseUrl: string,
  project?: string,
): Promise<LedgerFaults> {
  const { ledgers, close } = await openLedgers(terminal, databaseUrl)
  try {
    const faults: LedgerFaults = { ledgerIds: [], lines: [] }
    for await (const verdict of verifySome(ledgers, project)) {
      if (isWhole(verdict)) continue
      const { ledgerId } = verdict
      if (ledgerId !== logId) faults.ledgerIds.push(ledgerId)
      const name = ledgerId === logId ? 'the log' : `ledger of ${ledgerName(ledgerId)}`
      faults.lines.push(...faultsOf(verdict).map((fault) => `${name}, ${fault}`))
    }
    return faults
  } finally {
    await close()
  }
}

/** All ledgers or one project's. A deleted project has no name any more: its ledger is found only by id. */
async function* verifySome(
  ledgers: LedgerReader,
  idOrName: string | undefined,
): AsyncGenerator<LedgerVerdict> {
  if (idOrName === undefined) return yield* verifyLedgers(ledgers)
  const ref = parseProjectRef(idOrName)
  const id = 'id' in ref ? ref.id : (await ledgers.findProject(ref))?.id
  if (id === undefined || !(await hasLedger(ledgers, id))) {
    const message = `There is no ledger of ${idOrName}. For a deleted project, use its id.`
    throw new CommandError('not_found', message)
  }
  yield await verifyLedger(ledgers, id)
}

function verdictDocument(verdict: LedgerVerdict): object {
  const { ledgerId, events, hash, broken, differences, accepted } = verdict
  const whole = isWhole(verdict)
  const result = broken === undefined ? { revision: events, hash } : { broken }
  return {
    ledger: ledgerName(ledgerId),
    whole,
    ...result,
    ...(differences.length === 0 ? {} : { differences }),
    ...present({ accepted }),
  }
}

function ledgerName(ledgerId: string): string {
  return ledgerId === systemLedgerId ? 'system' : ledgerId
}

/** One line for each fault of a ledger. After a break, rows are compared with a part of it only. */
function faultsOf({ broken, differences }: LedgerVerdict): string[] {
  if (broken === undefined) return differences.map(({ detail }) => escapeControls(detail))
  const rows = formatCount(differences.length, 'row')
  const rest =
    differences.length === 0 ? '' : `; ${rows} of the tables differ from what is before it`
  return [`revision ${broken.revision}: ${broken.detail}${rest}`]
}

function verdictLine(verdict: LedgerVerdict, terminal: Terminal): string {
  const { ledgerId, events, hash } = verdict
  const { green, red } = colorsFor(terminal)
  const name = ledgerName(ledgerId).padEnd(36)
  if (isWhole(verdict)) return `${green('whole ')}  ${name}  revision ${events}  ${hash}\n`
  return faultsOf(verdict)
    .map((fault) => `${red('BROKEN')}  ${name}  ${fault}\n`)
    .join('')
}

type Totals = Record<'ledgers' | 'events' | 'accepted' | 'broken', number>

function summary({ ledgers, events, accepted, broken }: Totals): string {
  const counts = `${formatCount(ledgers, 'ledger')}, ${formatCount(events, 'event')}`
  const result = broken > 0 ? `${broken} broken.` : 'all whole.'
  const notes = [
    accepted === 0
      ? []
      : `${formatCount(accepted, 'ledger')} verified only from where an operator accepted them as they were.`,
    broken > 0
      ? []
      : `Anyone who can write to the database can also recompute a chain: store these hashes elsewhere, and
compare them later with those of the events.`,
  ].flat()
  return [`${counts}: ${result}`, ...notes].join('\n')
}

/**
 * Accepts broken ledgers, and rows that contradict them, as they are, with or without a running server.
 * Lists them, and asks first.
 */
export async function accept(terminal: Terminal, flags: DatabaseFlags & YesFlag): Promise<void> {
  const databaseUrl = resolveDatabaseUrl(terminal, flags)
  const faults = await findLedgerFaults(terminal, databaseUrl)
  const { ledgerIds } = faults
  for (const line of faults.lines) notify(terminal, line)
  const lines = faults.lines.filter((line) => !line.startsWith('the log, '))
  if (lines.length < faults.lines.length) {
    notify(terminal, 'The log cannot be accepted. Restart it with a new key: pubring log restart')
  }
  if (lines.length > 0) {
    const statement = 'From now on all of this counts as true, and is served.'
    const question = 'Accept it?'
    await confirm(terminal, flags, { statement, question, needsYes: true })
    await acceptLedgers(databaseUrl, ledgerIds)
  }
  printResult(terminal, { accepted: lines })
  notify(terminal, lines.length === 0 ? 'Nothing is broken.' : 'Accepted, and recorded as events.')
}

/** The system ledger comes first, if it is among them: the others are recorded in it. */
export async function acceptLedgers(
  databaseUrl: string,
  ledgerIds: readonly string[],
): Promise<void> {
  const store = await openStore(databaseUrl)
  try {
    const actor = { name: 'an operator, who accepted what was broken' }
    const origin = { actor, requestId: newId(), time: now(store.clock) }
    for (const ledgerId of ledgerIds) {
      await store.commit(kernelChanges.acceptLedger, { origin, ledgerId })
    }
  } finally {
    await store.close()
  }
}
