import process from 'node:process'
import { loadConfig } from '../config.ts'
import { type CopyListener, copyRegistry } from '../storage/copy.ts'

/**
 * Copies the registry in one database to another one, of the same engine or not, and checks it: exit
 * code 0 says that they are equal. Progress and result are on stderr.
 */
export async function copy({ from, to }: { from: string; to: string }): Promise<void> {
  const [source, target] = [addressOf('--from', from), addressOf('--to', to)]
  if (source === target) throw new Error('--from and --to are the same database.')
  const summary = await copyRegistry(source, target, progress())
  const { repeated, rows, ledgers, keySets } = summary
  process.stderr.write(
    `${repeated ? 'Nothing was written: the target has the same already.\n' : ''}Both hold the same: ${rows} rows, ${ledgers} whole ledgers, ${keySets} equal key sets.\n`,
  )
}

/** As the server would read it, the password from the environment included. */
function addressOf(flag: string, value: string): string {
  try {
    return loadConfig(process.env, { databaseUrl: value }).databaseUrl
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    throw new Error(text.replace('--database-url', flag))
  }
}

/** A line for each table; on a terminal it counts up. */
function progress(): CopyListener {
  const isTerminal = process.stderr.isTTY === true
  return (stage, table, done, total) => {
    const over = done === total
    if (!over && !isTerminal) return
    const line = `${stage.padEnd(9)} ${table.padEnd(20)} ${done}/${total}`
    process.stderr.write(`${isTerminal ? '\r' : ''}${line}${over ? '\n' : ''}`)
  }
}
