import process from 'node:process'
import { loadConfig } from '../config.ts'
import { createAdminApiKey } from '../core/api-keys.ts'
import { openExistingStore } from '../storage/open.ts'

/**
 * Makes an admin API key for all projects in the configured database itself, whether a server runs
 * or not: the way back in for whoever has the machine but no API key. The secret alone is on stdout.
 */
export async function createAdmin(flags: { name: string; databaseUrl?: string }): Promise<void> {
  const { name, databaseUrl } = flags
  const config = loadConfig(process.env, { databaseUrl })
  const store = await openExistingStore(config.databaseUrl)
  try {
    const context = { store, clock: { now: Date.now, monotonic: () => performance.now() } }
    const apiKey = await createAdminApiKey(context, 'pubring api-key create', name)
    process.stderr.write(
      `Admin API key for all projects, id ${apiKey.id}. It counts at once; it is shown this once:\n`,
    )
    process.stdout.write(`${apiKey.apiKey}\n`)
  } finally {
    await store.close()
  }
}
