import { createBlocklist } from '@pubring/intake/blocklist'
import { loadConfig } from '@pubring/server/config/server-settings'
import type {
  AuditFailure,
  AuditFinding,
  AuditListener,
  AuditOptions,
  AuditStage,
  AuditSummary,
} from '@pubring/server/features/audit/records'
import { createAuditPool, runAudit } from '@pubring/server/features/audit/run'
import { parseProjectRef } from '@pubring/server/kernel/access/projects'
import { findProjectRecord } from '@pubring/server/kernel/access/stored-projects'
import type { Store } from '@pubring/server/kernel/context'
import { openExistingStore } from '@pubring/server/registry'
import { formatCount } from '@pubring/server/runtime/text'
import { readBlocklist } from '../server/blocklist.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { colorsFor, printResult, type Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './database.ts'
import { findLedgerFaults } from './ledger.ts'

/** Flags of `audit`. */
interface AuditFlags extends DatabaseFlags {
  project?: string
  deactivate?: true
  again?: true
}

/**
 * Compares the tables with the ledgers, and audits the keys in the database, with or without a running
 * server. Exit code 0 if nothing was found, 1 if something was, 130 or 143 after a signal.
 */
export async function audit(terminal: Terminal, flags: AuditFlags): Promise<void> {
  const config = loadConfig(terminal.env, { databaseUrl: flags.databaseUrl })
  const blocklist = createBlocklist(readBlocklist(config).blocklist)
  terminal.lowerPriority()
  const signal = terminal.interruptSignal()
  const store = await openExistingStore(config.databaseUrl)
  const pool = createAuditPool(signal)
  const report = createAuditReport(terminal)
  try {
    const options = await auditOptions(store, flags)
    const { lines } = await findLedgerFaults(terminal, config.databaseUrl, flags.project)
    report.ledgerFaults(lines)
    const setup = { store, clock: store.clock, pool, blocklist, listener: report.listener }
    const summary = await runAudit(setup, { ...options, signal })
    const hasFindings = report.finish(summary)
    // A signal has already set its own exit code.
    if (hasFindings && terminal.exitCode === 0) terminal.exitCode = exitCodes.failed.code
  } finally {
    report.stop()
    await pool.close()
    await store.close()
  }
}

async function auditOptions({ reader }: Store, flags: AuditFlags): Promise<AuditOptions> {
  const { project, deactivate = false, again = false } = flags
  if (project === undefined) return { deactivate, again }
  const found = await findProjectRecord(reader, parseProjectRef(project))
  if (found === undefined) {
    throw new CommandError('not_found', `There is no project ${project}.`)
  }
  return { deactivate, again, projectId: found.id }
}

const stageNames: Record<AuditStage, string> = {
  reading: 'Reading keys   ',
  comparing: 'Comparing keys ',
  examining: 'Examining keys ',
}

/** Writes faults and findings to stdout as they occur, or at the end as JSON; progress goes to stderr. */
function createAuditReport(terminal: Terminal) {
  const { stdout, stderr, json } = terminal
  const findings: AuditFinding[] = []
  const failures: AuditFailure[] = []
  const ledgerFaults: string[] = []
  const bar = createProgressBar(terminal)
  const { red } = colorsFor(terminal)
  const listener: AuditListener = {
    progress: (stage, done, total) => bar.show(stageNames[stage], done, total),
    finding(finding) {
      findings.push(finding)
      if (!json) bar.interrupt(() => stdout.write(findingLine(finding, terminal)))
    },
    failure(failure) {
      failures.push(failure)
      if (!json) bar.interrupt(() => stderr.write(failureLine(failure)))
    },
  }
  return {
    listener,
    ledgerFaults(faults: readonly string[]): void {
      ledgerFaults.push(...faults)
      if (!json) for (const fault of faults) stdout.write(`${red('BROKEN')}  ${fault}\n`)
    },
    /** Writes the summary, or the whole report as JSON; true if anything was found. */
    finish(summary: AuditSummary): boolean {
      bar.stop()
      printResult(terminal, { ...summary, findings, failures, ledgerFaults }, () =>
        summaryLine(summary, findings, failures),
      )
      if (!json) stderr.write(advice(summary, findings))
      return findings.length + failures.length + ledgerFaults.length > 0
    },
    /** Removes the progress bar; may be called twice. */
    stop: bar.stop,
  }
}

function findingLine(
  { code, projectName, kid, detail, isNew, active, deactivated }: AuditFinding,
  terminal: Terminal,
): string {
  const { red } = colorsFor(terminal)
  const state = active ? 'active' : deactivated ? 'deactivated' : 'inactive'
  return `${red(code)}  ${projectName}  ${kid}  ${isNew ? 'new' : 'known'}, ${state}: ${detail}\n`
}

function failureLine({ projectName, kid, reason }: AuditFailure): string {
  return `Key ${kid} of project ${projectName} could not be examined: ${reason}\n`
}

function summaryLine(
  { keys, examined, complete }: AuditSummary,
  findings: readonly AuditFinding[],
  failures: readonly AuditFailure[],
): string {
  const scope = `${formatCount(keys, 'key')}, ${examined} examined now`
  const state = complete ? 'audited' : 'partially audited'
  const fresh = findings.filter(({ isNew }) => isNew).length
  const deactivated = new Set(findings.filter((each) => each.deactivated).map(({ kid }) => kid))
  const result =
    findings.length === 0
      ? 'nothing found'
      : `${formatCount(findings.length, 'finding')} (${fresh} new), ${deactivated.size} deactivated`
  const failed = failures.length === 0 ? '' : `, ${failures.length} could not be examined`
  return `${scope}, ${state}: ${result}${failed}.\n`
}

/** The next steps, one line each. */
function advice({ complete }: AuditSummary, findings: readonly AuditFinding[]): string {
  const active = findings.filter((finding) => finding.active)
  const isReused = ({ code }: AuditFinding) => code === 'rsa_modulus_reused'
  let text = complete ? '' : 'Interrupted: run it again to resume.\n'
  if (!active.every(isReused)) {
    text += 'Weak keys are active. Deactivate them with --deactivate, or one by one.\n'
  }
  if (active.some(isReused)) {
    text +=
      'Keys with the same modulus are active. Ask their owners which one is to stay: anyone can\nregister the modulus of another key, so none of them is deactivated automatically.\n'
  }
  return text
}
