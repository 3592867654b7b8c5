import process from 'node:process'
import picocolors from 'picocolors'
import { loadConfig } from '../config.ts'
import { openLedgers, sqliteFile } from '../storage/open.ts'
import { integrityFaults } from '../storage/sqlite-copies.ts'
import { brokenLedgers } from './ledgers.ts'

/**
 * Checks a database file, the configured one or a backup, and the hash chains in it; exit code 1
 * where something is wrong. A server may be running on it.
 */
export async function check(
  file: string | undefined,
  flags: { databaseUrl?: string },
): Promise<void> {
  const { databaseUrl } = flags
  const url =
    file === undefined ? loadConfig(process.env, { databaseUrl }).databaseUrl : `sqlite:${file}`
  const path = sqliteFile(url)
  const ledgers = await openLedgers(url)
  try {
    const faults = [...integrityFaults(path), ...(await brokenLedgers(ledgers))]
    for (const fault of faults) process.stdout.write(`${picocolors.red('BROKEN')}  ${fault}\n`)
    if (faults.length > 0) process.exitCode = 1
    else process.stdout.write(`${picocolors.green('whole')}  ${path}\n`)
  } finally {
    await ledgers.close()
  }
}
