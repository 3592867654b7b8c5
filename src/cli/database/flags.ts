import { loadConfig } from '../../config/server-settings.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Flags of the commands that open the database directly. */
export interface DatabaseFlags {
  databaseUrl?: string
}

/** The configured database, with the password from the environment. */
export function resolveDatabaseUrl({ env }: Terminal, { databaseUrl }: DatabaseFlags): string {
  return loadConfig(env, { databaseUrl }).databaseUrl
}
