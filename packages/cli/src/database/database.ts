import { loadConfig } from '@pubring/server/config/server-settings'
import { createAdminApiKey } from '@pubring/server/features/api-keys/operations'
import { copyRegistry, openExistingStore, openStore } from '@pubring/server/registry'
import { exitCodes } from '../terminal/exit-codes.ts'
import { usageError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { notify, printResult, type Terminal } from '../terminal/terminal.ts'

/** Flags of the commands that open the database directly. */
export interface DatabaseFlags {
  databaseUrl?: string
}

/** The configured database, with the password from the environment. */
export function resolveDatabaseUrl({ env }: Terminal, { databaseUrl }: DatabaseFlags): string {
  return loadConfig(env, { databaseUrl }).databaseUrl
}

/** How often a migration says what it waits for. */
const waitReportMs = 60_000

/** Migrates the schema and exits, for deployments that do so before replicas start. */
export async function migrate(terminal: Terminal, flags: DatabaseFlags): Promise<void> {
  let nextReport = 0
  const store = await openStore(resolveDatabaseUrl(terminal, flags), (cause) => {
    const time = performance.now()
    if (time < nextReport) return
    nextReport = time + waitReportMs
    notify(terminal, `The migration has to wait: ${cause}.`)
  })
  await store.close()
  printResult(terminal, { migrated: true })
  notify(terminal, 'The database schema is up to date.')
}

/**
 * Copies one database to another, of any engine, and compares them. Exit code 0 means that the copy
 * lacks no change; 1 if the source has changed since it was read. Progress and result are on stderr.
 */
export async function copy(
  terminal: Terminal,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const source = resolveUrl(terminal, '--from', from)
  const target = resolveUrl(terminal, '--to', to)
  if (source === target) throw usageError('--from and --to are the same database.')
  const bar = createProgressBar(terminal)
  const summary = await copyRegistry(source, target, (stage, table, done, total) =>
    bar.show(`${stage} ${table}`.padEnd(29), done, total),
  ).finally(bar.stop)
  const { repeated, rows, ledgers, systemRevision, newerLedgers } = summary
  printResult(terminal, summary)
  if (repeated) notify(terminal, 'Nothing was written: the target already has the same data.')
  notify(
    terminal,
    `The copy has everything up to revision ${systemRevision} of the system ledger, compared with the source: ${rows} rows, ${ledgers} whole ledgers.`,
  )
  if (newerLedgers === 0) return
  notify(
    terminal,
    `The source has changed meanwhile: the copy lacks changes of ${newerLedgers} ledgers. To move the registry, stop its servers and copy it again, to an empty database.`,
  )
  terminal.exitCode = exitCodes.failed.code
}

function resolveUrl(terminal: Terminal, flag: string, databaseUrl: string): string {
  try {
    return resolveDatabaseUrl(terminal, { databaseUrl })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw usageError(message.replace('--database-url', flag))
  }
}

/**
 * Creates an admin API key for all projects directly in the database, with or without a running
 * server: access for an operator who has no API key. Only the secret is on stdout.
 */
export async function createAdmin(
  terminal: Terminal,
  flags: DatabaseFlags & { name?: string },
): Promise<void> {
  const { name = 'created at the database' } = flags
  const store = await openExistingStore(resolveDatabaseUrl(terminal, flags))
  try {
    const apiKey = await createAdminApiKey(store, name)
    notify(
      terminal,
      `Admin API key for all projects, id ${apiKey.id}. It is valid immediately and shown only once:`,
    )
    printResult(terminal, apiKey, () => `${apiKey.apiKey}\n`)
  } finally {
    await store.close()
  }
}
