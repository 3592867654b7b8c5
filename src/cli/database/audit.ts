import { loadConfig } from '../../config/server-settings.ts'
import { parseProjectRef } from '../../core/access/projects.ts'
import { createAuditPool } from '../../core/audit/pool.ts'
import type { AuditOptions, AuditStore } from '../../core/audit/records.ts'
import { runAudit } from '../../core/audit/run.ts'
import { createBlocklist } from '../../intake/blocklists/blocklist.ts'
import { systemClock } from '../../runtime/clock.ts'
import { lowerProcessPriority } from '../../runtime/priority.ts'
import { openAuditStore } from '../../storage/open.ts'
import { readBlocklist } from '../server/blocklist.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { createAuditReport } from './audit-report.ts'
import type { DatabaseFlags } from './flags.ts'
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
  lowerProcessPriority()
  const signal = terminal.interruptSignal()
  const store = await openAuditStore(config.databaseUrl)
  const pool = createAuditPool(signal)
  const report = createAuditReport(terminal)
  try {
    const options = await auditOptions(store, flags)
    const { lines } = await findLedgerFaults(terminal, config.databaseUrl, flags.project)
    report.ledgerFaults(lines)
    const setup = { store, clock: systemClock, pool, blocklist, listener: report.listener }
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

async function auditOptions(store: AuditStore, flags: AuditFlags): Promise<AuditOptions> {
  const { project, deactivate = false, again = false } = flags
  if (project === undefined) return { deactivate, again }
  const found = await store.findProject(parseProjectRef(project))
  if (found === undefined) {
    throw new CommandError('not_found', `There is no project ${project}.`)
  }
  return { deactivate, again, projectId: found.id }
}
