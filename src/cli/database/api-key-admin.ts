import { createAdminApiKey } from '../../core/api-keys/operations.ts'
import { systemClock } from '../../runtime/clock.ts'
import { openExistingStore } from '../../storage/open.ts'
import { notify, printResult, type Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'

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
    const context = { store, clock: systemClock }
    const apiKey = await createAdminApiKey(context, 'pubring api-key create', name)
    notify(
      terminal,
      `Admin API key for all projects, id ${apiKey.id}. It is valid immediately and shown only once:`,
    )
    printResult(terminal, apiKey, () => `${apiKey.apiKey}\n`)
  } finally {
    await store.close()
  }
}
