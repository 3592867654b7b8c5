import { loadConfig } from '../../config/server-settings.ts'
import { openStore } from '../../storage/open.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './flags.ts'

/**
 * Brings the schema of the configured database up to date and ends: for those who let replicas start
 * only when that is done. Where nothing is to be done, nothing is.
 */
export async function migrate(terminal: Terminal, flags: DatabaseFlags): Promise<void> {
  const config = loadConfig(terminal.env, { databaseUrl: flags.databaseUrl })
  const store = await openStore(config.databaseUrl)
  await store.close()
  printResult(terminal, flags.json, { migrated: true }, () => '')
  notify(terminal, 'The schema of the database is that of this release.')
}
