import { formatVerifierKey } from '@pubring/client/internal/log/note'
import { loadConfig } from '@pubring/server/config/server-settings'
import { readTree } from '@pubring/server/features/log/reads'
import { logId, logOrigin, logVerifierKey } from '@pubring/server/features/log/signing'
import { openReads } from '@pubring/server/kernel/storage/open'
import { openLogSigner } from '../server/log-key.ts'
import { fileError } from '../terminal/failures.ts'
import { notify, printResult, type Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './database.ts'

/** Prints the verifier key of the tree that the key signs, or will sign. */
export async function printKey(
  terminal: Terminal,
  flags: DatabaseFlags & { logKeyFile?: string; publicUrl?: string },
): Promise<void> {
  const { databaseUrl, logKeyFile, publicUrl: url } = flags
  const config = loadConfig(terminal.env, { databaseUrl, logKeyFile, publicUrl: url })
  const signer = openLogSigner(config, { create: false })
  if (signer === undefined) {
    throw fileError(
      'This machine has no key for the log: set PUBRING_LOG_KEY_FILE, or start the server once if its database is SQLite.',
      'This command reads the file of the key. A running server shows its verifier key at /log/vkey.',
    )
  }
  const { db, close } = await openReads(config.databaseUrl)
  const log = await readTree(db).finally(close)
  const origin = log?.id === logId(signer) ? log.origin : logOrigin(config.publicUrl, signer)
  const verifierKey = formatVerifierKey(await logVerifierKey(origin, signer))
  printResult(terminal, { origin, verifierKey }, () => `${verifierKey}\n`)
  if (log === undefined) {
    notify(terminal, `The log starts as ${origin} (PUBRING_PUBLIC_URL) with its first checkpoint.`)
  } else if (log.verifierKey !== verifierKey) {
    notify(
      terminal,
      `The log is ${log.origin} now, with another key; pubring log restart starts ${origin}.`,
    )
  }
}
