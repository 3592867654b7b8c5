import process from 'node:process'
import { loadConfig } from '../config.ts'
import { parseProjectRef } from '../core/access.ts'
import { createAuditPool } from '../core/audit/pool.ts'
import type { AuditOptions, AuditStore } from '../core/audit/records.ts'
import { audit as auditKeys } from '../core/audit.ts'
import { createBlocklist } from '../core/intake/blocklist.ts'
import { lowerProcessPriority } from '../core/priority.ts'
import { openAudit } from '../storage/open.ts'
import { createAuditReport } from './audit-report.ts'
import { readBlocklist } from './blocklist.ts'

export interface AuditFlags {
  project?: string
  deactivate?: true
  again?: true
  json?: true
  databaseUrl?: string
}

/** What a shell answers for a process that the signal ended. */
const interrupted = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * Audits the registry in the configured database, beside a server that may be running on it. Exit
 * code 1 where something was found, 0 where nothing was, 130 or 143 where a signal ended it.
 */
export async function audit(flags: AuditFlags): Promise<void> {
  const config = loadConfig(process.env, { databaseUrl: flags.databaseUrl })
  const blocklist = createBlocklist(readBlocklist(config).blocklist)
  lowerProcessPriority()
  const signal = abortOnSignals()
  const store = await openAudit(config.databaseUrl)
  const work = createAuditPool(signal)
  const report = createAuditReport({ json: flags.json === true })
  try {
    const clock = { now: Date.now, monotonic: () => performance.now() }
    const setup = { store, clock, work, blocklist, listener: report.listener }
    const found = report.end(await auditKeys(setup, { ...(await options(store, flags)), signal }))
    process.exitCode ??= found ? 1 : 0
  } finally {
    report.stop()
    await work.close()
    await store.close()
  }
}

async function options(store: AuditStore, flags: AuditFlags): Promise<AuditOptions> {
  const { project, deactivate = false, again = false } = flags
  if (project === undefined) return { deactivate, again }
  const found = await store.findProject(parseProjectRef(project))
  if (found === undefined) throw new Error(`There is no project ${project}.`)
  return { deactivate, again, projectId: found.id }
}

/** The first signal ends the audit in good order; a second one ends the process. */
function abortOnSignals(): AbortSignal {
  const controller = new AbortController()
  for (const [name, code] of Object.entries(interrupted)) {
    process.once(name, () => {
      process.exitCode = code
      controller.abort()
    })
  }
  return controller.signal
}
