import { quoteForShell, toFlag } from '../terminal/terminal.ts'
import type { Connection } from './connection.ts'

/** A command line for the user to run, which reaches the server that this command was called for. */
export function commandLine(
  { flags = {} }: Pick<Connection, 'flags'>,
  command: string,
  ...args: string[]
): string {
  const { url, profile, apiKeyFile } = flags
  const options = Object.entries({ url, profile, apiKeyFile }).flatMap(([name, value]) =>
    value === undefined ? [] : [toFlag(name), value],
  )
  return ['pubring', command, ...[...args, ...options].map(quoteForShell)].join(' ')
}

/** As `commandLine`, for a command that works on one project. */
export function projectCommandLine(
  connection: Pick<Connection, 'flags' | 'project'>,
  command: string,
  ...args: string[]
): string {
  return commandLine(connection, command, ...args, '--project', connection.project)
}
