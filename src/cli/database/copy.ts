import { loadConfig } from '../../config/server-settings.ts'
import { type CopyListener, copyRegistry } from '../../storage/copy/copy.ts'
import { usageError } from '../terminal/failures.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * Copies the registry in one database to another one, of the same engine or not, and checks it: exit
 * code 0 says that they are equal. Progress and result are on stderr.
 */
export async function copy(
  terminal: Terminal,
  { from, to, json }: { from: string; to: string; json?: true },
): Promise<void> {
  const [source, target] = [addressOf(terminal, '--from', from), addressOf(terminal, '--to', to)]
  if (source === target) throw usageError('--from and --to are the same database.')
  const summary = await copyRegistry(source, target, progress(terminal))
  const { repeated, rows, ledgers, keySets } = summary
  printResult(terminal, json, summary, () => '')
  notify(
    terminal,
    `${repeated ? 'Nothing was written: the target has the same already.\n' : ''}Both hold the same: ${rows} rows, ${ledgers} whole ledgers, ${keySets} equal key sets.`,
  )
}

/** As the server would read it, the password from the environment included. */
function addressOf({ env }: Terminal, flag: string, value: string): string {
  try {
    return loadConfig(env, { databaseUrl: value }).databaseUrl
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    throw usageError(text.replace('--database-url', flag))
  }
}

/** A line for each table; on a terminal it counts up. */
function progress({ stderr, quiet }: Terminal): CopyListener {
  const isTerminal = stderr.isTTY === true
  return (stage, table, done, total) => {
    const over = done === total
    if (quiet || (!over && !isTerminal)) return
    const line = `${stage.padEnd(9)} ${table.padEnd(20)} ${done}/${total}`
    stderr.write(`${isTerminal ? '\r' : ''}${line}${over ? '\n' : ''}`)
  }
}
