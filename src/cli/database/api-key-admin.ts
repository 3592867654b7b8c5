import { loadConfig } from '../../config/server-settings.ts'
import { createAdminApiKey } from '../../core/api-keys/operations.ts'
import { openExistingStore } from '../../storage/open.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './flags.ts'

/**
 * Makes an admin API key for all projects in the configured database itself, whether a server runs
 * or not: the way back in for whoever has the machine but no API key. The secret alone is on stdout.
 */
export async function createAdmin(
  terminal: Terminal,
  flags: DatabaseFlags & { name?: string },
): Promise<void> {
  const { name = 'made at the database', databaseUrl } = flags
  const config = loadConfig(terminal.env, { databaseUrl })
  const store = await openExistingStore(config.databaseUrl)
  try {
    const context = { store, clock: { now: Date.now, monotonic: () => performance.now() } }
    const apiKey = await createAdminApiKey(context, 'pubring api-key create', name)
    notify(
      terminal,
      `Admin API key for all projects, id ${apiKey.id}. It counts at once; it is shown this once:`,
    )
    printResult(terminal, flags.json, apiKey, () => `${apiKey.apiKey}\n`)
  } finally {
    await store.close()
  }
}
