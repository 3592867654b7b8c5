import { invalidField, PubringError } from '../../errors.ts'

/** Why this process does not sign checkpoints, and what to do. */
export const faults = {
  no_key:
    'This server has no signing key, so it adds nothing to the log. Send the request to the server that has one, or set PUBRING_LOG_KEY_FILE.',
  other_signer:
    'Another server has signed later checkpoints than this one. Send the request there, or move its key file and the file of signed checkpoints here.',
  other_key:
    'The log belongs to another signing key. Put its key file back, or restart the log with this one: pubring log restart.',
  not_stored:
    'The file of signed checkpoints cannot be written, and only what it has is published. Free space, or set PUBRING_LOG_STATE_FILE to a file in a folder that the server can write to.',
  checkpoints_missing:
    'The file of signed checkpoints (PUBRING_LOG_STATE_FILE, or beside the key) is missing, so the log could fork unnoticed. Put it back, or restart the log with a new key: pubring log restart.',
  diverged:
    'The log does not extend a checkpoint that was signed before: the database was restored, or a fail-over has lost changes. Bring back a database that has the lost entries, or restart the log with a new key: pubring log restart.',
  contradicted:
    'A witness has cosigned a tree that this one does not extend: the database was restored, or a fail-over has lost changes. The log of the server names the witness. Bring back a database that has the lost entries, or restart the log with a new key: pubring log restart. If the witness is at fault, remove it from PUBRING_LOG_WITNESSES.',
  rewritten:
    'A ledger does not have the events that were logged, so the database was altered: pubring check names it. Restore a backup, or accept the ledger and restart the log with a new key: pubring log restart.',
  not_recorded:
    'No event says that this log was started, so the database was altered. Restore a backup, or restart the log with a new key: pubring log restart.',
  key_used:
    'The key of this server has signed a log, whose name it determines. Put a new key in its place (openssl genpkey -algorithm ed25519), or remove the one that was made beside an SQLite database; then restart the server, and the log: pubring log restart.',
  damaged:
    'Part of the log is missing from the database, or was altered. Restore it from a backup, or restart the log with a new key: pubring log restart.',
} as const

export type LogFault = keyof typeof faults

/** Whether the log has stopped, as opposed to a process that leaves it to another one. */
export function isStop(fault: LogFault | undefined): boolean {
  return fault !== undefined && !['no_key', 'other_signer', 'key_used'].includes(fault)
}

/** `cause`: for the log. */
export function logError(fault: LogFault, cause?: unknown): PubringError {
  const { code, message, extras } = invalidField('', fault, faults[fault], 'log_stopped')
  return new PubringError(code, message, extras, cause)
}

/** Why the log stands still, as one word: a fault, or `log_failed` for an error of another kind. */
export function stopReason({ fault, error }: { fault?: LogFault; error?: unknown }) {
  if (error !== undefined) return 'log_failed'
  return isStop(fault) ? fault : undefined
}

/** The fault in an error of `logError`. */
export function faultIn(error: unknown): LogFault | undefined {
  if (!(error instanceof PubringError) || error.code !== 'log_stopped') return undefined
  const code = error.extras.errors?.[0]?.code
  return Object.keys(faults).find((fault): fault is LogFault => fault === code)
}
