import process from 'node:process'
import { loadConfig } from '../config.ts'
import { openStore } from '../storage/open.ts'

/**
 * Brings the schema of the configured database up to date and ends: for those who let replicas start
 * only when that is done. Where nothing is to be done, nothing is.
 */
export async function migrate(flags: { databaseUrl?: string }): Promise<void> {
  const config = loadConfig(process.env, { databaseUrl: flags.databaseUrl })
  const store = await openStore(config.databaseUrl)
  await store.close()
  process.stderr.write('The schema of the database is that of this release.\n')
}
