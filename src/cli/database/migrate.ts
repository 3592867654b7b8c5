import { openStore } from '../../storage/open.ts'
import { notify, printResult, type Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'

/** Migrates the schema and exits, for deployments that do so before replicas start. */
export async function migrate(terminal: Terminal, flags: DatabaseFlags): Promise<void> {
  const store = await openStore(resolveDatabaseUrl(terminal, flags))
  await store.close()
  printResult(terminal, { migrated: true })
  notify(terminal, 'The database schema is up to date.')
}
